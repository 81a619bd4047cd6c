import { canonicalJson } from '../base/canonical-json.js';
import type { Origin, SubjectId } from '../base/meanings.js';
import { peerOfOrigin } from './wire-operation.js';

/**
 * A node's notice about one of its origins whose sequence numbers it used twice: its database was restored from a plain
 * copy, and it wrote before any peer could report it. Those writes now have another origin. A node that has them under
 * the old origin moves them aside.
 */
export interface EpochNotice {
  /** The origin with two histories. */
  readonly from: string;
  /** The last operation that both histories share. */
  readonly keep: number;
  /** Header hash of the operation after it, in the history that was renamed. */
  readonly renamed: string;
}

/** The word of operations that carry a notice; their `subject` is the origin. */
export const EPOCH_KIND = 'epoch';
/** A namespace that holds no memories; every peer gets notices, whatever its scope. */
export const EPOCH_NAMESPACE = '_mesh';

export function epochPayload(notice: EpochNotice): string {
  return canonicalJson({ ...notice });
}

/** Null for a payload that is not a notice, or one about another node's origin. */
export function epochNoticeOf(operation: {
  readonly origin: Origin;
  readonly subject: SubjectId;
  readonly payload: string;
}): EpochNotice | null {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(operation.payload) as Record<string, unknown>;
  } catch {
    return null;
  }
  const { from, keep, renamed } = value ?? {};
  const subject = String(operation.subject);
  if (from !== subject || typeof renamed !== 'string' || !/^[0-9a-f]{64}$/.test(renamed)) return null;
  if (typeof keep !== 'number' || !Number.isSafeInteger(keep) || keep < 0) return null;
  const own = peerOfOrigin(operation.origin) === peerOfOrigin(subject);
  if (!own || operation.origin === subject) return null;
  const notice = { from: subject, keep, renamed };
  // No other members: every batch about the origin reads the notice.
  return operation.payload === epochPayload(notice) ? notice : null;
}
