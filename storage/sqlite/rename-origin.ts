import { canonicalJson } from '../../protocol/canonical-json.js';
import { editDot, editStamp } from '../../protocol/kinds/version.js';
import type { Origin } from '../../protocol/meanings.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import { CHAIN_GENESIS, headerHash, operationId } from '../../protocol/replication/operation-log.js';
import type { Crypto } from '../../protocol/seams.js';
import { includes, type VersionVector } from '../../protocol/version-vector.js';
import type { Connection } from './connection.js';
import { type OperationSqlRow, operationFromSql } from './operation-rows.js';

/** An origin whose operations after `keep` become operations 1, 2, … of another origin. */
export interface Renaming {
  readonly from: string;
  readonly keep: number;
  readonly to: string;
}

/**
 * Gives operations another origin in the log. A database that was restored from a plain copy reuses numbers that other
 * nodes know for other operations. Under a separate origin, its writes since then conflict with no others. The caller
 * rebuilds the rows of their subjects from the log. Runs inside the caller's transaction; answers the end of the new
 * chain.
 */
export function renameOperations(
  db: Connection,
  crypto: Crypto,
  renaming: Renaming,
): { readonly seq: number; readonly head: string } {
  const chain = renameLog(db, crypto, renaming);
  renameCopies(db, renaming);
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
  const others = db.prepare('SELECT * FROM operations WHERE subject = ? AND origin <> ?');
  const update = db.prepare(
    `UPDATE operations SET origin = ?, origin_seq = ?, seen = ?, payload = ?, payload_hash = ?, prev_hash = ?,
       head_signature = NULL WHERE commit_sequence = ?`,
  );
  let head = CHAIN_GENESIS;
  let seq = 0;
  for (const row of rows) {
    seq = row.origin_seq - keep;
    const operation = operationFromSql(row);
    const reported = highestSeen(operation, others.all(row.subject, from) as OperationSqlRow[], from);
    const seen = renamedVector(operation.seen, renaming, row.origin_seq, reported);
    const payload = row.payload === null ? null : renamedPayload(row.payload, renaming);
    const payloadHash = payload === null ? row.payload_hash : crypto.sha256Hex(payload);
    update.run(to, seq, JSON.stringify(seen), payload, payloadHash, head, row.commit_sequence);
    head = headerHash({ ...operation, origin: to, seq, seen, payloadHash, prevHash: head }, crypto);
  }
  return { seq, head };
}

/** An archived copy keeps the stamps of its version. */
function renameCopies(db: Connection, renaming: Renaming): void {
  const rows = db
    .prepare(
      `SELECT id, origin, origin_seq, seen, edited FROM archived_memories
       WHERE id IN (SELECT subject FROM operations WHERE origin = ?)`,
    )
    .all(renaming.to) as { id: string; origin: string; origin_seq: number; seen: string; edited: string }[];
  const update = db.prepare(
    'UPDATE archived_memories SET origin = ?, origin_seq = ?, seen = ?, edited = ? WHERE id = ?',
  );
  for (const row of rows) {
    const { origin, seq } = renamedDot(row.origin, row.origin_seq, renaming);
    const seen = renamedVector(JSON.parse(row.seen) as VersionVector, renaming, row.origin_seq, 0);
    update.run(origin, seq, JSON.stringify(seen), renamedEdit(row.edited, renaming), row.id);
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

function renamedDot(origin: Origin, seq: number, { from, keep, to }: Renaming) {
  return origin === from && seq > keep ? { origin: to, seq: seq - keep } : { origin, seq };
}

/** The highest sequence of an origin in the vectors of the operations that an operation has seen. */
function highestSeen(operation: WireOperation, others: readonly OperationSqlRow[], origin: Origin): number {
  const seen = others.filter((other) => includes(operation.seen, other.origin, other.origin_seq));
  return Math.max(0, ...seen.map((other) => operationFromSql(other).seen[origin] ?? 0));
}

/**
 * The vector of operation `seq` of the renamed part. Its entry for the old origin is the common history, or a higher
 * number that only other nodes can have reported. Its entry for the new origin covers all earlier own writes on its
 * subject.
 */
function renamedVector(
  seen: VersionVector,
  { from, keep, to }: Renaming,
  seq: number,
  reported: number,
): VersionVector {
  const known = seen[from];
  if (known === undefined || known <= keep) return seen;
  const { [from]: _renamed, ...others } = seen;
  const before = seq - 1 - keep;
  const old = Math.max(keep, reported, known >= seq ? known : 0);
  return { ...others, ...(old > 0 ? { [from]: old } : {}), ...(before > 0 ? { [to]: before } : {}) };
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
