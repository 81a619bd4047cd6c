import type { MemoryRow, Tier } from '../memory/memory.js';
import type { VersionVector } from '../version-vector.js';
/** A memory in the archive (interface §2.8). */
export interface ArchivedMemory {
  readonly memory: MemoryRow;
  readonly archivedAt: string;
  readonly archiveReason: string;
  readonly embeddingDim: number | null;
  readonly originalTier: Tier | null;
  readonly originalExpiresAt: string | null;
}

/** An archived memory as a decision reads it. */
export interface ArchivedRow extends ArchivedMemory {
  /** What the subject has seen, its removal included. */
  readonly seen: VersionVector;
  /** Above the copy's own when a concurrent version that went with it was higher. */
  readonly highestVersion: number;
}

/** What a purge must know of an archived row. */
export interface PurgeableRow {
  readonly id: string;
  readonly namespace: string;
  readonly archivedAt: string;
  readonly seen: VersionVector;
}
