import type { z } from 'zod';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import { fieldTypes, parseJson, plainMeaning } from './coerce.js';
import { usePlainWords } from './issue-text.js';
import type { Operation } from './operation.js';

usePlainWords();

type Input = Record<string, unknown>;

/**
 * Checks an input against the operation's schema. VALIDATION_FAILED names the first offending field and lists all in
 * `fields`; UNKNOWN_FIELD names keys that the operation does not have.
 */
export function parseInput<I extends Operation['input']>(
  operation: { readonly input: I },
  input: Readonly<Input>,
  unknownFields: 'refuse' | 'ignore',
): Result<z.output<I>> {
  if (unknownFields === 'refuse') {
    const unknown = Object.keys(input).filter((key) => !Object.hasOwn(operation.input.shape, key));
    if (unknown.length > 0) {
      return fail('UNKNOWN_FIELD', `unknown field: ${unknown.join(', ')}`, { fields: unknown });
    }
  }
  const given = withStructures(operation, input);
  let parsed = operation.input.safeParse(given);
  if (parsed.success) return ok(parsed.data);
  const meant = withPlainMeanings(operation, given, parsed.error.issues);
  if (meant !== null) parsed = operation.input.safeParse(meant);
  if (parsed.success) return ok(parsed.data);
  const { issues } = parsed.error;
  const fields = [...new Set(issues.map((issue) => issue.path.join('.')).filter((path) => path !== ''))];
  return fail('VALIDATION_FAILED', describe(issues[0]!, input), fields.length > 0 ? { fields } : undefined);
}

/**
 * The input with the lists and objects that some hosts send as JSON texts. A text stays a text where the field takes one
 * and it is no list of texts.
 */
function withStructures(
  operation: { readonly input: Operation['input'] },
  input: Readonly<Input>,
): Readonly<Input> {
  let read: Input | null = null;
  for (const [field, value] of Object.entries(input)) {
    if (typeof value !== 'string') continue;
    const type = value.startsWith('[') ? 'array' : value.startsWith('{') ? 'object' : null;
    if (type === null || !fieldTypes(operation, field).includes(type)) continue;
    const structure = parseJson(value);
    if (Array.isArray(structure) ? type === 'array' : typeof structure === 'object' && structure !== null) {
      read ??= { ...input };
      read[field] = structure;
    }
  }
  return read ?? input;
}

/** The input with what its refused texts plainly mean; null where none of them has a plain meaning. */
function withPlainMeanings(
  operation: { readonly input: Operation['input'] },
  input: Readonly<Input>,
  issues: readonly z.core.$ZodIssue[],
): Readonly<Input> | null {
  const read: Input = {};
  for (const { path } of issues) {
    const field = String(path[0]);
    const value = input[field];
    const meaning = typeof value === 'string' ? plainMeaning(operation, field, value) : undefined;
    if (meaning !== undefined) read[field] = meaning;
  }
  return Object.keys(read).length === 0 ? null : { ...input, ...read };
}

function describe(issue: z.core.$ZodIssue, input: Readonly<Input>): string {
  const [field, ...rest] = issue.path;
  if (field === undefined) return issue.message;
  const missing = issue.code === 'invalid_type' && rest.length === 0 && input[field as string] === undefined;
  if (missing) return `${String(field)} is required`;
  return `${issue.path.join('.')}: ${issue.message}`;
}
