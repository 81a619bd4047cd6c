import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { HLC_ZERO, type Hlc } from '../../protocol/base/hlc.js';
import type { Origin } from '../../protocol/base/meanings.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { includes, type VersionVector } from '../../protocol/base/version-vector.js';
import { type Dot, editDot, editStamp } from '../../protocol/kinds/version.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/log/operation-log.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import type { Connection } from './connection.js';
import { type OperationSqlRow, operationFromSql } from './operation-rows.js';

/** An origin whose operations after `keep` become operations 1, 2, … of another origin. */
export interface Renaming {
  readonly from: string;
  readonly keep: number;
  readonly to: string;
}

/** How operations name others that are renamed in the same transaction, or have been. */
export interface Names {
  readonly renamings: readonly Renaming[];
  /** New stamps by the old ones; each operation that gets a new stamp is added. */
  readonly stamps: Map<Hlc, Hlc>;
  /** Makes the next new stamp; null when operations keep theirs. */
  readonly nextStamp: (() => Hlc) | null;
}

/**
 * Gives operations another origin in the log. A database that was restored from a plain copy reuses numbers that other
 * nodes know for other operations; a clock that was ahead stamped operations as no other node takes them. Under a
 * separate origin these writes can replicate. The caller rebuilds the rows and conflicts of their subjects from the log. Runs inside
 * the caller's transaction; answers the end of the new chain.
 */
export function renameOperations(
  db: Connection,
  crypto: Crypto,
  renaming: Renaming,
  names: Names,
): { readonly seq: number; readonly head: string; readonly hlc: Hlc } {
  const chain = renameLog(db, crypto, renaming, names);
  renameCopies(db, renaming, names);
  const { from, keep, to } = renaming;
  db.prepare(
    'UPDATE siblings SET origin = @to, origin_seq = origin_seq - @keep WHERE origin = @from AND origin_seq > @keep',
  ).run({ from, keep, to });
  return chain;
}

function renameLog(db: Connection, crypto: Crypto, { from, keep, to }: Renaming, names: Names) {
  const rows = db
    .prepare('SELECT * FROM operations WHERE origin = ? AND origin_seq > ? ORDER BY origin_seq')
    .all(from, keep) as OperationSqlRow[];
  const others = db.prepare('SELECT * FROM operations WHERE subject = ? AND origin <> ?');
  const update = db.prepare(
    `UPDATE operations SET origin = ?, origin_seq = ?, hlc = ?, seen = ?, payload = ?, payload_hash = ?, prev_hash = ?,
       head_signature = NULL WHERE commit_sequence = ?`,
  );
  let head = CHAIN_GENESIS;
  let [seq, hlc] = [0, HLC_ZERO];
  for (const row of rows) {
    seq = row.origin_seq - keep;
    hlc = names.nextStamp?.() ?? row.hlc;
    names.stamps.set(row.hlc, hlc);
    const operation = operationFromSql(row);
    const seen = renamedVector(operation.seen, names, (origin, known) => {
      const reported = highestSeen(operation, others.all(row.subject, from) as OperationSqlRow[], origin);
      if (origin !== from) return { reported, renamed: known };
      // All earlier own writes; a higher number only other nodes can have reported.
      return {
        reported: Math.max(reported, known >= row.origin_seq ? known : 0),
        renamed: row.origin_seq - 1,
      };
    });
    const payload = row.payload === null ? null : renamedPayload(row.payload, names);
    const payloadHash = payload === null ? row.payload_hash : crypto.sha256Hex(payload);
    update.run(to, seq, hlc, JSON.stringify(seen), payload, payloadHash, head, row.commit_sequence);
    head = headerHash({ ...operation, origin: to, seq, hlc, seen, payloadHash, prevHash: head }, crypto);
  }
  return { seq, head, hlc };
}

/** Gives archived copies the stamps that their versions have under the other origin; the log has both still. */
export function renameKnownCopies(db: Connection, renaming: Renaming): void {
  const { from, keep, to } = renaming;
  const pairs = db
    .prepare(
      `SELECT o.hlc AS was, n.hlc AS now FROM operations o
       JOIN operations n ON n.origin = @to AND n.origin_seq = o.origin_seq - @keep
       WHERE o.origin = @from AND o.origin_seq > @keep`,
    )
    .all({ from, keep, to }) as { was: Hlc; now: Hlc }[];
  const stamps = new Map(pairs.map(({ was, now }) => [was, now]));
  renameCopies(db, renaming, { renamings: [renaming], stamps, nextStamp: null });
}

/** An archived copy keeps the stamps of its version. */
function renameCopies(db: Connection, renaming: Renaming, names: Names): void {
  const rows = db
    .prepare(
      `SELECT id, origin, origin_seq, hlc, seen, edited, created_hlc FROM archived_memories
       WHERE id IN (SELECT subject FROM operations WHERE origin = ?)`,
    )
    .all(renaming.to) as (Record<'id' | 'origin' | 'hlc' | 'seen' | 'edited' | 'created_hlc', string> & {
    readonly origin_seq: number;
  })[];
  const update = db.prepare(
    'UPDATE archived_memories SET origin = ?, origin_seq = ?, hlc = ?, seen = ?, edited = ?, created_hlc = ? WHERE id = ?',
  );
  for (const row of rows) {
    const { origin, seq, hlc } = renamedDot({ ...row, seq: row.origin_seq }, names);
    const seen = renamedVector(JSON.parse(row.seen) as VersionVector, names, (_origin, known) => ({
      reported: known,
      renamed: known,
    }));
    const created = names.stamps.get(row.created_hlc) ?? row.created_hlc;
    update.run(origin, seq, hlc, JSON.stringify(seen), renamedEdit(row.edited, names), created, row.id);
  }
}

function renamedDot({ hlc, origin, seq }: Dot, { renamings, stamps }: Names): Dot {
  const renaming = renamings.find(({ from, keep }) => origin === from && seq > keep);
  if (renaming === undefined) return { hlc, origin, seq };
  return { hlc: stamps.get(hlc) ?? hlc, origin: renaming.to, seq: seq - renaming.keep };
}

/** The highest sequence of an origin in the vectors of the operations that an operation has seen. */
function highestSeen(operation: WireOperation, others: readonly OperationSqlRow[], origin: Origin): number {
  const seen = others.filter((other) => includes(operation.seen, other.origin, other.origin_seq));
  return Math.max(0, ...seen.map((other) => operationFromSql(other).seen[origin] ?? 0));
}

/**
 * A vector that names renamed operations. Its entry for the old origin is the common history, or a higher number that
 * only other nodes can have `reported`; its entry for the new origin covers the old numbers up to `renamed`.
 */
function renamedVector(
  vector: VersionVector,
  { renamings }: Names,
  entryOf: (origin: Origin, known: number) => { readonly reported: number; readonly renamed: number },
): VersionVector {
  let seen = vector;
  for (const { from, keep, to } of renamings) {
    const known = seen[from];
    if (known === undefined || known <= keep) continue;
    const { reported, renamed } = entryOf(from, known);
    const { [from]: _renamed, ...others } = seen;
    const old = Math.max(keep, reported);
    const own = renamed - keep;
    seen = { ...others, ...(old > 0 ? { [from]: old } : {}), ...(own > 0 ? { [to]: own } : {}) };
  }
  return seen;
}

function renamedEdit(edited: string, names: Names): string {
  const dot = editDot(edited);
  return dot === null ? edited : editStamp(renamedDot(dot, names));
}

function renamedPayload(payload: string, names: Names): string {
  const value = JSON.parse(payload) as Record<string, unknown>;
  return canonicalJson(renamedValue(value, names));
}

/** The stamps that a payload holds: when its text was edited, when its memory was created. */
function renamedValue(value: Record<string, unknown>, names: Names): Record<string, unknown> {
  const { edited, created_hlc, was } = value;
  const created = typeof created_hlc === 'string' ? names.stamps.get(created_hlc) : undefined;
  return {
    ...value,
    ...(typeof edited === 'string' ? { edited: renamedEdit(edited, names) } : {}),
    ...(created === undefined ? {} : { created_hlc: created }),
    ...(was === undefined ? {} : { was: renamedValue(was as Record<string, unknown>, names) }),
  };
}
