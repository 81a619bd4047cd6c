import Database from 'better-sqlite3';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/canonical-json.js';
import { type Link, linkId, linkPayload } from '../../protocol/link.js';
import type { MemoryRow } from '../../protocol/memory.js';
import {
  CHAIN_GENESIS,
  headerHash,
  memoryPayload,
  type OperationKind,
} from '../../protocol/operation-log.js';
import { chargedBytes, holderOf } from '../../protocol/quota.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../../storage/sqlite/rows.js';

interface OperationRow {
  commit_sequence: number;
  origin: string;
  origin_seq: number;
  hlc: string;
  kind: OperationKind;
  namespace: string;
  subject: string;
  seen: string;
  payload_hash: string;
  prev_hash: string;
  payload: string;
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
  };
  const chains = new Map<string, { seq: number; head: string }>();
  const replayed = new Map<string, string>();
  /** What the archive must hold of a subject by the log alone; null is nothing. */
  const archived = new Map<string, string | null>();
  const links = new Map<string, string>();
  let expected = 1;
  let lastHlc = '';
  for (const row of operations) {
    if (row.commit_sequence !== expected) problems.push(`gap before commit ${row.commit_sequence}`);
    expected = row.commit_sequence + 1;
    const chain = chains.get(row.origin) ?? { seq: 0, head: CHAIN_GENESIS };
    if (row.origin_seq !== chain.seq + 1) problems.push(`gap in ${row.origin} before ${row.origin_seq}`);
    if (row.prev_hash !== chain.head) problems.push(`broken chain at ${row.origin}/${row.origin_seq}`);
    if (systemCrypto.sha256Hex(row.payload) !== row.payload_hash) {
      problems.push(`payload of ${row.origin}/${row.origin_seq} does not match its hash`);
    }
    if (row.hlc <= lastHlc) problems.push(`clock went back at commit ${row.commit_sequence}`);
    lastHlc = row.hlc;
    const head = headerHash(
      {
        origin: row.origin,
        seq: row.origin_seq,
        hlc: row.hlc,
        kind: row.kind,
        namespace: row.namespace,
        subject: row.subject,
        seen: JSON.parse(row.seen),
        payloadHash: row.payload_hash,
        prevHash: row.prev_hash,
      },
      systemCrypto,
    );
    chains.set(row.origin, { seq: row.origin_seq, head });
    const last = replayed.get(row.subject);
    switch (row.kind) {
      case 'purge':
        archived.set(row.subject, null);
        break;
      case 'archive':
        archived.set(row.subject, last ?? null);
        replayed.delete(row.subject);
        dropLinks(links, row.subject);
        break;
      case 'delete':
      case 'expire':
        // Whether a copy was kept is each node's setting.
        archived.delete(row.subject);
        replayed.delete(row.subject);
        dropLinks(links, row.subject);
        break;
      case 'link':
        links.set(row.subject, row.payload);
        break;
      case 'restore':
        archived.set(row.subject, null);
        replayed.set(row.subject, row.payload);
        break;
      default:
        replayed.set(row.subject, row.payload);
    }
  }
  if (state.commit_sequence !== operations.length) {
    problems.push(`log_state is at ${state.commit_sequence}, the log holds ${operations.length}`);
  }
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
  problems.push(...auditQuotas(db, rows.map(memoryFromSql)));
  const copies = db
    .prepare('SELECT 0 AS rid, NULL AS life_at, a.* FROM archived_memories a')
    .all() as SqlRow[];
  const kept = new Map(copies.map((sql) => [String(sql['id']), memoryPayload(memoryFromSql(sql))]));
  for (const [id, payload] of archived) {
    if ((kept.get(id) ?? null) !== payload) problems.push(`the archive of ${id} differs from the log`);
  }
  for (const link of linksOf(db)) {
    const id = linkId(link);
    const payload = links.get(id);
    // Links of older databases stand in no log.
    if (payload !== undefined && payload !== linkPayload(link)) problems.push(`link ${id} differs`);
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

function linksOf(db: Database.Database): Link[] {
  const rows = db.prepare('SELECT * FROM memory_links').all() as (Link & { signature: unknown })[];
  return rows.map((row) => ({
    ...row,
    signature: Buffer.isBuffer(row.signature) ? row.signature.toString('base64') : null,
  }));
}

function dropLinks(links: Map<string, string>, memoryId: string): void {
  for (const id of links.keys()) if (id.split('|').slice(0, 2).includes(memoryId)) links.delete(id);
}
