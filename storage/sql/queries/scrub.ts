import type { Instant, Origin } from '../../../protocol/base/meanings.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { GLOBAL_QUOTA_NAMESPACE } from '../../../protocol/identity/quota.js';
import type { Kind, Subject } from '../../../protocol/kinds/kind.js';
import { headerHash } from '../../../protocol/log/operation-log.js';
import type { KindNamespace, OperationPlace } from '../../../protocol/log/ranges.js';
import { memoryKind } from '../../../protocol/memory/memory-kind.js';
import type { Answers } from '../../../protocol/release.js';
import { versionOf } from '../../../protocol/replication/payloads.js';
import type {
  IntegrityNote,
  ListSuspects,
  ScrubLog,
  ScrubLogPage,
  ScrubRows,
  ScrubTombstones,
} from '../../../protocol/replication/repair-queries.js';
import { ELSEWHERE } from '../../../protocol/replication/versions.js';
import { isStampedBy, OPERATION_COLUMNS, type OperationColumns } from '../kinds/scrub-row.js';
import { factsOf, type TombstoneRow } from '../kinds/tombstones.js';
import { hasHeader, KNOWN_HASH, type OperationSqlRow, operationFromSql } from '../operation-rows.js';
import type { Statements } from '../statements.js';
import type { QueryParts } from './query-parts.js';

/** Rows of a kind whose hash does not match their digest or the operation that wrote them. */
export function scrubRows(
  { statements, crypto, pages }: QueryParts,
  { of, after, limit }: ScrubRows,
): Answers['scrub-rows'] {
  const kind = pages.of(of);
  return kind?.scrub(statements, crypto, { after, limit }) ?? { looked: 0, suspects: [], next: null };
}

type BuriedRow = TombstoneRow &
  OperationColumns & {
    readonly operation_kind: string | null;
    readonly payload: string | null;
  };

/**
 * Tombstones whose hash or stamps do not match the operation that wrote them; tombstones of several versions are always
 * checked closely.
 */
export function scrubTombstones(
  { statements, pages }: QueryParts,
  { after, limit }: ScrubTombstones,
): Answers['scrub-tombstones'] {
  const rows = statements
    .get(
      `SELECT t.*, ${OPERATION_COLUMNS}, o.kind AS operation_kind, o.payload
       FROM tombstones t LEFT JOIN operations o ON o.origin = t.origin AND o.origin_seq = t.origin_seq
       WHERE (t.kind, t.id) > (?, ?) ORDER BY t.kind, t.id LIMIT ?`,
    )
    .all(after?.kind ?? '', after?.id ?? '', limit) as BuriedRow[];
  const suspects = rows
    .filter((row) => !isBuriedWhole(row, pages.kinds.named(row.kind)))
    .map(({ kind, id }) => ({ kind, id }));
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : { kind: last.kind, id: last.id };
  return { looked: rows.length, suspects, next };
}

function isBuriedWhole(row: BuriedRow, kind: Kind | null): boolean {
  // A later release wrote this kind.
  if (kind === null) return true;
  const { id: subject, namespace, hlc, origin, origin_seq: seq, word, reason } = row;
  // An operation that moved the subject out of scope was not a removal on its maker's node.
  const isWord = row.operation_kind === word || reason === ELSEWHERE;
  const facts = factsOf(kind, row);
  if (!isWord || !isStampedBy(row) || facts === null) return false;
  if (typeof row.payload !== 'string') return true;
  const source = { origin, seq, hlc, kind: word, namespace, subject, seen: {}, payload: row.payload };
  const removal = versionOf(kind, 'removal', source)?.removal;
  return removal?.reason === reason && kind.removal.text(removal.facts) === kind.removal.text(facts);
}

/** The largest number of lost operations in a run that one page names. */
const LOST_RUN_MAX = 1000;

/** Checks operations against their payload hashes and chains, and finds subjects with neither row nor tombstone. */
export function scrubLog(source: QueryParts, { after, limit }: ScrubLog): Answers['scrub-log'] {
  const { statements, crypto, pages } = source;
  const rows = statements
    .get('SELECT * FROM operations WHERE commit_sequence > ? ORDER BY commit_sequence LIMIT ?')
    .all(after, limit) as OperationSqlRow[];
  const suspects = new Map<string, Subject>();
  const damaged: OperationPlace[] = [];
  for (const row of rows) {
    const { origin, origin_seq: seq, subject, payload, parked, kind } = row;
    // A history that was moved aside belongs to no chain.
    if (parked === 'forked') continue;
    if (!hasHeader(row)) {
      damaged.push({ origin: String(origin), seq });
      continue;
    }
    damaged.push(...lostBefore(statements, origin, seq));
    const known = statements.get(KNOWN_HASH).get({ origin, seq }) as { hash: string } | undefined;
    const isIts = typeof payload === 'string' && crypto.sha256Hex(payload) === row.payload_hash;
    const sound = typeof row.seen === 'string' && (payload === null || isIts);
    if (!sound || (known !== undefined && known.hash !== hashOf(row, crypto))) damaged.push({ origin, seq });
    const meaning = pages.kinds.ofWord(kind);
    if (meaning === null || parked !== null) continue;
    const { name } = meaning.kind;
    if (payload === null || (meaning.role !== 'purge' && !hasTrace(source, name, subject))) {
      suspects.set(`${name}\n${subject}`, { kind: name, id: subject });
    }
  }
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : last.commit_sequence;
  if (next === null) damaged.push(...lostEnds(statements));
  return { looked: rows.length, suspects: [...suspects.values()], damaged, next } satisfies ScrubLogPage;
}

function hashOf(row: OperationSqlRow, crypto: Crypto): string {
  try {
    return headerHash(operationFromSql(row), crypto);
  } catch {
    return '';
  }
}

/** The missing operations of an origin directly before one operation. */
function lostBefore(statements: Statements, origin: Origin, seq: number): OperationPlace[] {
  const before = statements
    .get('SELECT max(origin_seq) AS seq FROM operations WHERE origin = ? AND origin_seq < ?')
    .get(origin, seq) as { seq: number | null };
  const lost: OperationPlace[] = [];
  for (let at = seq - 1; at > (before.seq ?? 0) && lost.length < LOST_RUN_MAX; at -= 1)
    lost.push({ origin, seq: at });
  return lost;
}

/** The missing operations at the ends of the chains. */
function lostEnds(statements: Statements): OperationPlace[] {
  const ends = statements
    .get(
      `SELECT origin, seq FROM origins
       UNION ALL SELECT peer_id || '/' || db_epoch, origin_seq FROM log_state`,
    )
    .all() as OperationPlace[];
  return ends.flatMap(({ origin, seq }) => lostBefore(statements, origin, seq + 1));
}

function hasTrace({ statements, pages }: QueryParts, kind: string, id: string): boolean {
  if (pages.of(kind)?.exists(statements, id) === true) return true;
  const tombstone = statements.get('SELECT 1 FROM tombstones WHERE kind = ? AND id = ?').get(kind, id);
  return tombstone !== undefined;
}

/** Every namespace with a counter has a digest, or a quota use by holders of its memories. */
export function scrubNamespaces({ statements }: QueryParts): Answers['scrub-namespaces'] {
  const sums = statements
    .get(
      `SELECT kind, namespace FROM namespace_digests
       UNION SELECT '${memoryKind.name}', namespace FROM agent_quotas WHERE namespace <> ? ORDER BY 1, 2`,
    )
    .all(GLOBAL_QUOTA_NAMESPACE) as KindNamespace[];
  return { sums };
}

export function integrityNotes(statements: Statements): Answers['integrity-notes'] {
  const rows = statements.get('SELECT name, at, facts FROM integrity_notes').all() as {
    name: string;
    at: string;
    facts: string;
  }[];
  return Object.fromEntries(
    rows.map(({ name, at, facts }) => [
      name,
      { at, facts: JSON.parse(facts) as Record<string, unknown> } satisfies IntegrityNote,
    ]),
  );
}

/** Subjects whose rows were found damaged, the longest known first. */
export function listSuspects({ statements }: QueryParts, { limit }: ListSuspects): Answers['list-suspects'] {
  const rows = statements
    .get('SELECT kind, id, noted_at AS since FROM suspects ORDER BY noted_at, kind, id LIMIT ?')
    .all(limit) as (Subject & { readonly since: Instant })[];
  return { suspects: rows.map(({ kind, id, since }) => ({ subject: { kind, id }, since })) };
}
