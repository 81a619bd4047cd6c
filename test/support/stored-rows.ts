import { isDeepStrictEqual } from 'node:util';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import type { Connection } from '../../storage/sql/connection.js';
import { idOf, type KindFacts, LINK, MEMORY } from './kind-facts.js';
import type { Vector } from './told.js';

/** A row of a replicated kind as it is stored, put back into the text that is hashed. */
export interface StoredRow {
  readonly kind: string;
  readonly subject: string;
  readonly namespace: string;
  /** The canonical JSON of its replicated members. */
  readonly text: string;
  /** Who wrote it last. */
  readonly stamp: string;
  readonly seen: Vector;
  /** Its columns. */
  readonly row: SqlRow;
}

type SqlRow = Readonly<Record<string, unknown>>;

/** Members of memories whose columns hold JSON. */
const JSON_MEMBERS: ReadonlySet<string> = new Set([
  ...['tags', 'metadata', 'citations', 'source_span', 'confidence_signals', 'write_signature'],
]);

/** The canonical JSON of a row with a column for each member, and one for members that the release does not know. */
function textOf(row: SqlRow, { image, later }: KindFacts, read: (member: string) => unknown): string {
  const all = Object.keys(image).map((member) => [member, read(member)] as const);
  const members = all.filter(
    ([member, value]) => !(member in later && isDeepStrictEqual(later[member], value)),
  );
  return canonicalJson({ ...JSON.parse(String(row['rest'])), ...Object.fromEntries(members) });
}

/** Members that came later have no columns that are written. */
const later = (row: SqlRow, { later: missing }: KindFacts, member: string): unknown =>
  JSON.parse(String(row['rest']))[member] ?? missing[member];

const memoryText = (row: SqlRow): string =>
  textOf(row, MEMORY, (member) => {
    if (member === 'kind') return row['memory_kind'];
    if (member in MEMORY.later) return later(row, MEMORY, member);
    return JSON_MEMBERS.has(member) ? JSON.parse(String(row[member])) : row[member];
  });

const linkText = (row: SqlRow): string =>
  textOf(row, LINK, (member) => {
    const value = member in LINK.later ? later(row, LINK, member) : row[member];
    return value instanceof Buffer ? value.toString('base64') : value;
  });

const stored = (kind: string, row: SqlRow, subject: unknown, text: string): StoredRow => ({
  kind,
  subject: String(subject),
  namespace: String(row['namespace']),
  text,
  stamp: stampOf(row as unknown as Stamp),
  seen: JSON.parse(String(row['seen'])),
  row,
});

interface Stamp {
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
}

/** The stamp in the columns of a row. */
export const stampOf = ({ hlc, origin, origin_seq: seq }: Stamp): string => `${hlc} ${origin} ${seq}`;

const READ: Readonly<Record<KindFacts['rows'], (row: SqlRow) => StoredRow>> = {
  memories: (row) => stored(MEMORY.name, row, row['id'], memoryText(row)),
  memory_links: (row) => stored(LINK.name, row, idOf(LINK.id!, row), linkText(row)),
  records: (row) => stored(String(row['kind']), row, row['id'], String(row['payload'])),
};

/** The rows of all kinds. */
export function storedRows(db: Connection): readonly StoredRow[] {
  return Object.entries(READ).flatMap(([table, read]) =>
    (db.prepare(`SELECT * FROM ${table}`).all() as SqlRow[]).map(read),
  );
}

/** The copies of memories that this node's archive keeps: their texts, by id. */
export function archivedCopies(db: Connection): ReadonlyMap<string, string> {
  const rows = db.prepare('SELECT * FROM archived_memories').all() as SqlRow[];
  return new Map(rows.map((row) => [String(row['id']), memoryText(row)]));
}
