/** Input of a write that may run again under the key of a call that was not answered: all of it, or all but what has these values. */
export type Repeatable = true | { readonly unless: Readonly<Record<string, unknown>> };

/** Whether a write may run again. */
export function isRepeatable(
  { repeatable }: { readonly repeatable?: Repeatable | undefined },
  input: Readonly<Record<string, unknown>>,
): boolean {
  if (repeatable === undefined || repeatable === true) return repeatable === true;
  return !Object.entries(repeatable.unless).some(([field, value]) => input[field] === value);
}
