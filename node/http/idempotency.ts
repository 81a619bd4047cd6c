import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto } from '../../protocol/base/seams.js';
import type { Caller } from '../identity/caller.js';
import type { Operation } from '../pipeline/operation.js';
import { isRepeatable } from '../pipeline/repeatable.js';

export const IDEMPOTENCY_KEY = 'idempotency-key';

const FIELDS = [IDEMPOTENCY_KEY];

/**
 * The key of a write that its client may send again; null where it names none, and for a read, which needs none. The key
 * counts for one agent, one operation and one input, so that nobody finds what another agent stored, and another input is
 * another call. VALIDATION_FAILED for a key that is none, and without a named agent; INVALID_ARGUMENT for a write that cannot be repeated.
 */
export function keyOfCall(
  header: string | string[] | undefined,
  operation: Operation,
  { agentId, claimed }: Pick<Caller, 'agentId' | 'claimed'>,
  input: Readonly<Record<string, unknown>>,
  crypto: Pick<Crypto, 'sha256Hex'>,
): Result<string | null> {
  if (header === undefined || operation.effect === 'read') return ok(null);
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(header)) {
    const message = 'Idempotency-Key must have 1 to 128 visible ASCII characters: a UUID for example';
    return fail('VALIDATION_FAILED', message, { fields: FIELDS });
  }
  if (!isRepeatable(operation, input)) {
    const message = `${operation.name} cannot be repeated with this input: send it without Idempotency-Key`;
    return fail('INVALID_ARGUMENT', message, { fields: FIELDS });
  }
  if (claimed === 'made') {
    const message = 'an Idempotency-Key counts for one agent: name it in X-Agent-Id';
    return fail('VALIDATION_FAILED', message, { fields: FIELDS });
  }
  return ok(`http ${agentId} ${crypto.sha256Hex(canonicalJson([operation.name, header, input]))}`);
}
