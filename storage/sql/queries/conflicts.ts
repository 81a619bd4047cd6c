import { hlcMs } from '../../../protocol/base/hlc.js';
import type { Hlc, Origin, SubjectId } from '../../../protocol/base/meanings.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { operationId } from '../../../protocol/log/operation-log.js';
import { peerOfOrigin } from '../../../protocol/log/wire-operation.js';
import { memoryKind } from '../../../protocol/memory/memory-kind.js';
import type { Conflict, Contents, ListConflicts } from '../../../protocol/replication/queries.js';
import type { QueryParts } from './query-parts.js';

interface ConflictRow {
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly kind: string;
  readonly subject: SubjectId;
  readonly namespace: string;
  readonly winner: string;
  /** Null when the log no longer has the operation. */
  readonly hlc: Hlc | null;
  readonly payload: unknown;
}

interface HiddenRow {
  readonly id: SubjectId;
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  readonly conflict_of: string;
}

/** Edits of one memory that are looked at for the lost text. */
const LATER_EDITS_MAX = 100;

/** Versions that lost, then rows whose title another row holds. */
export function listConflicts(parts: QueryParts, { limit, open }: ListConflicts): readonly Conflict[] {
  const found: Conflict[] = [];
  for (let offset = 0; found.length < limit; offset += limit) {
    const rows = parts.statements
      .get(
        `SELECT c.*, o.hlc, o.payload FROM conflicts c
         LEFT JOIN operations o ON o.origin = c.origin AND o.origin_seq = c.origin_seq
         ORDER BY c.namespace, c.subject, c.origin, c.origin_seq LIMIT ? OFFSET ?`,
      )
      .all(limit, offset) as ConflictRow[];
    const conflicts = rows.map((row) => lostVersion(parts, row));
    found.push(...conflicts.filter(({ taken }) => open !== true || !taken));
    if (rows.length < limit) break;
  }
  const hidden = parts.statements
    .get(
      `SELECT id, namespace, title, content, conflict_of FROM memories WHERE conflict_of <> id
       ORDER BY namespace, title, id LIMIT ?`,
    )
    .all(Math.max(0, limit - found.length)) as HiddenRow[];
  return [...found.slice(0, limit), ...hidden.map((row) => hiddenRow(parts, row))];
}

function lostVersion(parts: QueryParts, row: ConflictRow): Conflict {
  const lost = contentsIn(row.payload);
  return {
    kind: 'version',
    of: row.kind,
    subject: row.subject,
    namespace: row.namespace,
    op_id: operationId(row.origin, row.origin_seq),
    winner: row.winner,
    lost_at: row.hlc === null ? null : instantFromMs(hlcMs(row.hlc)),
    lost_by: peerOfOrigin(row.origin),
    lost,
    present: presentOf(parts, row),
    taken: row.hlc !== null && lost !== null && wasWrittenAgain(parts, row.subject, row.hlc, lost),
  };
}

const hiddenRow = (
  parts: QueryParts,
  { id, namespace, title, content, conflict_of: winner }: HiddenRow,
): Conflict => ({
  kind: 'title',
  of: memoryKind.name,
  subject: id,
  namespace,
  op_id: null,
  winner,
  lost_at: null,
  lost_by: null,
  lost: { title, content },
  present: presentOf(parts, { kind: memoryKind.name, subject: winner }),
  taken: false,
});

function presentOf(
  { statements }: QueryParts,
  { kind, subject }: Pick<ConflictRow, 'kind'> & { readonly subject: string },
) {
  if (kind !== memoryKind.name) {
    const record = statements.get('SELECT payload FROM records WHERE kind = ? AND id = ?').get(kind, subject);
    return contentsIn((record as { payload: unknown } | undefined)?.payload);
  }
  const row = statements.get('SELECT title, content FROM memories WHERE id = ?').get(subject);
  return (row as Contents | undefined) ?? null;
}

/** True when a later edit of a memory has the title and the text of the lost one. */
function wasWrittenAgain({ statements }: QueryParts, subject: string, hlc: Hlc, lost: Contents): boolean {
  const later = statements
    .get(
      `SELECT payload FROM operations WHERE subject = ? AND hlc > ? AND kind = 'update' AND parked IS NULL
       ORDER BY commit_sequence DESC LIMIT ?`,
    )
    .all(subject, hlc, LATER_EDITS_MAX) as { payload: unknown }[];
  return later.some(({ payload }) => {
    const edit = contentsIn(payload);
    return edit !== null && edit['title'] === lost['title'] && edit['content'] === lost['content'];
  });
}

/** The object in a payload; null when the log dropped it, or it cannot be read. */
function contentsIn(payload: unknown): Contents | null {
  try {
    return JSON.parse(String(payload)) as Contents | null;
  } catch {
    return null;
  }
}
