import type { Instant } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';
import type { MemoryRow, Tier } from './memory.js';
/** A memory in the archive (interface §2.8). */
export interface ArchivedMemory {
  readonly memory: MemoryRow;
  readonly archivedAt: Instant;
  readonly archiveReason: string;
  readonly embeddingDim: number | null;
  readonly originalTier: Tier | null;
  readonly originalExpiresAt: string | null;
}

/** An archived memory as a decision reads it. */
export interface ArchivedRow extends ArchivedMemory {
  /** The subject's version vector, its removal included. */
  readonly seen: VersionVector;
  /** Above the copy's own version when a concurrent version with a higher number was removed with it. */
  readonly highestVersion: number;
}

/** The parts of an archived row that a purge needs. */
export interface PurgeableRow {
  readonly id: string;
  readonly namespace: string;
  readonly archivedAt: Instant;
  readonly seen: VersionVector;
}
