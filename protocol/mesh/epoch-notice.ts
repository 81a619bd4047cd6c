import { canonicalJson } from '../canonical-json.js';
import { peerOfOrigin } from './wire.js';

/**
 * What a node tells about an origin of its own whose numbers it gave twice (its database was put back by a plain copy and
 * went on before anybody could say so): what it wrote then goes on under another origin, and whoever has it under the
 * old one sets that aside.
 */
export interface EpochNotice {
  /** The origin that has two histories. */
  readonly from: string;
  /** The last operation that both have. */
  readonly keep: number;
  /** Header hash of the operation after it, in the history that has another name now. */
  readonly renamed: string;
}

/** Of operations that carry a notice; `subject` is the origin that it is about. */
export const EPOCH_KIND = 'epoch';
/** A namespace that holds no memories; notices go to everybody, whatever a scope says. */
export const EPOCH_NAMESPACE = '_mesh';

export function epochPayload(notice: EpochNotice): string {
  return canonicalJson({ ...notice });
}

/** Null for a payload that is no notice, or one about somebody else's origin. */
export function epochNoticeOf(operation: {
  readonly origin: string;
  readonly subject: string;
  readonly payload: string;
}): EpochNotice | null {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(operation.payload) as Record<string, unknown>;
  } catch {
    return null;
  }
  const { from, keep, renamed } = value ?? {};
  if (from !== operation.subject || typeof renamed !== 'string' || !/^[0-9a-f]{64}$/.test(renamed))
    return null;
  if (typeof keep !== 'number' || !Number.isSafeInteger(keep) || keep < 0) return null;
  const own = peerOfOrigin(operation.origin) === peerOfOrigin(operation.subject);
  if (!own || operation.origin === operation.subject) return null;
  const notice = { from: operation.subject, keep, renamed };
  // Nothing beside it: every batch about the origin reads it.
  return operation.payload === epochPayload(notice) ? notice : null;
}
