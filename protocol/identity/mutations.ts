import type { MemoryId } from '../base/meanings.js';
import { defineMutation } from '../decide/mutations.js';
import type { QuotaLimits } from '../decide/permissions.js';

/**
 * Counts writes against a quota's day. The engine counts bytes with every row that is added, changed or
 * removed.
 */
export const chargeQuota = defineMutation<{
  readonly holder: string;
  readonly namespace: string;
  readonly limits: QuotaLimits;
  readonly memories: number;
  readonly links: number;
}>('charge-quota');
export const useEnvelope = defineMutation<{
  readonly fingerprint: string;
  readonly memoryId: MemoryId;
  /** When the entry may be deleted: after this instant the envelope's date is enough to refuse it. */
  readonly expiresAtMs: number;
}>('use-envelope');
