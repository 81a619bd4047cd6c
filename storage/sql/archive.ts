import type { ArchivedMemory, ArchivedRow, PurgeableRow } from '../../protocol/memory/archived-memory.js';
import type { Tier } from '../../protocol/memory/memory.js';
import { vectorOf } from './operation-rows.js';
import { memoryFromSql, ROW_COLUMNS, type SqlRow } from './rows.js';

/** The select list of an archived memory over the alias `a`; its vector stays in the table. */
export const SELECT_ARCHIVED = `${ROW_COLUMNS.map((column) => `a.${column}`).join(', ')},
  a.archived_at, a.archive_reason, a.embedding_dim, a.original_tier, a.original_expires_at`;

/** A row that was selected with SELECT_ARCHIVED. */
export function archivedFromSql(row: SqlRow): ArchivedMemory {
  return {
    memory: memoryFromSql(row),
    archivedAt: row['archived_at'] as string,
    archiveReason: row['archive_reason'] as string,
    embeddingDim: row['embedding_dim'] as number | null,
    originalTier: row['original_tier'] as Tier | null,
    originalExpiresAt: row['original_expires_at'] as string | null,
  };
}

/** The highest version number of an archived subject on any node, as far as this node knows. */
export const ARCHIVED_VERSION = `coalesce((SELECT CAST(t.facts ->> '$.version' AS INTEGER) FROM tombstones t
  WHERE t.kind = 'memory' AND t.id = a.id AND json_valid(t.facts)), a.version)`;

/** The version vector of an archived subject: its tombstone's, which has seen the removal, or else its own last one. */
export const ARCHIVED_SEEN = `coalesce((SELECT t.seen FROM tombstones t WHERE t.kind = 'memory' AND t.id = a.id), a.seen)`;

export function archivedRowFromSql(row: SqlRow): ArchivedRow {
  return {
    ...archivedFromSql(row),
    seen: vectorOf(row['subject_seen'] as string),
    highestVersion: row['subject_version'] as number,
  };
}

export function purgeableFromSql(row: SqlRow): PurgeableRow {
  return {
    id: row['id'] as string,
    namespace: row['namespace'] as string,
    archivedAt: row['archived_at'] as string,
    seen: vectorOf(row['subject_seen'] as string),
  };
}
