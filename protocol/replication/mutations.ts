import type { Origin, SubjectId } from '../base/meanings.js';
import { defineMutation } from '../decide/mutations.js';
import type { Subject } from '../kinds/kind.js';
import type { EpochNotice } from '../log/epoch-notice.js';
import type { OperationPlace } from '../log/ranges.js';
import type { ParkReason, VerifiedOperation } from '../log/wire-operation.js';
import type { SavePeerProgress } from './peer-progress.js';
import type { UsedNonce } from './used-nonce.js';
import type { HistoricEdit } from './versions.js';

/** The end of an own origin, from the operation after `keep` on, which gets another epoch. */
export interface RenamedTail {
  readonly from: Origin;
  readonly keep: number;
  readonly epoch: string;
  readonly notice: EpochNotice;
}

export const savePeerProgress = defineMutation<{ readonly command: SavePeerProgress }>('save-peer-progress');
export const useNonce = defineMutation<{ readonly nonce: UsedNonce }>('use-nonce');
/** Appends an operation of another origin to the log. */
export const appendForeign = defineMutation<{
  readonly operation: VerifiedOperation;
  /** Why the operation has no effect; null when it has one, or had one before. */
  readonly parked: ParkReason | null;
  /** The origin's signature over the head that this operation makes, if one came with it. */
  readonly headSignature: string | null;
}>('append-foreign');
/** Puts an operation back into the log whose hash the chain knows. */
export const restoreOperation = defineMutation<{ readonly operation: VerifiedOperation }>(
  'restore-operation',
);
export const recountDigest = defineMutation<{ readonly kind: string; readonly namespace: string }>(
  'recount-digest',
);
export const recountQuotas = defineMutation<{ readonly namespace: string }>('recount-quotas');
export const dropPayloads = defineMutation<{ readonly places: readonly OperationPlace[] }>('drop-payloads');
export const noteSuspects = defineMutation<{ readonly subjects: readonly Subject[] }>('note-suspects');
export const dropSuspects = defineMutation<{ readonly subjects: readonly Subject[] }>('drop-suspects');
export const noteIntegrity = defineMutation<{
  readonly name: string;
  readonly facts: Readonly<Record<string, unknown>>;
}>('note-integrity');
export const recordConflict = defineMutation<{
  readonly kind: string;
  readonly loser: HistoricEdit;
  readonly winner: HistoricEdit;
  readonly subject: SubjectId;
  readonly namespace: string;
}>('record-conflict');
/** Forgets which operations of a subject lost; the caller lists them anew. */
export const forgetConflicts = defineMutation<Subject>('forget-conflicts');
export const unpark = defineMutation<{ readonly origin: Origin; readonly seq: number }>('unpark-operation');
export const parkElsewhere = defineMutation<{ readonly origin: Origin; readonly seq: number }>(
  'park-elsewhere',
);
export const beginEpoch = defineMutation<{
  readonly epoch: string;
  readonly reason: string;
  /** The last operation that stays under the old origin; later ones are renamed. */
  readonly keep: number;
  /** The notice that tells other nodes about the renamed operations; null when no operation was renamed. */
  readonly notice: EpochNotice | null;
}>('begin-epoch');
/**
 * Sets the clock of the log back to the present. The ends of own origins that are stamped ahead of it are renamed,
 * each to an epoch of its own, and get new stamps in the same order; the last epoch is the one that continues.
 */
export const resetClock = defineMutation<{
  readonly reason: string;
  readonly tails: readonly RenamedTail[];
}>('reset-clock');
/** Moves a history that continues under another origin out of its old origin. */
export const setBranchAside = defineMutation<{
  readonly origin: Origin;
  readonly keep: number;
  readonly to: string;
}>('set-branch-aside');
