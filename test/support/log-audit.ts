import Database from 'better-sqlite3';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/canonical-json.js';
import { KINDS, type Kinds } from '../../protocol/kinds/kinds.js';
import { linkKind } from '../../protocol/kinds/link-kind.js';
import { memoryKind, memoryPayload } from '../../protocol/kinds/memory-kind.js';
import { linkId } from '../../protocol/link.js';
import type { MemoryRow } from '../../protocol/memory.js';
import { chargedBytes, holderOf } from '../../protocol/quota.js';
import { settle } from '../../protocol/replication/versions.js';
import { type LinkSqlRow, linkFromSql } from '../../storage/sqlite/kinds/link-table.js';
import type { TombstoneRow } from '../../storage/sqlite/kinds/tombstones.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../../storage/sqlite/rows.js';
import { keyOf, LogReplay, type OperationRow, type ReplayedSubject } from './log-replay.js';

/**
 * Checks a database file against its operation log, from the rows alone: integrity, no gap in any sequence, every
 * chain whole, and the rows of every kind exactly what replaying the log gives. Answers what is wrong, one line each.
 */
export function auditLog(path: string): string[] {
  const db = new Database(path, { readonly: true });
  try {
    return auditDatabase(db);
  } finally {
    db.close();
  }
}

export function auditDatabase(db: Database.Database, kinds: Kinds = KINDS): string[] {
  const problems: string[] = [];
  const integrity = db.pragma('integrity_check', { simple: true });
  if (integrity !== 'ok') problems.push(`integrity check: ${integrity}`);
  const operations = db.prepare('SELECT * FROM operations ORDER BY commit_sequence').all() as OperationRow[];
  const state = db.prepare('SELECT * FROM log_state').get() as {
    commit_sequence: number;
    peer_id: string;
    db_epoch: string;
  };
  const own = `${state.peer_id}/${state.db_epoch}`;
  const replay = new LogReplay(kinds, own);
  let expected = 1;
  for (const row of operations) {
    if (row.commit_sequence !== expected) problems.push(`gap before commit ${row.commit_sequence}`);
    expected = row.commit_sequence + 1;
    replay.take(row);
  }
  if (state.commit_sequence !== operations.length) {
    problems.push(`log_state is at ${state.commit_sequence}, the log holds ${operations.length}`);
  }
  const memories = (db.prepare(`SELECT ${SELECT_ROW} FROM memories m`).all() as SqlRow[]).map(memoryFromSql);
  const rows = rowsOf(db, memories);
  problems.push(...replay.problems, ...auditOrigins(db, replay.chains, own));
  problems.push(...auditRows(replay, rows), ...auditGone(db, replay), ...auditSiblings(db, replay));
  problems.push(...auditQuotas(db, memories), ...auditDigests(db, rows), ...auditArchive(db, replay));
  const indexed = db.prepare('SELECT count(*) AS n FROM memories_fts').get() as { n: number };
  if (indexed.n !== memories.length) {
    problems.push(`${indexed.n} rows in the full text, ${memories.length} memories`);
  }
  return problems;
}

/** A row of any kind. */
interface AuditedRow {
  readonly kind: string;
  readonly id: string;
  readonly namespace: string;
  readonly text: string;
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: unknown;
}

function rowsOf(db: Database.Database, memories: readonly MemoryRow[]): readonly AuditedRow[] {
  const links = db.prepare('SELECT * FROM memory_links').all() as LinkSqlRow[];
  const records = db.prepare('SELECT * FROM records').all() as (AuditedRow & {
    payload: string;
    seen: string;
  })[];
  return [
    ...memories.map((memory) => ({ ...memory, kind: memoryKind.name, text: memoryPayload(memory) })),
    ...links.map((sql) => {
      const link = linkFromSql(sql);
      const text = linkKind.payload.text(link);
      return { ...sql, kind: linkKind.name, id: linkId(link), text, seen: JSON.parse(sql.seen) as unknown };
    }),
    ...records.map((sql) => ({ ...sql, text: sql.payload, seen: JSON.parse(sql.seen) as unknown })),
  ];
}

/** Each row is what the versions of its subject mean, with their stamps, and each living subject has a row. */
function auditRows(replay: LogReplay, rows: readonly AuditedRow[]): string[] {
  const problems: string[] = [];
  const left = new Map(replay.subjects);
  for (const row of rows) {
    const { kind, id, namespace, text, hlc, origin, origin_seq, seen } = row;
    const replayed = left.get(keyOf(kind, id));
    left.delete(keyOf(kind, id));
    const settled = replayed === undefined ? null : settle(replayed.kind, replayed.versions);
    if (replayed === undefined || settled?.image == null) {
      problems.push(`row ${kind} ${id} has no operation`);
      continue;
    }
    const expected = replayed.kind.payload.text(settled.image);
    if (text !== expected) {
      problems.push(`row ${kind} ${id} differs from its operations: ${text} / ${expected}`);
    }
    const stamp = canonicalJson({ namespace, hlc, origin, origin_seq, seen });
    const due = canonicalJson({
      ...{ namespace: settled.namespace, hlc: settled.hlc, origin: settled.origin },
      ...{ origin_seq: settled.seq, seen: settled.covers },
    });
    if (stamp !== due) problems.push(`row ${kind} ${id} has stamps ${stamp} and not ${due}`);
  }
  for (const { kind, id, versions } of left.values()) {
    if (settle(kind, versions).image !== null) {
      problems.push(`operation for ${kind.name} ${id}, which has no row`);
    }
  }
  return problems;
}

/** Each subject that is gone has a tombstone that says what its versions mean, and no other has one. */
function auditGone(db: Database.Database, replay: LogReplay): string[] {
  const problems: string[] = [];
  const left = new Map(replay.subjects);
  for (const row of db.prepare('SELECT * FROM tombstones').all() as TombstoneRow[]) {
    const { kind, id, namespace, hlc, origin, origin_seq, seen, word, reason, facts } = row;
    const replayed = left.get(keyOf(kind, id));
    left.delete(keyOf(kind, id));
    // Before the log began a tombstone was not replicated.
    if (replayed === undefined && origin === '') continue;
    const settled = replayed === undefined ? null : settle(replayed.kind, replayed.versions);
    if (replayed === undefined || settled?.removal == null) {
      problems.push(`tombstone ${kind} ${id} has no operation`);
      continue;
    }
    const said = canonicalJson([namespace, hlc, origin, origin_seq, JSON.parse(seen), word, reason, facts]);
    const { removal } = settled;
    const due = canonicalJson([
      ...[settled.namespace, settled.hlc, settled.origin, settled.seq, settled.covers],
      ...[removal.word, removal.reason, replayed.kind.removal.text(removal.facts)],
    ]);
    if (said !== due) problems.push(`tombstone ${kind} ${id} says ${said} and not ${due}`);
  }
  for (const { kind, id, versions } of left.values()) {
    if (settle(kind, versions).image === null) problems.push(`${kind.name} ${id} is gone without tombstone`);
  }
  return problems;
}

/** The versions of a subject are kept while there are several. */
function auditSiblings(db: Database.Database, replay: LogReplay): string[] {
  const rows = db.prepare("SELECT kind, subject, origin || '/' || origin_seq AS dot FROM siblings").all() as {
    kind: string;
    subject: string;
    dot: string;
  }[];
  const kept = new Map<string, string[]>();
  for (const { kind, subject, dot } of rows) {
    kept.set(keyOf(kind, subject), [...(kept.get(keyOf(kind, subject)) ?? []), dot]);
  }
  const problems: string[] = [];
  const dotsOf = ({ versions }: ReplayedSubject) =>
    versions.length > 1 ? versions.map(({ origin, seq }) => `${origin}/${seq}`) : [];
  for (const [key, subject] of replay.subjects) {
    const due = dotsOf(subject).sort().join(' ');
    const held = kept.get(key) ?? [];
    kept.delete(key);
    if (held.sort().join(' ') !== due) {
      problems.push(`${subject.kind.name} ${subject.id} has siblings ${held.join(' ')} and not ${due}`);
    }
  }
  for (const key of kept.keys()) problems.push(`siblings of ${key}, which has no operation`);
  return problems;
}

function auditArchive(db: Database.Database, { archived }: LogReplay): string[] {
  const copies = db
    .prepare('SELECT 0 AS rid, NULL AS life_at, a.* FROM archived_memories a')
    .all() as SqlRow[];
  const kept = new Map(copies.map((sql) => [String(sql['id']), memoryPayload(memoryFromSql(sql))]));
  return [...archived]
    .filter(([id, payload]) => (kept.get(id) ?? null) !== payload)
    .map(([id]) => `the archive of ${id} differs from the log`);
}

/** The bytes of each holder and namespace are the sum over its rows. */
function auditQuotas(db: Database.Database, memories: readonly MemoryRow[]): string[] {
  const held = new Map<string, number>();
  for (const memory of memories) {
    const holder = holderOf(memory);
    if (holder === null) continue;
    const key = `${holder} ${memory.namespace}`;
    held.set(key, (held.get(key) ?? 0) + chargedBytes(memory));
  }
  const problems: string[] = [];
  const uses = db
    .prepare('SELECT agent_id, namespace, current_storage_bytes AS bytes FROM agent_quotas')
    .all();
  for (const use of uses as { agent_id: string; namespace: string; bytes: number }[]) {
    const key = `${use.agent_id} ${use.namespace}`;
    const expected = held.get(key) ?? 0;
    if (use.bytes !== expected)
      problems.push(`quota of ${key} says ${use.bytes} bytes, its rows have ${expected}`);
    held.delete(key);
  }
  for (const key of held.keys()) problems.push(`${key} has rows and no quota`);
  return problems;
}

/** The heads of other origins are where their chains end. */
function auditOrigins(db: Database.Database, chains: LogReplay['chains'], own: string): string[] {
  const problems: string[] = [];
  const rows = db.prepare('SELECT origin, seq, head FROM origins').all();
  const known = new Map(
    (rows as { origin: string; seq: number; head: string }[]).map((row) => [row.origin, row]),
  );
  for (const [origin, chain] of chains) {
    if (origin === own) continue;
    const row = known.get(origin);
    if (row?.seq !== chain.seq || row.head !== chain.head) problems.push(`origin ${origin} ends elsewhere`);
  }
  return problems;
}

/** The digest of each kind and namespace is the sum over its rows, and says how many there are. */
function auditDigests(db: Database.Database, audited: readonly AuditedRow[]): string[] {
  const sums = new Map<string, { readonly sum: Buffer; entries: number }>();
  for (const { kind, namespace, id, text } of audited) {
    const key = keyOf(kind, namespace);
    const entry = sums.get(key) ?? { sum: Buffer.alloc(32), entries: 0 };
    const digest = systemCrypto.sha256(`${id}\n${text}`);
    for (let i = 0; i < 32; i += 1) entry.sum[i] = entry.sum[i]! ^ digest[i]!;
    entry.entries += 1;
    sums.set(key, entry);
  }
  const problems: string[] = [];
  const rows = db.prepare('SELECT kind, namespace, digest, entries FROM namespace_digests').all();
  type Digest = { kind: string; namespace: string; digest: Buffer; entries: number };
  for (const { kind, namespace, digest, entries } of rows as Digest[]) {
    const due = sums.get(keyOf(kind, namespace));
    if (due?.sum.equals(digest) !== true || due.entries !== entries)
      problems.push(`the digest of ${kind} in ${namespace} is not that of its rows`);
    sums.delete(keyOf(kind, namespace));
  }
  for (const key of sums.keys()) problems.push(`${key.replace('\n', ' in ')} has rows and no digest`);
  return problems;
}
