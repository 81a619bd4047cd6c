import { canonicalJson } from '../../protocol/base/canonical-json.js';
import type { Connection } from '../../storage/sql/connection.js';
import { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { auditArchive } from './archive-audit.js';
import { auditChains, type OperationRow } from './chain-audit.js';
import { KIND_FACTS, type KindFacts, MEMORY } from './kind-facts.js';
import type { Meaning } from './meaning.js';
import { meaningOf } from './meaning-of.js';
import { type StoredRow, stampOf, storedRows } from './stored-rows.js';
import { auditDigests, auditQuotas } from './sum-audit.js';
import { openBeside } from './test-store.js';
import { type Told, Undecided, Unreadable } from './told.js';
import { ToldLog } from './told-log.js';

/** Only where members may lie can versions say of each other that they have seen them. */
type Members = 'honest' | 'hostile';

/**
 * Checks a database against its operation log, from the rows only: integrity, no gap in any sequence, every
 * chain whole, and the rows of every kind exactly what the operations mean. Of the product it believes the hashes and the
 * form of the chain; what operations mean is in `meaning.ts`. Answers what is wrong, one line each.
 */
export function auditLog(path: string, members: Members = 'honest'): string[] {
  const db = openBeside({ path });
  try {
    return auditDatabase(db, [], members);
  } finally {
    db.close();
  }
}

/** The same for an open database, which may hold further kinds. */
export function auditDatabase(
  db: Connection,
  further: readonly KindFacts[] = [],
  members: Members = 'honest',
): string[] {
  const problems: string[] = [];
  const integrity = db instanceof SqliteConnection ? db.pragma('integrity_check', { simple: true }) : 'ok';
  if (integrity !== 'ok') problems.push(`integrity check: ${integrity}`);
  const operations = db.prepare('SELECT * FROM operations ORDER BY commit_sequence').all() as OperationRow[];
  const state = db.prepare('SELECT * FROM log_state').get() as {
    commit_sequence: number;
    peer_id: string;
    db_epoch: string;
  };
  const own = `${state.peer_id}/${state.db_epoch}`;
  if (state.commit_sequence !== operations.length) {
    problems.push(`log_state is at ${state.commit_sequence}, the log holds ${operations.length}`);
  }
  const kinds = [...KIND_FACTS, ...further];
  const log = new ToldLog(kinds, operations);
  problems.push(...auditChains(db, operations, own), ...log.problems);
  const told = kinds.map((kind) => subjectsOf(kind, log.ofKind(kind)));
  const subjects = told.flatMap((each) => each.subjects);
  problems.push(...told.flatMap((each) => each.lost));
  const rows = storedRows(db);
  const undecided = new Set(told.flatMap((each) => each.undecided));
  if (members === 'honest')
    for (const name of undecided) problems.push(`${name}: every version is one that another has seen`);
  problems.push(
    ...auditRows(subjects, undecided, rows),
    ...auditTombstones(subjects, undecided, db),
    ...auditSiblings(subjects, undecided, db),
  );
  const memories = rows.filter(({ kind }) => kind === MEMORY.name);
  problems.push(...auditArchive(db, log.ofKind(MEMORY), own), ...auditQuotas(db, rows, kinds));
  const indexed = db.prepare('SELECT count(*) AS n FROM memories_fts').get() as { n: number };
  if (indexed.n !== memories.length)
    problems.push(`${indexed.n} rows in the full text, ${memories.length} memories`);
  return [...problems, ...auditDigests(db, rows)];
}

/** A subject with what its operations mean. */
interface Subject extends Meaning {
  /** Its kind and its id. */
  readonly name: string;
}

interface Subjects {
  readonly subjects: readonly Subject[];
  /** What is wrong: of these nothing tells any more what they are. */
  readonly lost: readonly string[];
  /** Names of those whose versions say of each other that they have seen them. */
  readonly undecided: readonly string[];
}

/** The subjects of a kind. */
function subjectsOf(kind: KindFacts, told: ReadonlyMap<string, readonly Told[]>): Subjects {
  const subjects: Subject[] = [];
  const lost: string[] = [];
  const undecided: string[] = [];
  for (const [id, operations] of told) {
    const name = `${kind.name} ${id}`;
    const versions = operations.filter(({ word }) => !kind.notes.includes(word));
    if (versions.length === 0) continue;
    try {
      subjects.push({ name, ...meaningOf(kind, versions) });
    } catch (error) {
      if (error instanceof Unreadable) lost.push(`${name}: the log has lost what it means`);
      else if (error instanceof Undecided) undecided.push(name);
      else throw error;
    }
  }
  return { subjects, lost, undecided };
}

const stampDue = ({ latest }: Meaning) => `${latest.hlc} ${latest.origin} ${latest.seq}`;

/** Each living subject has a row, which is what its operations mean, under their stamps; there is no other row. */
function auditRows(
  subjects: readonly Subject[],
  undecided: ReadonlySet<string>,
  rows: readonly StoredRow[],
): string[] {
  const problems: string[] = [];
  const left = new Map(rows.map((row) => [`${row.kind} ${row.subject}`, row]));
  for (const subject of subjects) {
    const { name, image, namespace, seen } = subject;
    const row = left.get(name);
    left.delete(name);
    if (image === null) {
      if (row !== undefined) problems.push(`${name} was removed and has a row`);
      continue;
    }
    if (row === undefined) {
      problems.push(`${name} has operations and no row`);
      continue;
    }
    const text = canonicalJson(image);
    if (row.text !== text) problems.push(`${name} is ${row.text}, its operations mean ${text}`);
    const said = canonicalJson([row.namespace, row.stamp, row.seen]);
    const due = canonicalJson([namespace, stampDue(subject), seen]);
    if (said !== due) problems.push(`${name} is stamped ${said}, its operations ${due}`);
  }
  for (const name of left.keys())
    if (!undecided.has(name)) problems.push(`${name} has a row and no operation`);
  return problems;
}

interface TombstoneRow {
  readonly kind: string;
  readonly id: string;
  readonly namespace: string;
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: string;
  readonly word: string;
  readonly reason: string;
  readonly facts: string;
}

/** Each subject that is gone has a tombstone, which says what its operations mean; there is no other tombstone. */
function auditTombstones(
  subjects: readonly Subject[],
  undecided: ReadonlySet<string>,
  db: Connection,
): string[] {
  const problems: string[] = [];
  const rows = db.prepare('SELECT * FROM tombstones').all() as TombstoneRow[];
  const left = new Map(rows.map((row) => [`${row.kind} ${row.id}`, row]));
  const known = new Set(subjects.map(({ name }) => name));
  for (const subject of subjects) {
    const { name, removal, namespace, seen } = subject;
    if (removal === null) continue;
    const row = left.get(name);
    left.delete(name);
    if (row === undefined) {
      problems.push(`${name} was removed and has no tombstone`);
      continue;
    }
    const { word, reason, facts } = row;
    const said = canonicalJson([row.namespace, stampOf(row), JSON.parse(row.seen), word, reason, facts]);
    const due = canonicalJson([
      ...[namespace, stampDue(subject), seen],
      ...[removal.word, removal.reason, canonicalJson(removal.facts)],
    ]);
    if (said !== due) problems.push(`the tombstone of ${name} says ${said}, its operations ${due}`);
  }
  for (const [name, { origin }] of left) {
    if (undecided.has(name)) continue;
    // Before the log began a tombstone was not replicated.
    if (known.has(name) || origin !== '') problems.push(`${name} has a tombstone and was not removed`);
  }
  return problems;
}

/** The versions of a subject are kept while there are several. */
function auditSiblings(
  subjects: readonly Subject[],
  undecided: ReadonlySet<string>,
  db: Connection,
): string[] {
  const problems: string[] = [];
  const rows = db.prepare('SELECT kind, subject, origin, origin_seq AS seq FROM siblings').all();
  const left = new Map<string, string[]>();
  for (const row of rows as { kind: string; subject: string; origin: string; seq: number }[]) {
    const name = `${row.kind} ${row.subject}`;
    left.set(name, [...(left.get(name) ?? []), `${row.origin}/${row.seq}`]);
  }
  for (const { name, versions } of subjects) {
    const kept = (left.get(name) ?? []).sort().join(' ');
    left.delete(name);
    const due = versions.length > 1 ? versions.map(({ origin, seq }) => `${origin}/${seq}`).sort() : [];
    if (kept !== due.join(' ')) problems.push(`${name} has siblings ${kept} and not ${due.join(' ')}`);
  }
  for (const name of left.keys())
    if (!undecided.has(name)) problems.push(`${name} has siblings and no operation`);
  return problems;
}
