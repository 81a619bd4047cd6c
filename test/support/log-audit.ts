import Database from 'better-sqlite3';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/canonical-json.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/operation-log.js';
import {
  type Json,
  KIND_MEANINGS,
  type KindMeaning,
  type Meaning,
  maximalOf,
  type Told,
  Unreadable,
} from './meaning.js';
import { archivedCopies, STORED_ROWS, type StoredRow } from './stored-rows.js';
import { auditDigests, auditQuotas } from './sum-audit.js';

interface OperationRow {
  commit_sequence: number;
  origin: string;
  origin_seq: number;
  hlc: string;
  kind: string;
  namespace: string;
  subject: string;
  seen: string;
  payload_hash: string;
  prev_hash: string;
  payload: string | null;
  parked: string | null;
}

interface LogState {
  commit_sequence: number;
  peer_id: string;
  db_epoch: string;
}

/**
 * Checks a database file against its operation log, from the rows alone: integrity, no gap in any sequence, every
 * chain whole, and the rows exactly what the operations mean. Of the product it believes the hashes and the form of the
 * chain; what operations mean is in `meaning.ts`. Answers what is wrong, one line each.
 */
export function auditLog(path: string): string[] {
  const db = new Database(path, { readonly: true });
  try {
    return auditDatabase(db);
  } finally {
    db.close();
  }
}

export function auditDatabase(db: Database.Database): string[] {
  const problems: string[] = [];
  const integrity = db.pragma('integrity_check', { simple: true });
  if (integrity !== 'ok') problems.push(`integrity check: ${integrity}`);
  const operations = db.prepare('SELECT * FROM operations ORDER BY commit_sequence').all() as OperationRow[];
  const state = db.prepare('SELECT * FROM log_state').get() as LogState;
  const own = `${state.peer_id}/${state.db_epoch}`;
  if (state.commit_sequence !== operations.length) {
    problems.push(`log_state is at ${state.commit_sequence}, the log holds ${operations.length}`);
  }
  problems.push(...auditChains(db, operations, own));
  const rows: StoredRow[] = [];
  for (const kind of KIND_MEANINGS) {
    const stored = STORED_ROWS[kind.name]!(db);
    const told = toldOf(operations, kind);
    problems.push(...auditRows(kind, told, stored));
    if (kind.name === 'memory') {
      problems.push(...auditTombstones(kind, told, db));
      problems.push(...auditArchive(kind, told, db, own), ...auditQuotas(db, stored));
      const indexed = db.prepare('SELECT count(*) AS n FROM memories_fts').get() as { n: number };
      if (indexed.n !== stored.length)
        problems.push(`${indexed.n} rows in the full text, ${stored.length} memories`);
    }
    rows.push(...stored);
  }
  return [...problems, ...auditDigests(db, rows)];
}

/** Every sequence without a gap, every chain whole, and the heads of other origins where their chains end. */
function auditChains(db: Database.Database, operations: readonly OperationRow[], own: string): string[] {
  const problems: string[] = [];
  const chains = new Map<string, { seq: number; head: string; hlc: string }>();
  for (const [index, row] of operations.entries()) {
    const name = `${row.origin}/${row.origin_seq}`;
    if (row.commit_sequence !== index + 1) problems.push(`gap before commit ${row.commit_sequence}`);
    // Numbers that were given twice begin where the two histories part, and mean nothing any more.
    if (row.parked === 'forked') continue;
    const chain = chains.get(row.origin) ?? { seq: 0, head: CHAIN_GENESIS, hlc: '' };
    if (row.origin_seq !== chain.seq + 1) problems.push(`gap in ${row.origin} before ${row.origin_seq}`);
    if (row.prev_hash !== chain.head) problems.push(`broken chain at ${name}`);
    if (row.payload !== null && systemCrypto.sha256Hex(row.payload) !== row.payload_hash) {
      problems.push(`payload of ${name} does not match its hash`);
    }
    if (row.hlc <= chain.hlc) problems.push(`clock went back at ${name}`);
    if (row.parked === null && row.kind !== 'epoch' && !KIND_MEANINGS.some((kind) => isOf(kind, row))) {
      problems.push(`${name} is a ${row.kind}, which means nothing`);
    }
    const header = { ...row, seq: row.origin_seq, seen: JSON.parse(row.seen) };
    const head = headerHash(
      { ...header, payloadHash: row.payload_hash, prevHash: row.prev_hash },
      systemCrypto,
    );
    chains.set(row.origin, { seq: row.origin_seq, head, hlc: row.hlc });
  }
  const rows = db.prepare('SELECT origin, seq, head FROM origins').all();
  const known = new Map(
    (rows as { origin: string; seq: number; head: string }[]).map((row) => [row.origin, row]),
  );
  for (const [origin, chain] of chains) {
    const row = known.get(origin);
    if (origin !== own && (row?.seq !== chain.seq || row.head !== chain.head))
      problems.push(`origin ${origin} ends elsewhere`);
  }
  return problems;
}

const isOf = ({ words, notes }: KindMeaning, { kind }: OperationRow) => words.has(kind) || notes.has(kind);

/** The operations of a kind that have an effect, by subject, in the order in which they came. */
function toldOf(operations: readonly OperationRow[], kind: KindMeaning): Map<string, Told[]> {
  const bySubject = new Map<string, Told[]>();
  for (const row of operations) {
    const away = row.parked === 'elsewhere';
    if (!isOf(kind, row) || (row.parked !== null && !away)) continue;
    const told: Told = {
      ...row,
      seq: row.origin_seq,
      word: row.kind,
      seen: JSON.parse(row.seen),
      payload: row.payload === null || away ? null : JSON.parse(row.payload),
      away,
    };
    bySubject.set(row.subject, [...(bySubject.get(row.subject) ?? []), told]);
  }
  return bySubject;
}

/** The rows of a kind are exactly what its operations mean, under their stamps. */
function auditRows(
  kind: KindMeaning,
  told: ReadonlyMap<string, readonly Told[]>,
  stored: readonly StoredRow[],
): string[] {
  const problems: string[] = [];
  const rows = new Map(stored.map((row) => [row.subject, row]));
  for (const [subject, operations] of told) {
    const versions = operations.filter(({ word }) => kind.words.has(word));
    if (versions.length === 0) continue;
    const row = rows.get(subject);
    rows.delete(subject);
    const meaning = meaningOrNull(kind, versions);
    if (meaning === null) problems.push(`${kind.name} ${subject}: the log has lost what it means`);
    else problems.push(...compared(`${kind.name} ${subject}`, meaning, row));
  }
  for (const subject of rows.keys()) problems.push(`${kind.name} ${subject} has a row and no operation`);
  return problems;
}

function compared(name: string, { image, latest, seen }: Meaning, row: StoredRow | undefined): string[] {
  if (image === null) return row === undefined ? [] : [`${name} was removed and has a row`];
  if (row === undefined) return [`${name} has operations and no row`];
  const problems: string[] = [];
  const text = canonicalJson(image);
  if (row.text !== text) problems.push(`${name} is ${row.text}, its operations mean ${text}`);
  const stamp = `${latest.hlc} ${latest.origin} ${latest.seq}`;
  if (row.stamp !== stamp) problems.push(`${name} is stamped ${row.stamp}, its last operation ${stamp}`);
  if (canonicalJson(row.seen) !== canonicalJson(seen))
    problems.push(`${name} has seen ${canonicalJson(row.seen)}, its operations ${canonicalJson(seen)}`);
  return problems;
}

interface TombstoneRow {
  readonly id: string;
  readonly kind: string;
  readonly reason: string;
  readonly version: number;
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: string;
}

/** There is a tombstone for each memory that was removed, and for no other, and it says what its operations mean. */
function auditTombstones(
  kind: KindMeaning,
  told: ReadonlyMap<string, readonly Told[]>,
  db: Database.Database,
): string[] {
  const problems: string[] = [];
  const rows = db.prepare('SELECT * FROM tombstones').all() as TombstoneRow[];
  const tombstones = new Map(rows.map((row) => [row.id, row]));
  for (const [subject, operations] of told) {
    const versions = operations.filter(({ word }) => kind.words.has(word));
    const meaning = versions.length === 0 ? null : meaningOrNull(kind, versions);
    if (meaning === null || meaning.removal === null) continue;
    const { removal, latest, seen } = meaning;
    const row = tombstones.get(subject);
    tombstones.delete(subject);
    const stamp = [latest.hlc, latest.origin, latest.seq, canonicalJson(seen)];
    const expected = [removal.word, removal.reason, removal.version, ...stamp];
    const found = row && [
      ...[row.kind, row.reason, row.version, row.hlc, row.origin, row.origin_seq],
      canonicalJson(JSON.parse(row.seen)),
    ];
    if (canonicalJson(found ?? null) !== canonicalJson(expected))
      problems.push(
        `the tombstone of ${subject} is ${canonicalJson(found ?? null)}, not ${canonicalJson(expected)}`,
      );
  }
  for (const subject of tombstones.keys()) problems.push(`${subject} has a tombstone and was not removed`);
  return problems;
}

/** What the archive keeps of a memory, as far as operations say: whether a copy is kept is otherwise each node's setting. */
function auditArchive(
  kind: KindMeaning,
  told: ReadonlyMap<string, readonly Told[]>,
  db: Database.Database,
  own: string,
): string[] {
  const kept = new Map(archivedCopies(db).map(({ subject, text }) => [subject, text]));
  const problems: string[] = [];
  for (const [subject, operations] of told) {
    if (!operations.some(({ word }) => ['archive', 'restore', 'purge'].includes(word))) continue;
    const copy = archivedBy(kind, operations, own);
    if (copy === undefined) continue;
    if ((kept.get(subject) ?? null) !== (copy && canonicalJson(copy)))
      problems.push(`the archive of ${subject} differs from the log`);
  }
  return problems;
}

/** The copy that has to be there, null when there must be none, undefined when it is not said. */
function archivedBy(kind: KindMeaning, operations: readonly Told[], own: string): Json | null | undefined {
  let copy: Json | null | undefined;
  const come: Told[] = [];
  for (const operation of operations) {
    const { word, origin, payload } = operation;
    if (kind.notes.has(word)) {
      copy = origin === own ? null : undefined;
      continue;
    }
    come.push(operation);
    // What was seen by a version that came before it changes nothing, nor does a removal that gives way to a later one.
    if (!maximalOf(come).includes(operation)) continue;
    const now = meaningOrNull(kind, come);
    if (now === null) {
      copy = undefined;
      continue;
    }
    const carried = (payload?.['was'] as Json | undefined) ?? null;
    if (now.image === null && canonicalJson(now.copy) !== canonicalJson(carried)) continue;
    if (now.image !== null && word === 'restore') copy = null;
    else copy = now.image === null && word === 'archive' && carried !== null ? carried : undefined;
  }
  return copy;
}

/** Null when what counted then has no payload any more: superseded ones are let go. */
function meaningOrNull(kind: KindMeaning, operations: readonly Told[]): Meaning | null {
  try {
    return kind.mean(operations);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
