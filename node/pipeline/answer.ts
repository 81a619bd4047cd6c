import { detailsOf, type Failure, failed } from '../../protocol/base/result.js';
import { MISSED_FIELDS } from './replicate.js';

/** The service's own name for an answer: what a surface renders. */
export interface Answered {
  readonly ok: true;
  readonly value: Record<string, unknown>;
  /** True where the value says what waits for an approval, in the place of what the operation answers. */
  readonly waits?: true;
}

/** What a call came to. It crosses the local socket as it is. */
export type Answer = Answered | { readonly ok: false; readonly error: Failure };

/** The answer to a call whose command waits for approval (interface §7, 202); the other failures as they are. */
export function answerOf(failure: Failure): Answer {
  const waiting = detailsOf(failure, 'APPROVAL_PENDING');
  return waiting === null ? failed(failure) : { ok: true, value: { ...waiting }, waits: true };
}

/**
 * The value in the shape of a surface. A shape drops fields that it does not know, but neither how a write replicated nor
 * which secrets it brought.
 */
export function shapedAnswer(
  shape: ((answer: Record<string, unknown>) => Record<string, unknown>) | undefined,
  { value, waits }: Answered,
): Record<string, unknown> {
  if (shape === undefined || waits === true) return value;
  const shaped = { ...shape(value), ...onlyIf(value, ['secrets_found']) };
  if (value['quorum_acks'] !== undefined) return { ...shaped, quorum_acks: value['quorum_acks'] };
  if (value['quorum_met'] !== false) return shaped;
  return { ...shaped, ...onlyIf(value, MISSED_FIELDS) };
}

const onlyIf = (value: Readonly<Record<string, unknown>>, fields: readonly string[]) =>
  Object.fromEntries(fields.flatMap((field) => (Object.hasOwn(value, field) ? [[field, value[field]]] : [])));
