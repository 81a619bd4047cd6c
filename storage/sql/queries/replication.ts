import { parseRfc3339Ms } from '../../../protocol/base/time.js';
import { operationId, placeOfOperation } from '../../../protocol/log/operation-log.js';
import type { OperationPlace } from '../../../protocol/log/ranges.js';
import { peerOfOrigin, type SignedHead, type WireOperation } from '../../../protocol/log/wire-operation.js';
import type {
  FindOperation,
  FoundOperation,
  HeaderPage,
  KnownOriginsAnswer,
  OriginHead,
  ReadHeaders,
  ReadOperations,
  ReadOperationsAnswer,
} from '../../../protocol/replication/queries.js';
import type { UsedNonce } from '../../../protocol/replication/used-nonce.js';
import { hasHeader, type OperationSqlRow, operationFromSql } from '../operation-rows.js';
import type { Statements } from '../statements.js';
import type { QueryParts } from './query-parts.js';

interface OriginRow {
  origin: string;
  seq: number;
  head: string;
  hlc: string;
}

interface OwnRow extends OriginRow {
  peer_id: string;
  commit_sequence: number;
}

const OWN = `SELECT peer_id, peer_id || '/' || db_epoch AS origin, origin_seq AS seq, chain_head AS head, hlc, commit_sequence
  FROM log_state`;

/** The end of every origin's chain in this database. */
export function knownOrigins({ statements }: QueryParts): KnownOriginsAnswer {
  return statements.snapshot(() => originsOf(statements));
}

function originsOf(statements: Statements): KnownOriginsAnswer {
  const own = statements.get(OWN).get() as OwnRow;
  const heads: Record<string, OriginHead> = {};
  const stamps: Record<string, string> = {};
  for (const row of statements.get('SELECT origin, seq, head, hlc FROM origins').all() as OriginRow[]) {
    heads[row.origin] = { seq: row.seq, hash: row.head };
    stamps[row.origin] = row.hlc;
  }
  if (own.seq > 0) {
    heads[own.origin] = { seq: own.seq, hash: own.head };
    stamps[own.origin] = own.hlc;
  }
  return { self: own.origin, commitSequence: own.commit_sequence, hlc: own.hlc, heads, stamps };
}

/** Bytes of an operation without its payload, to compute the page's size. */
const HEADER_BYTES = 600;
/** A longer run of operations without a signed head is not read: no peer would accept it. */
const UNSIGNED_RUN_MAX = 5000;

/** Operations after the sequences in `have`, and the heads of the same moment. */
export function readOperations(statements: Statements, query: ReadOperations): ReadOperationsAnswer {
  return statements.snapshot(() => pageOf(statements, query));
}

function pageOf(statements: Statements, query: ReadOperations): ReadOperationsAnswer {
  const { heads: known, self } = originsOf(statements);
  const selfPeer = peerOfOrigin(self);
  const operations: WireOperation[] = [];
  const heads: SignedHead[] = [];
  const ends: Record<string, OriginHead> = {};
  const lacking: ReadOperationsAnswer['lacking'][number][] = [];
  let bytes = 0;
  let more = false;
  for (const origin of (query.origins ?? Object.keys(known)).toSorted()) {
    // A peer may ask for an origin with a name that every object has.
    const head = Object.hasOwn(known, origin) ? known[origin] : undefined;
    const from = query.have[origin] ?? 0;
    if (head === undefined) continue;
    const upTo = Math.min(head.seq, query.upTo?.[origin] ?? head.seq);
    if (upTo <= from) continue;
    if (operations.length >= query.limit || bytes >= query.bytesMax) {
      more = true;
      break;
    }
    const own = peerOfOrigin(origin) === selfPeer;
    // Not beyond the head that was read: other processes write between two statements, and the end must match the head.
    const { rows, hash } = readOrigin(statements, origin, { after: from, upTo, head }, own, {
      operations: query.limit - operations.length,
      bytes: query.bytesMax - bytes,
    });
    const last = rows.at(-1);
    if (last === undefined) continue;
    for (const row of rows) {
      operations.push(operationFromSql(row));
      bytes += sizeOf(row);
      if (row.payload === null && (row.parked === 'out_of_scope' || row.parked === 'elsewhere'))
        lacking.push({ origin, seq: row.origin_seq, namespace: row.namespace, kind: row.kind });
    }
    const seq = last.origin_seq;
    ends[origin] = { seq, hash };
    if (isSigned(last)) heads.push({ origin, seq, hash, signature: last.head_signature });
    if (seq < upTo) more = true;
  }
  return { operations, heads, ends, more, lacking };
}

const sizeOf = ({ payload, seen, subject, namespace }: OperationSqlRow): number =>
  HEADER_BYTES + (payload?.length ?? 0) + seen.length + subject.length + namespace.length;

const isSigned = (row: OperationSqlRow): row is OperationSqlRow & { readonly head_signature: string } =>
  typeof row.head_signature === 'string';

/**
 * Consecutive operations of an origin with the header hash of the last, from the next operation or the head. They end
 * before a lost or unreadable operation. A foreign origin's end at a signed head, because no peer accepts them without
 * it.
 */
function readOrigin(
  statements: Statements,
  origin: string,
  { after, upTo, head }: { readonly after: number; readonly upTo: number; readonly head: OriginHead },
  own: boolean,
  room: { readonly operations: number; readonly bytes: number },
): { readonly rows: readonly OperationSqlRow[]; readonly hash: string } {
  const rows: OperationSqlRow[] = [];
  let end = 0;
  let hash = '';
  let bytes = 0;
  const mayEnd = (known: string) => {
    const last = rows.at(-1);
    if (last === undefined || !(own || isSigned(last))) return;
    end = rows.length;
    hash = known;
  };
  const cursor = statements
    .get(
      'SELECT * FROM operations WHERE origin = ? AND origin_seq > ? AND origin_seq <= ? ORDER BY origin_seq',
    )
    .iterate(origin, after, Math.min(upTo + 1, head.seq)) as IterableIterator<OperationSqlRow>;
  for (const row of cursor) {
    if (row.origin_seq !== after + rows.length + 1 || !hasHeader(row)) break;
    mayEnd(row.prev_hash);
    const full = rows.length >= room.operations || (rows.length > 0 && bytes + sizeOf(row) > room.bytes);
    if (row.origin_seq > upTo || (full && (own || end > 0 || rows.length >= UNSIGNED_RUN_MAX))) break;
    rows.push(row);
    bytes += sizeOf(row);
    if (row.origin_seq === head.seq) mayEnd(head.hash);
  }
  return { rows: rows.slice(0, end), hash };
}

export function readHeaders({ statements }: QueryParts, { maker, after, limit }: ReadHeaders): HeaderPage {
  const rows = statements
    .get(
      `SELECT origin, origin_seq AS seq, commit_sequence FROM operations
       WHERE parked = 'out_of_scope' AND payload IS NULL AND commit_sequence > ? ORDER BY commit_sequence LIMIT ?`,
    )
    .all(after, limit) as (OperationPlace & { readonly commit_sequence: number })[];
  return {
    places: rows
      .filter(({ origin }) => peerOfOrigin(origin) === maker)
      .map(({ origin, seq }) => ({ origin, seq })),
    last: rows.at(-1)?.commit_sequence ?? null,
  };
}

export function findOperation({ statements }: QueryParts, { opId }: FindOperation): FoundOperation | null {
  const place = placeOfOperation(opId);
  const named =
    place === null
      ? undefined
      : (statements
          .get('SELECT * FROM operations WHERE origin = ? AND origin_seq = ?')
          .get(place.origin, place.seq) as OperationSqlRow | undefined);
  const row =
    named ??
    (statements
      .get('SELECT * FROM operations WHERE subject = ? ORDER BY commit_sequence DESC LIMIT 1')
      .get(opId) as OperationSqlRow | undefined);
  if (row === undefined) return null;
  const { origin, origin_seq: seq, hlc, kind, namespace, subject, commit_sequence, parked } = row;
  return {
    op_id: operationId(origin, seq),
    origin,
    seq,
    hlc,
    kind,
    namespace,
    subject,
    commit_sequence,
    parked,
  };
}

export function listNonces({ statements }: QueryParts): readonly UsedNonce[] {
  const rows = statements
    .get(
      `SELECT peer_id, lower(hex(fingerprint)) AS fingerprint, last_touch, inserted_at FROM federation_nonce_cache
       ORDER BY last_touch`,
    )
    .all() as { peer_id: string; fingerprint: string; last_touch: number; inserted_at: string }[];
  return rows.map((row) => ({
    peerId: row.peer_id,
    fingerprint: row.fingerprint,
    usedAtMs: parseRfc3339Ms(row.inserted_at) ?? 0,
    keepUntilMs: row.last_touch,
  }));
}
