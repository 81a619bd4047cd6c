import { linkId, linkPayload } from '../../../protocol/link.js';
import type { MemoryRow } from '../../../protocol/memory.js';
import { EPOCH_KIND } from '../../../protocol/mesh/epoch-notice.js';
import type { OperationPlace } from '../../../protocol/mesh/ranges.js';
import type {
  IntegrityNote,
  ListSuspects,
  ScrubAnswers,
  ScrubLinks,
  ScrubLog,
  ScrubLogPage,
  ScrubRows,
  ScrubTombstones,
  Suspect,
} from '../../../protocol/mesh/scrub-terms.js';
import { headerHash, memoryPayload } from '../../../protocol/operation-log.js';
import { concernsMemory, versionOf } from '../../../protocol/parse-payload.js';
import { GLOBAL_QUOTA_NAMESPACE } from '../../../protocol/quota.js';
import { ELSEWHERE } from '../../../protocol/replica.js';
import type { Crypto } from '../../../protocol/seams.js';
import { sameVector } from '../../../protocol/version-vector.js';
import { isDigest } from '../digests.js';
import { type LinkSqlRow, linkFromSql } from '../link-sql.js';
import {
  coversOf,
  hasHeader,
  KNOWN_HASH,
  type OperationSqlRow,
  operationFromSql,
  vectorOf,
} from '../operation-rows.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import type { TombstoneRow } from '../subject-reads.js';

/** Rows whose hash is not their digest, or not that of the operation that wrote them. */
export function scrubRows(
  statements: Statements,
  crypto: Crypto,
  { after, limit }: ScrubRows,
): ScrubAnswers['scrub-rows'] {
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW}, m.digest, n.name AS counted, o.payload_hash,
         o.hlc AS operation_hlc, o.seen AS operation_seen,
         EXISTS (SELECT 1 FROM memories_fts_docsize d WHERE d.id = m.rid) AS indexed
       FROM memories m LEFT JOIN namespaces n ON n.ns_id = m.ns_id
         LEFT JOIN operations o ON o.origin = m.origin AND o.origin_seq = m.origin_seq
       WHERE m.rid > ? ORDER BY m.rid LIMIT ?`,
    )
    .all(after, limit) as (SqlRow & { digest: unknown })[];
  const suspects = rows.filter((row) => !isWhole(row, crypto)).map((row) => String(row['id']));
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : Number(last['rid']);
  return { looked: rows.length, suspects, next };
}

/** A row of several versions is looked at closely in any case: its text is none of theirs alone. */
function isStamped({ hlc, origin, origin_seq, seen }: MemoryRow, row: SqlRow): boolean {
  const operation = { hlc, origin, origin_seq, seen: String(row['operation_seen']) };
  return row['operation_hlc'] === hlc && sameVector(seen, coversOf([operation]));
}

function isWhole(row: SqlRow & { digest: unknown }, crypto: Crypto): boolean {
  try {
    const memory = memoryFromSql(row);
    const payload = memoryPayload(memory);
    return (
      isDigest(row.digest, crypto.sha256(`${memory.id}\n${payload}`)) &&
      row['payload_hash'] === crypto.sha256Hex(payload) &&
      isStamped(memory, row) &&
      row['counted'] === memory.namespace &&
      row['indexed'] === 1
    );
  } catch {
    return false;
  }
}

/** Tombstones of which hash or stamps are not those of the operation that wrote them; those of several are looked at closely. */
export function scrubTombstones(
  statements: Statements,
  { after, limit }: ScrubTombstones,
): ScrubAnswers['scrub-tombstones'] {
  const rows = statements
    .get(
      `SELECT t.*, o.hlc AS operation_hlc, o.seen AS operation_seen,
         o.kind AS operation_kind, o.payload
       FROM tombstones t LEFT JOIN operations o ON o.origin = t.origin AND o.origin_seq = t.origin_seq
       WHERE t.id > ? ORDER BY t.id LIMIT ?`,
    )
    .all(after, limit) as BuriedRow[];
  const suspects = rows.filter((row) => !isBuriedWhole(row)).map(({ id }) => id);
  const next = rows.length < limit ? null : rows.at(-1)!.id;
  return { looked: rows.length, suspects, next };
}

type BuriedRow = TombstoneRow & {
  readonly id: string;
  readonly operation_hlc: string | null;
  readonly operation_seen: string | null;
  readonly operation_kind: string | null;
  readonly payload: string | null;
};

function isBuriedWhole(row: BuriedRow): boolean {
  const { id, namespace, title, hlc, origin, origin_seq, kind, reason, expires_at, version } = row;
  const operation = { hlc, origin, origin_seq, seen: String(row.operation_seen) };
  // What went elsewhere was no removal where it was written.
  const isKind = row.operation_kind === kind || reason === ELSEWHERE;
  if (row.operation_hlc !== hlc || !isKind || !sameVector(vectorOf(row.seen), coversOf([operation])))
    return false;
  if (typeof row.payload !== 'string') return true;
  const source = {
    origin,
    seq: origin_seq,
    hlc,
    kind,
    namespace,
    subject: id,
    seen: {},
    payload: row.payload,
  };
  const removal = versionOf(source)?.removal;
  return (
    removal?.title === title &&
    removal.reason === reason &&
    removal.expiresAt === expires_at &&
    removal.version === version
  );
}

export function scrubLinks(
  statements: Statements,
  crypto: Crypto,
  { after, limit }: ScrubLinks,
): ScrubAnswers['scrub-links'] {
  const rows = statements
    .get(
      `SELECT l.*, o.payload_hash FROM memory_links l
         LEFT JOIN operations o ON o.origin = l.origin AND o.origin_seq = l.origin_seq
       WHERE (l.source_id, l.target_id, l.relation) > (?, ?, ?)
       ORDER BY l.source_id, l.target_id, l.relation LIMIT ?`,
    )
    .all(...after, limit) as (LinkSqlRow & { payload_hash: string | null })[];
  const suspects: string[] = [];
  for (const row of rows) {
    const link = linkFromSql(row);
    const payload = linkPayload(link);
    const whole =
      isDigest(row.digest, crypto.sha256(`${linkId(link)}\n${payload}`)) &&
      row.payload_hash === crypto.sha256Hex(payload);
    if (!whole) suspects.push(linkId(link));
  }
  const last = rows.at(-1);
  const next =
    rows.length < limit || last === undefined
      ? null
      : ([last.source_id, last.target_id, last.relation] as const);
  return { looked: rows.length, suspects, next };
}

/** A run of lost operations that one page names at most. */
const LOST_RUN_MAX = 1000;

/** Operations against their payload hashes and chains, and subjects that have neither row nor tombstone. */
export function scrubLog(
  statements: Statements,
  crypto: Crypto,
  { after, limit }: ScrubLog,
): ScrubAnswers['scrub-log'] {
  const rows = statements
    .get('SELECT * FROM operations WHERE commit_sequence > ? ORDER BY commit_sequence LIMIT ?')
    .all(after, limit) as OperationSqlRow[];
  const suspects = new Set<string>();
  const damaged: OperationPlace[] = [];
  for (const row of rows) {
    const { origin, origin_seq: seq, subject, payload, parked, kind } = row;
    // A history that was set aside is nobody's chain.
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
    if (kind === EPOCH_KIND) continue;
    if (parked === null && (payload === null || !hasTrace(statements, row))) suspects.add(subject);
  }
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : last.commit_sequence;
  if (next === null) damaged.push(...lostEnds(statements));
  return { looked: rows.length, suspects: [...suspects], damaged, next } satisfies ScrubLogPage;
}

function hashOf(row: OperationSqlRow, crypto: Crypto): string {
  try {
    return headerHash(operationFromSql(row), crypto);
  } catch {
    return '';
  }
}

/** Operations of an origin that are missing right before one. */
function lostBefore(statements: Statements, origin: string, seq: number): OperationPlace[] {
  const before = statements
    .get('SELECT max(origin_seq) AS seq FROM operations WHERE origin = ? AND origin_seq < ?')
    .get(origin, seq) as { seq: number | null };
  const lost: OperationPlace[] = [];
  for (let at = seq - 1; at > (before.seq ?? 0) && lost.length < LOST_RUN_MAX; at -= 1)
    lost.push({ origin, seq: at });
  return lost;
}

/** Operations that are missing at the ends of the chains. */
function lostEnds(statements: Statements): OperationPlace[] {
  const ends = statements
    .get(
      `SELECT origin, seq FROM origins
       UNION ALL SELECT peer_id || '/' || db_epoch, origin_seq FROM log_state`,
    )
    .all() as OperationPlace[];
  return ends.flatMap(({ origin, seq }) => lostBefore(statements, origin, seq + 1));
}

function hasTrace(statements: Statements, { kind, subject }: OperationSqlRow): boolean {
  if (kind === 'link') {
    const [source, target, relation] = subject.split('|');
    const link = statements
      .get('SELECT 1 AS n FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?')
      .get(source, target, relation);
    return link !== undefined;
  }
  if (!concernsMemory(kind)) return true;
  const trace = statements
    .get('SELECT 1 AS n FROM memories WHERE id = @id UNION ALL SELECT 1 FROM tombstones WHERE id = @id')
    .get({ id: subject });
  return trace !== undefined;
}

/** What is counted for a namespace lies in its digest and in the use of those who hold its rows. */
export function scrubNamespaces(statements: Statements): ScrubAnswers['scrub-namespaces'] {
  const rows = statements
    .get(
      'SELECT namespace FROM namespace_digests UNION SELECT namespace FROM agent_quotas WHERE namespace <> ?',
    )
    .all(GLOBAL_QUOTA_NAMESPACE) as { namespace: string }[];
  return { namespaces: rows.map(({ namespace }) => namespace).sort() };
}

export function integrityNotes(statements: Statements): ScrubAnswers['integrity-notes'] {
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
export function listSuspects(statements: Statements, { limit }: ListSuspects): ScrubAnswers['list-suspects'] {
  const suspects = statements
    .get('SELECT subject, noted_at AS since FROM suspects ORDER BY noted_at, subject LIMIT ?')
    .all(limit) as Suspect[];
  return { suspects };
}
