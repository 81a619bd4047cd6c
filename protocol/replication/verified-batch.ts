import type { RefusedOperation, SignedHead, VerifiedOperation } from '../mesh/wire.js';
/** What is left of a message when its operations have been verified against each other, without the store. */
export interface VerifiedBatch {
  readonly operations: readonly VerifiedOperation[];
  /** One for each origin, over its last operation above. */
  readonly heads: readonly SignedHead[];
  readonly refused: readonly RefusedOperation[];
  /** Items that do not even say what they are. */
  readonly unreadable: number;
}
