import type { PurgeReason } from './kinds/memory-kind.js';
import type { Memory, MemoryRow, Tier } from './memory/memory.js';
import type { Viewer } from './ranking/types.js';
import type { VersionVector } from './version-vector.js';

/** Commands of the life cycle and the archive (interface §3, §4.4, §4.8), as plain data. */
export type LifeCommand =
  | ArchiveMemories
  | RestoreMemory
  | PurgeArchive
  | ForgetMemories
  | ConsolidateMemories
  | ResolveMemories
  | UndoEdit;

export interface ArchiveMemories {
  readonly kind: 'archive-memories';
  readonly ids: readonly string[];
  readonly reason: string;
  readonly viewer: Viewer;
}

export interface RestoreMemory {
  readonly kind: 'restore-memory';
  readonly id: string;
  /** The time to live that a row gets whose own expiry has passed in the archive. Seconds; null is none. */
  readonly ttlSeconds: Readonly<Record<Tier, number | null>>;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** Purges one bounded batch, the oldest first. */
export interface PurgeArchive {
  readonly kind: 'purge-archive';
  /** Rows archived at this canonical instant or before. */
  readonly before: string;
  /** Only rows of this owner; null purges everybody's. */
  readonly ownerId: string | null;
  readonly reason: PurgeReason;
  readonly limit: number;
  /** Who does it, for the audit chain. */
  readonly by: string;
}

/** Which live memories a forget means; null fields do not restrict. */
export interface ForgetFilter {
  /** Exact. */
  readonly namespace: string | null;
  readonly tier: Tier | null;
  /** Words, any of which must stand in the memory. */
  readonly pattern: string | null;
  /** Rows that came later than this row number stay; null for no bound. */
  readonly throughRid: number | null;
  /** Rows that it may not see or change are left out. */
  readonly viewer: Viewer;
}

/** Removes one bounded batch. */
export interface ForgetMemories {
  readonly kind: 'forget-memories';
  readonly filter: ForgetFilter;
  readonly limit: number;
  readonly archive: boolean;
  /** Who does it, for the audit chain. */
  readonly by: string;
}

export interface ConsolidateMemories {
  readonly kind: 'consolidate-memories';
  readonly ids: readonly string[];
  /** What the caller decides about the new row; the rest follows from the sources. */
  readonly result: {
    readonly id: string;
    readonly title: string;
    readonly namespace: string;
    readonly tier: Tier;
    readonly expiresAt: string | null;
  };
  /** Null makes one from the sources, without a model. */
  readonly summary: string | null;
  /** When the title is taken: CONFLICT, or the next free `title (n)`. */
  readonly onConflict: 'error' | 'version';
  /** Who consolidates. */
  readonly agentId: string;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

export interface ResolveMemories {
  readonly kind: 'resolve-memories';
  readonly winnerId: string;
  readonly loserId: string;
  readonly viewer: Viewer;
}

export interface UndoEdit {
  readonly kind: 'undo-edit';
  readonly id: string;
  /** Only tells what would change. */
  readonly dryRun: boolean;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** What each of them answers. */
export interface LifeOutcomes {
  'archive-memories': { readonly archived: readonly string[]; readonly missing: readonly string[] };
  'restore-memory': {
    readonly memory: Memory;
    /** True when the original expiry had passed and a new one was given. */
    readonly expiryRenewed: boolean;
  };
  'purge-archive': { readonly purged: number; readonly more: boolean };
  'forget-memories': { readonly deleted: number; readonly more: boolean };
  'consolidate-memories': {
    readonly memory: Memory;
    readonly consolidated: number;
    readonly autoSummary: boolean;
  };
  'resolve-memories': { readonly winner: string; readonly loser: string };
  'undo-edit': { readonly memory: Memory; readonly changed: readonly string[] };
}

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
