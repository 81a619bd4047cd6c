import type { Instant } from '../../../protocol/base/meanings.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { linkId } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { insertMemory } from '../../../protocol/memory/memory-writes.js';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import { DatabaseRefusedError, startLog } from '../../sql/database-setup.js';
import { type Engine, engineOf } from '../../sql/engine.js';
import { type LinkSqlRow, linkFromSql } from '../../sql/kinds/link-table.js';
import { memoryToSql, ROW_COLUMNS } from '../../sql/rows.js';
import { SCHEMA } from '../../sql/schema.js';
import { openWriter } from '../connection.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { memoryFromOlderRow, OLDER_MEMORY_COLUMNS, type OlderRow } from './older-memory.js';
import { dropOlderEvents, moveSubscriptions } from './older-subscriptions.js';
import { olderInstant, olderTextOrNull } from './older-values.js';
import type { MigrationContext, MigrationStep } from './step.js';
import {
  asideName,
  columnNames,
  dropAside,
  moveRows,
  setAside,
  tableNames,
  writableColumns,
} from './tables.js';

/** Rows held in memory at once. */
const PAGE_ROWS = 200;

/**
 * The schema of the first release: numbered rows with interned namespaces, the contentless full-text index, vectors in
 * their own table, the index on updated_at, and the operation log with one `store` for every memory.
 *
 * Every table that `schema.ts` names is moved aside, created again from that text and filled, so the result has a fresh
 * database's schema by construction; other tables stay as they are. When 55 has been released and 56 begins, this step
 * must get its own copy of the text.
 *
 * Decision: vectors are not carried over. An older row does not say which model made them, and similarities across
 * models mean nothing; `embed_state` 0 makes every row wait for a new embedding. The snapshot keeps the old vectors.
 */
export const to55: MigrationStep = {
  to: 55,
  apply(db, context) {
    refuseEncryptedRows(db);
    // Standards become records.
    const known = new Set([...schemaTables('table'), 'namespace_meta']);
    for (const table of schemaTables('virtual')) db.exec(`DROP TABLE IF EXISTS "${table}"`);
    dropOlderEvents(db);
    const aside = tableNames(db, 'table').filter((name) => known.has(name));
    for (const table of aside) setAside(db, table);
    db.exec(SCHEMA);
    startLog(db, context.options, `migrated from schema ${context.from}`);
    for (const table of aside) {
      if (table === 'recall_observations') moveObservations(db, context.now);
      else if (table === 'subscriptions') moveSubscriptions(db, context.now);
      else if (!MOVED_APART.has(table)) moveOtherTable(db, table, context.now);
    }
    // Counted again from the rows: older releases never subtracted the bytes of deleted rows.
    db.exec('UPDATE agent_quotas SET current_storage_bytes = 0');
    moveMemories(db, context);
    moveArchive(db, context);
  },
};

/** Tables whose rows become memories and records in the log. */
const MOVED_APART = new Set(['memories', 'archived_memories', 'namespace_meta']);

function schemaTables(type: 'table' | 'virtual'): string[] {
  const fresh = openWriter(':memory:', 0);
  try {
    fresh.exec(SCHEMA);
    return tableNames(fresh, type);
  } finally {
    fresh.close();
  }
}

// Their text cannot be read here, so the upgrade would index, embed and replicate it as cipher text.
function refuseEncryptedRows(db: SqliteConnection): void {
  for (const table of ['memories', 'archived_memories']) {
    if (!columnNames(db, table).includes('encrypted_envelope')) continue;
    const { n } = db
      .prepare(`SELECT count(*) AS n FROM ${table} WHERE encrypted_envelope IS NOT NULL`)
      .get() as { n: number };
    if (n > 0) {
      throw new DatabaseRefusedError(
        `${n} rows of ${table} are encrypted at rest, which this release cannot read: decrypt them with the release that wrote them`,
      );
    }
  }
}

function moveMemories(db: SqliteConnection, { options, now }: MigrationContext): void {
  const engine = engineOf(db, options);
  const { log, quotas, digests, mutations, context } = engine;
  const taken = db.prepare<[string, string]>(
    'SELECT 1 FROM memories WHERE title = ? AND namespace = ? AND conflict_of IS NULL',
  );
  log.begin();
  for (const [rowid, row] of olderRows(db, 'memories', OLDER_MEMORY_COLUMNS)) {
    const older = memoryFromOlderRow(row, rowid, now, options.crypto);
    const title = freeTitle(older, (candidate) => taken.get(candidate, older.namespace) !== undefined);
    mutations.apply(insertMemory({ ...older, title }), context);
  }
  moveLinks(db, engine);
  moveStandards(db, engine, now);
  quotas.flush();
  digests.flush();
  log.finish();
  dropAside(db, 'memories');
}

type OlderLink = Omit<LinkSqlRow, 'digest'> & { readonly source_namespace: string | null };

/** Older links were in no log; now they are, so they replicate. */
function moveLinks(db: SqliteConnection, { mutations, context }: Engine): void {
  const rows = db
    .prepare(
      `SELECT l.*, m.namespace AS source_namespace FROM memory_links l LEFT JOIN memories m ON m.id = l.source_id`,
    )
    .all() as OlderLink[];
  db.exec('DELETE FROM memory_links');
  for (const row of rows) {
    const link = linkFromSql(row);
    const subject = { kind: linkKind.name, id: linkId(link), namespace: row.source_namespace ?? 'global' };
    mutations.apply(
      { mutation: 'write', ...subject, word: 'link', seen: {}, before: null, image: link },
      context,
    );
  }
}

interface OlderStandard {
  readonly namespace: string;
  readonly standard_id: string | null;
  readonly parent_namespace: string | null;
  readonly updated_at: Instant;
}

/** Older standards were in no log; now they are, so they replicate. */
function moveStandards(db: SqliteConnection, { mutations, context }: Engine, now: string): void {
  const older = asideName('namespace_meta');
  if (!tableNames(db, 'table').includes(older)) return;
  const rows = db
    .prepare(
      `SELECT namespace, standard_id, parent_namespace, coalesce(older_instant(updated_at), @now) AS updated_at
       FROM "${older}" WHERE standard_id IS NOT NULL OR parent_namespace IS NOT NULL ORDER BY namespace`,
    )
    .all({ now }) as OlderStandard[];
  for (const row of rows) {
    const { namespace } = row;
    const image: Standard = { ...row, set_by: null, operator_set: null, governance: null, rest: NO_REST };
    const subject = { kind: standardKind.name, id: namespace, namespace };
    mutations.apply(
      { mutation: 'write', ...subject, word: 'standard.put', seen: {}, before: null, image },
      context,
    );
  }
  db.exec(`DROP TABLE "${older}"`);
}

// Titles that differed only as bytes (a blob, invalid UTF-8) may be equal as text.
function freeTitle(memory: Memory, isTaken: (title: string) => boolean): string {
  let title = memory.title;
  for (let n = 2; isTaken(title); n += 1) title = `${memory.title} (${n})`;
  return title;
}

function moveArchive(db: SqliteConnection, { options, now }: MigrationContext): void {
  const own = ['archived_at', 'archive_reason', 'original_tier', 'original_expires_at'] as const;
  const insert = db.prepare(
    `INSERT INTO archived_memories (${[...ROW_COLUMNS, ...own].join(', ')})
     VALUES (${[...ROW_COLUMNS, ...own].map(() => '?').join(', ')})`,
  );
  for (const [rowid, row] of olderRows(db, 'archived_memories', [...OLDER_MEMORY_COLUMNS, ...own])) {
    const memory = memoryFromOlderRow(row, rowid, now, options.crypto);
    insert.run(
      ...memoryToSql(memory),
      olderInstant(row['archived_at']) ?? now,
      olderTextOrNull(row['archive_reason']) ?? 'archive',
      olderTextOrNull(row['original_tier']),
      olderInstant(row['original_expires_at']),
    );
  }
  dropAside(db, 'archived_memories');
}

// In pages, because a connection cannot write while one of its queries is open.
function* olderRows(
  db: SqliteConnection,
  table: string,
  requested: readonly string[],
): Generator<[rowid: number, row: OlderRow]> {
  const present = new Set(columnNames(db, asideName(table)));
  const columns = requested.filter((column) => present.has(column));
  const page = db.prepare<[number], OlderRow & { older_rowid: number }>(
    `SELECT rowid AS older_rowid, ${columns.join(', ')} FROM "${asideName(table)}"
     WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE_ROWS}`,
  );
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = page.all(after);
    for (const row of rows) yield [row.older_rowid, row];
    if (rows.length < PAGE_ROWS) return;
    after = rows[rows.length - 1]!.older_rowid;
  }
}

function moveOtherTable(db: SqliteConnection, table: string, now: string): void {
  const old = new Set(columnNames(db, asideName(table)));
  const expressions: Record<string, string> = {};
  for (const column of writableColumns(db, table)) {
    if (!old.has(column.name)) continue;
    let value = `"${column.name}"`;
    if (column.type === 'TEXT' && /_at$|^valid_(from|until)$/.test(column.name)) {
      value = `older_instant(${value})`;
      if (column.notnull === 1) value = `coalesce(${value}, @now)`;
    } else if (column.notnull === 1 && column.dflt_value !== null) {
      value = `coalesce(${value}, ${column.dflt_value})`;
    }
    expressions[column.name] = value;
  }
  if (table === 'memory_links') keepSignedTexts(expressions);
  moveRows(db, table, expressions, { now });
}

/**
 * One row for each recall instead of one for each of its memories. The older table does not record who asked, so only
 * callers who may see all recalls see these. Loses no row, or throws.
 */
function moveObservations(db: SqliteConnection, now: string): void {
  const older = `"${asideName('recall_observations')}"`;
  const count = (sql: string) => db.prepare(sql).pluck().get() as number;
  const before = count(`SELECT count(*) FROM ${older}`);
  db.prepare(
    `INSERT INTO recall_observations
       (recall_id, agent_id, retriever, observed_at, memories, consumed_at, consumed_by_memory_id)
     SELECT recall_id, '', min(retriever), coalesce(min(older_instant(observed_at)), @now) AS at,
       json_group_array(json_array(memory_id, score) ORDER BY rank),
       iif(max(consumed), coalesce(max(older_instant(consumed_at)), @now), NULL), max(consumed_by_memory_id)
     FROM ${older} GROUP BY recall_id ORDER BY at, recall_id`,
  ).run({ now });
  const after = count(`SELECT coalesce(sum(json_array_length(memories)), 0) FROM recall_observations`);
  if (before !== after) throw new Error(`${before} recall observations became ${after}`);
  db.exec(`DROP TABLE ${older}`);
}

// A link's signature covers these two texts as they were written (reference-federation §1.1).
function keepSignedTexts(expressions: Record<string, string>): void {
  for (const column of ['valid_from', 'valid_until']) {
    expressions[column] = `iif(signature IS NULL, ${expressions[column]}, ${column})`;
  }
}
