import Database from 'better-sqlite3';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/canonical-json.js';
import { type Link, linkId } from '../../protocol/link.js';
import { linkPayload } from '../../protocol/kinds/link-kind.js';
import type { MemoryRow } from '../../protocol/memory.js';
import { EPOCH_KIND } from '../../protocol/mesh/epoch-notice.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/operation-log.js';
import { memoryPayload } from '../../protocol/kinds/memory-kind.js';
import { versionOf } from '../../protocol/replication/payloads.js';
import { chargedBytes, holderOf } from '../../protocol/quota.js';
import { awayVersion, joinVersions, settle } from '../../protocol/replication/versions.js';
import { type Dot, isLater, type Version } from '../../protocol/kinds/version.js';
import { includes, type VersionVector } from '../../protocol/version-vector.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../../storage/sqlite/rows.js';

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

/**
 * Checks a database file against its operation log, from the rows alone: integrity, no gap in any sequence, every
 * chain whole, and the rows exactly what replaying the log gives. Answers what is wrong, one line each.
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
  const state = db.prepare('SELECT * FROM log_state').get() as {
    commit_sequence: number;
    chain_head: string;
    peer_id: string;
    db_epoch: string;
  };
  const chains = new Map<string, { seq: number; head: string; hlc: string }>();
  /** The maximal versions of each memory, by the log alone. */
  const states = new Map<string, readonly Version[]>();
  /** What the archive must hold of a subject by the log alone; null is nothing. */
  const archived = new Map<string, string | null>();
  const links = new Map<string, { payload: string; dot: Dot }>();
  const own = `${state.peer_id}/${state.db_epoch}`;
  let expected = 1;
  for (const row of operations) {
    if (row.commit_sequence !== expected) problems.push(`gap before commit ${row.commit_sequence}`);
    expected = row.commit_sequence + 1;
    // Numbers that were given twice begin where the two histories part, and mean nothing any more.
    if (row.parked === 'forked') continue;
    const chain = chains.get(row.origin) ?? { seq: 0, head: CHAIN_GENESIS, hlc: '' };
    if (row.origin_seq !== chain.seq + 1) problems.push(`gap in ${row.origin} before ${row.origin_seq}`);
    if (row.prev_hash !== chain.head) problems.push(`broken chain at ${row.origin}/${row.origin_seq}`);
    if (row.payload !== null && systemCrypto.sha256Hex(row.payload) !== row.payload_hash) {
      problems.push(`payload of ${row.origin}/${row.origin_seq} does not match its hash`);
    }
    if (row.hlc <= chain.hlc) problems.push(`clock went back at ${row.origin}/${row.origin_seq}`);
    const operation = { ...row, seq: row.origin_seq, seen: JSON.parse(row.seen) as VersionVector };
    const head = headerHash(
      { ...operation, payloadHash: row.payload_hash, prevHash: row.prev_hash },
      systemCrypto,
    );
    chains.set(row.origin, { seq: row.origin_seq, head, hlc: row.hlc });
    if (row.parked === 'elsewhere') {
      const version = awayVersion(operation);
      states.set(row.subject, joinVersions(states.get(row.subject) ?? [], [version]));
      continue;
    }
    if (row.parked !== null || row.payload === null || row.kind === EPOCH_KIND) continue;
    if (row.kind === 'link') {
      const last = links.get(row.subject);
      if (last === undefined || isLater(operation, last.dot)) {
        links.set(row.subject, { payload: row.payload, dot: operation });
      }
      continue;
    }
    if (row.kind === 'purge') {
      if (row.origin === own) archived.set(row.subject, null);
      else archived.delete(row.subject);
      continue;
    }
    const version = versionOf({ ...operation, payload: row.payload });
    if (version === null) {
      problems.push(`the payload of ${row.origin}/${row.origin_seq} is no ${row.kind}`);
      continue;
    }
    const before = states.get(row.subject) ?? [];
    // What a later version has seen comes too late to change anything.
    if (before.some(({ covers }) => includes(covers, row.origin, row.origin_seq))) continue;
    const after = joinVersions(before, [version]);
    states.set(row.subject, after);
    const now = settle(after);
    // Beside a later removal an earlier one that comes after it changes nothing.
    const stands = now.image !== null || now.removal.image === version.removal?.image;
    if (!stands) continue;
    if (now.image !== null && row.kind === 'restore') archived.set(row.subject, null);
    else if (now.image === null && row.kind === 'archive' && version.removal?.image) {
      archived.set(row.subject, memoryPayload(version.removal.image));
    }
    // Whether a copy was kept is each node's setting.
    else archived.delete(row.subject);
  }
  const replayed = new Map<string, string>();
  for (const [id, versions] of states) {
    const { image } = settle(versions);
    if (image !== null) replayed.set(id, memoryPayload(image));
  }
  if (state.commit_sequence !== operations.length) {
    problems.push(`log_state is at ${state.commit_sequence}, the log holds ${operations.length}`);
  }
  problems.push(...auditOrigins(db, chains, own));
  const rows = db.prepare(`SELECT ${SELECT_ROW} FROM memories m`).all() as SqlRow[];
  for (const sql of rows) {
    const memory: MemoryRow = memoryFromSql(sql);
    const payload = replayed.get(memory.id);
    if (payload === undefined) problems.push(`row ${memory.id} has no operation`);
    else if (payload !== memoryPayload(memory)) {
      problems.push(
        `row ${memory.id} differs from its last operation: ${canonicalJson(memory)} / ${payload}`,
      );
    }
    replayed.delete(memory.id);
  }
  for (const id of replayed.keys()) problems.push(`operation for ${id}, which has no row`);
  const memories = rows.map(memoryFromSql);
  problems.push(...auditQuotas(db, memories), ...auditDigests(db, memories, linksOf(db)));
  const copies = db
    .prepare('SELECT 0 AS rid, NULL AS life_at, a.* FROM archived_memories a')
    .all() as SqlRow[];
  const kept = new Map(copies.map((sql) => [String(sql['id']), memoryPayload(memoryFromSql(sql))]));
  for (const [id, payload] of archived) {
    if ((kept.get(id) ?? null) !== payload) problems.push(`the archive of ${id} differs from the log`);
  }
  for (const link of linksOf(db)) {
    const id = linkId(link);
    if (links.get(id)?.payload !== linkPayload(link)) problems.push(`link ${id} differs from the log`);
    links.delete(id);
  }
  for (const id of links.keys()) problems.push(`operation for link ${id}, which has no row`);
  const indexed = db.prepare('SELECT count(*) AS n FROM memories_fts').get() as { n: number };
  if (indexed.n !== rows.length) problems.push(`${indexed.n} rows in the full text, ${rows.length} memories`);
  return problems;
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

function linksOf(db: Database.Database): AuditedLink[] {
  const rows = db.prepare('SELECT * FROM memory_links').all() as (AuditedLink & { signature: unknown })[];
  return rows.map((row) => ({
    ...row,
    signature: Buffer.isBuffer(row.signature) ? row.signature.toString('base64') : null,
  }));
}

/** The heads of other origins are where their chains end, and the digests are those of the rows. */
function auditOrigins(
  db: Database.Database,
  chains: ReadonlyMap<string, { readonly seq: number; readonly head: string }>,
  own: string,
): string[] {
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

/** The digest of each namespace is the sum over its rows. */
function auditDigests(
  db: Database.Database,
  memories: readonly MemoryRow[],
  links: readonly AuditedLink[],
): string[] {
  const sums = new Map<string, Buffer>();
  const add = (namespace: string, subject: string, payload: string) => {
    const sum = sums.get(namespace) ?? Buffer.alloc(32);
    const digest = systemCrypto.sha256(`${subject}\n${payload}`);
    for (let i = 0; i < 32; i += 1) sum[i] = sum[i]! ^ digest[i]!;
    sums.set(namespace, sum);
  };
  for (const memory of memories) add(memory.namespace, memory.id, memoryPayload(memory));
  for (const link of links) add(link.namespace, linkId(link), linkPayload(link));
  const problems: string[] = [];
  const rows = db.prepare('SELECT namespace, digest FROM namespace_digests').all();
  for (const { namespace, digest } of rows as { namespace: string; digest: Buffer }[]) {
    if (sums.get(namespace)?.equals(digest) !== true)
      problems.push(`the digest of ${namespace} is not that of its rows`);
    sums.delete(namespace);
  }
  for (const namespace of sums.keys()) problems.push(`namespace ${namespace} has rows and no digest`);
  return problems;
}

type AuditedLink = Link & { readonly namespace: string };
