import type Database from 'better-sqlite3';
import { canonicalJson } from '../../protocol/canonical-json.js';

/** A row of a replicated kind as it is stored, put back into the text that is hashed. */
export interface StoredRow {
  readonly subject: string;
  readonly namespace: string;
  /** The canonical JSON of its replicated members. */
  readonly text: string;
  /** Who wrote it last. */
  readonly stamp: string;
  readonly seen: Readonly<Record<string, number>>;
  /** Its columns. */
  readonly row: SqlRow;
}

type SqlRow = Readonly<Record<string, unknown>>;

const PLAIN_MEMBERS = [
  ...['id', 'tier', 'namespace', 'title', 'content', 'priority', 'confidence', 'source', 'created_at'],
  ...['updated_at', 'expires_at', 'reflection_depth', 'atomised_into', 'atom_of', 'entity_id'],
  ...['persona_version', 'source_uri', 'confidence_source', 'confidence_decayed_at', 'mentioned_entity_id'],
  ...['version', 'created_hlc', 'edited'],
] as const;
const JSON_MEMBERS = [
  'tags',
  'metadata',
  'citations',
  'source_span',
  'confidence_signals',
  'write_signature',
] as const;
const LINK_MEMBERS = [
  ...['source_id', 'target_id', 'relation', 'created_at', 'valid_from', 'valid_until', 'observed_by'],
  ...['attest_level', 'signed_at'],
] as const;

const picked = (row: SqlRow, members: readonly string[]) => members.map((member) => [member, row[member]]);

function memoryText(row: SqlRow): string {
  const parsed = JSON_MEMBERS.map((member) => [member, JSON.parse(String(row[member]))]);
  const members = [...picked(row, PLAIN_MEMBERS), ...parsed, ['kind', row['memory_kind']]];
  return canonicalJson(Object.fromEntries(members));
}

function linkText(row: SqlRow): string {
  const signature = row['signature'] === null ? null : (row['signature'] as Buffer).toString('base64');
  return canonicalJson({ ...Object.fromEntries(picked(row, LINK_MEMBERS)), signature });
}

const stored = (row: SqlRow, subject: string, text: string): StoredRow => ({
  subject,
  namespace: String(row['namespace']),
  text,
  stamp: `${row['hlc']} ${row['origin']} ${row['origin_seq']}`,
  seen: JSON.parse(String(row['seen'])),
  row,
});

const memoriesOf = (table: string) => (db: Database.Database) =>
  (db.prepare(`SELECT * FROM ${table}`).all() as SqlRow[]).map((row) =>
    stored(row, String(row['id']), memoryText(row)),
  );

/** The rows of each kind. */
export const STORED_ROWS: Readonly<Record<string, (db: Database.Database) => StoredRow[]>> = {
  memory: memoriesOf('memories'),
  link: (db) =>
    (db.prepare('SELECT * FROM memory_links').all() as SqlRow[]).map((row) =>
      stored(row, `${row['source_id']}|${row['target_id']}|${row['relation']}`, linkText(row)),
    ),
};

/** The copies of memories that this node's archive keeps. */
export const archivedCopies = memoriesOf('archived_memories');
