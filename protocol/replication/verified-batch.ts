import type { SignedHead, VerifiedOperation } from '../log/wire-operation.js';
import type { RefusedOperation } from '../wire/bodies.js';
/** The operations of a message after they were verified against each other, without the store. */
export interface VerifiedBatch {
  readonly operations: readonly VerifiedOperation[];
  /** One for each origin, over its last operation above. */
  readonly heads: readonly SignedHead[];
  readonly refused: readonly RefusedOperation[];
  /** The number of items whose origin and sequence cannot be read. */
  readonly unreadable: number;
}
