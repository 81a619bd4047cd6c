import { canonicalJson } from '../../protocol/canonical-json.js';
import { CHAIN_GENESIS, headerHash, memoryPayload, operationId } from '../../protocol/operation-log.js';
import { editDot, editStamp } from '../../protocol/replica.js';
import type { Crypto } from '../../protocol/seams.js';
import type { VersionVector } from '../../protocol/version-vector.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { type OperationSqlRow, operationFromSql } from './operation-rows.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';

/** An origin whose operations beyond `keep` become operations 1, 2, … of another. */
export interface Renaming {
  readonly from: string;
  readonly keep: number;
  readonly to: string;
}

/**
 * Gives operations that nobody else has another origin, in the log and wherever rows name them. A database that was put
 * back by a plain copy goes on under numbers that other nodes know for other operations; under an origin of their own
 * what was written since then is nobody's duplicate. Inside the caller's transaction; answers where the new chain ends.
 */
export function renameOperations(
  db: Connection,
  crypto: Crypto,
  digests: Digests,
  renaming: Renaming,
): { readonly seq: number; readonly head: string } {
  const chain = renameLog(db, crypto, renaming);
  renameMemories(db, digests, renaming);
  for (const table of ['archived_memories', 'tombstones', 'memory_links'] as const) {
    renameStamps(db, table, renaming);
  }
  const { from, keep, to } = renaming;
  const moved = { from, keep, to };
  db.prepare(
    'UPDATE siblings SET origin = @to, origin_seq = origin_seq - @keep WHERE origin = @from AND origin_seq > @keep',
  ).run(moved);
  db.prepare(
    'UPDATE conflicts SET origin = @to, origin_seq = origin_seq - @keep WHERE origin = @from AND origin_seq > @keep',
  ).run(moved);
  renameWinners(db, renaming);
  return chain;
}

function renameLog(db: Connection, crypto: Crypto, renaming: Renaming) {
  const { from, keep, to } = renaming;
  const rows = db
    .prepare('SELECT * FROM operations WHERE origin = ? AND origin_seq > ? ORDER BY origin_seq')
    .all(from, keep) as OperationSqlRow[];
  const update = db.prepare(
    `UPDATE operations SET origin = ?, origin_seq = ?, seen = ?, payload = ?, payload_hash = ?, prev_hash = ?,
       head_signature = NULL WHERE commit_sequence = ?`,
  );
  let head = CHAIN_GENESIS;
  let seq = 0;
  for (const row of rows) {
    seq = row.origin_seq - keep;
    const operation = operationFromSql(row);
    const seen = renamedVector(operation.seen, renaming);
    const payload = row.payload === null ? null : renamedPayload(row.payload, renaming);
    const payloadHash = payload === null ? row.payload_hash : crypto.sha256Hex(payload);
    update.run(to, seq, JSON.stringify(seen), payload, payloadHash, head, row.commit_sequence);
    head = headerHash({ ...operation, origin: to, seq, seen, payloadHash, prevHash: head }, crypto);
  }
  return { seq, head };
}

/** The text of an edit's stamp is part of the post-image, and so of the digest. */
function renameMemories(db: Connection, digests: Digests, renaming: Renaming): void {
  const rows = db
    .prepare(`SELECT ${SELECT_ROW}, m.digest FROM memories m WHERE m.seen LIKE ? OR m.edited LIKE ?`)
    .all(`%${renaming.from}%`, `%${renaming.from}%`) as (SqlRow & { digest: unknown })[];
  const update = db.prepare(
    'UPDATE memories SET origin = ?, origin_seq = ?, seen = ?, edited = ?, digest = ? WHERE rid = ?',
  );
  for (const row of rows) {
    const memory = memoryFromSql(row);
    const stamp = renamedDot(memory.origin, memory.origin_seq, renaming);
    const edited = renamedEdit(memory.edited, renaming);
    const seen = renamedVector(memory.seen, renaming);
    const digest = digests.of(memory.id, memoryPayload({ ...memory, edited }));
    update.run(stamp.origin, stamp.seq, JSON.stringify(seen), edited, digest, memory.rid);
    digests.leave(memory.namespace, row.digest as Uint8Array | null);
    digests.join(memory.namespace, digest);
  }
}

const KEYS = {
  archived_memories: ['id'],
  tombstones: ['id'],
  memory_links: ['source_id', 'target_id', 'relation'],
} as const;

function renameStamps(db: Connection, table: keyof typeof KEYS, renaming: Renaming): void {
  const keys = KEYS[table];
  const edits = table === 'archived_memories';
  const rows = db
    .prepare(
      `SELECT ${keys.join(', ')}, origin, origin_seq, seen ${edits ? ', edited' : ''} FROM ${table} WHERE seen LIKE ?`,
    )
    .all(`%${renaming.from}%`) as Record<string, string | number>[];
  const update = db.prepare(
    `UPDATE ${table} SET origin = ?, origin_seq = ?, seen = ? ${edits ? ', edited = ?' : ''}
     WHERE ${keys.map((key) => `${key} = ?`).join(' AND ')}`,
  );
  for (const row of rows) {
    const stamp = renamedDot(String(row['origin']), Number(row['origin_seq']), renaming);
    const seen = renamedVector(JSON.parse(String(row['seen'])) as VersionVector, renaming);
    const edited = edits ? [renamedEdit(String(row['edited']), renaming)] : [];
    update.run(stamp.origin, stamp.seq, JSON.stringify(seen), ...edited, ...keys.map((key) => row[key]!));
  }
}

function renameWinners(db: Connection, { from, keep, to }: Renaming): void {
  const rows = db.prepare('SELECT DISTINCT winner FROM conflicts WHERE winner LIKE ?').all(`${from}/%`) as {
    winner: string;
  }[];
  const update = db.prepare('UPDATE conflicts SET winner = ? WHERE winner = ?');
  for (const { winner } of rows) {
    const seq = Number(winner.slice(from.length + 1));
    if (seq > keep) update.run(operationId(to, seq - keep), winner);
  }
}

function renamedDot(origin: string, seq: number, { from, keep, to }: Renaming) {
  return origin === from && seq > keep ? { origin: to, seq: seq - keep } : { origin, seq };
}

/** What was seen of the renamed part was seen of the new origin, and of the old one all that is left. */
function renamedVector(seen: VersionVector, { from, keep, to }: Renaming): VersionVector {
  const seq = seen[from];
  if (seq === undefined || seq <= keep) return seen;
  const { [from]: _renamed, ...others } = seen;
  return { ...others, ...(keep > 0 ? { [from]: keep } : {}), [to]: seq - keep };
}

function renamedEdit(edited: string, renaming: Renaming): string {
  const dot = editDot(edited);
  return dot === null ? edited : editStamp({ hlc: dot.hlc, ...renamedDot(dot.origin, dot.seq, renaming) });
}

function renamedPayload(payload: string, renaming: Renaming): string {
  const value = JSON.parse(payload) as Record<string, unknown>;
  return canonicalJson(renamedValue(value, renaming));
}

function renamedValue(value: Record<string, unknown>, renaming: Renaming): Record<string, unknown> {
  const { edited, was } = value;
  return {
    ...value,
    ...(typeof edited === 'string' ? { edited: renamedEdit(edited, renaming) } : {}),
    ...(was === undefined ? {} : { was: renamedValue(was as Record<string, unknown>, renaming) }),
  };
}
