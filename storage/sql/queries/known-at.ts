import { formatHlc, type Hlc } from '../../../protocol/base/hlc.js';
import { subtreeRoot } from '../../../protocol/base/ids.js';
import { KNOWN_AT_CHANGED_MAX, PAGE_BYTES_MAX } from '../../../protocol/base/limits.js';
import type { MemoryId } from '../../../protocol/base/meanings.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { ownerOf } from '../../../protocol/identity/owner.js';
import { wordsOf } from '../../../protocol/kinds/kind.js';
import type { LiveVersion, Version } from '../../../protocol/kinds/version.js';
import { isExpired, isVisible } from '../../../protocol/memory/access.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { type MemoryImage, memoryKind, memoryOf } from '../../../protocol/memory/memory-kind.js';
import type { MemoriesKnownAt, MemoryFilter } from '../../../protocol/memory/queries.js';
import { validityAt } from '../../../protocol/memory/validity.js';
import type { Answers } from '../../../protocol/release.js';
import { versionOf } from '../../../protocol/replication/payloads.js';
import { maximal, settle } from '../../../protocol/replication/versions.js';
import { BELOW, memoryFilter } from '../filter.js';
import { type OperationSqlRow, operationFromSql } from '../operation-rows.js';
import { readPage } from '../read-page.js';
import { SELECT_ROW, type SqlRow } from '../rows.js';
import { visibleArchived, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** What orders the list, and the memory where it is not that of the row. */
interface Entry {
  readonly priority: number;
  readonly updated_at: string;
  readonly id: string;
  readonly rid: number;
  readonly was: MemoryRow | null;
}

/**
 * The memories as they were known at an instant, in the order of a list: those of today and those in the archive, as far as the
 * viewer may see them now and could see them then. A memory that was removed for good is not shown. A row that did not change
 * since answers for itself; what another one was is read from the log.
 */
export function memoriesKnownAt(
  parts: QueryParts,
  { filter, knownAt }: MemoriesKnownAt,
): Result<Answers['memories-known-at']> {
  const known = formatHlc(Date.parse(knownAt), 99_999);
  const changed = changedSince(parts, filter, knownAt, known);
  if (changed.length > KNOWN_AT_CHANGED_MAX) {
    const message = `more than ${KNOWN_AT_CHANGED_MAX} memories changed since known_at: name a smaller namespace, or a later instant`;
    return fail('VALIDATION_FAILED', message, { fields: ['known_at'] });
  }
  const entries = [...unchangedSince(parts, filter, known)];
  let notKept = 0;
  for (const id of changed) {
    const was = knownMemory(parts, id, known);
    if (was === 'not kept') notKept += 1;
    else if (was !== null && passes(was, filter, knownAt)) {
      entries.push({ id, rid: 0, priority: was.priority, updated_at: was.updated_at, was });
    }
  }
  const { offset, limit } = filter;
  const page = entries.sort(inOrder).slice(offset, offset + limit);
  const { memories, looked } = rowsOf(parts, page, filter);
  const nextOffset = entries.length > offset + looked && looked > 0 ? offset + looked : null;
  return ok({ memories, nextOffset, notKept });
}

const inOrder = (a: Entry, b: Entry): number =>
  b.priority - a.priority ||
  (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : a.id < b.id ? -1 : 1);

/** Rows that nothing changed since. */
function unchangedSince({ statements }: QueryParts, filter: MemoryFilter, known: Hlc): Entry[] {
  const { sql, parameters } = memoryFilter('m', filter);
  return statements
    .get(
      `SELECT m.id, m.rid, m.priority, m.updated_at, NULL AS was FROM memories m WHERE ${sql} AND m.hlc <= @known
       ORDER BY m.priority DESC, m.updated_at DESC, m.id LIMIT @limit`,
    )
    .all({ ...parameters, known, limit: filter.offset + filter.limit + 1 }) as Entry[];
}

/** Memories that changed since, and that are or were in the namespace of the filter. */
function changedSince(
  { statements }: QueryParts,
  { namespace, viewer, now }: MemoryFilter,
  knownAt: string,
  known: Hlc,
): MemoryId[] {
  const gate = visibleRows('m', viewer, now);
  const archived = visibleArchived('a', viewer);
  const root = namespace === null ? null : subtreeRoot(namespace);
  const named = root === null ? 'name = @namespace' : `(name = @namespace OR ${BELOW})`;
  const within = (id: string) =>
    namespace === null
      ? ''
      : `AND EXISTS (SELECT 1 FROM (SELECT namespace AS name FROM operations WHERE subject = ${id}) AS placed WHERE ${named})`;
  const rows = statements
    .get(
      `SELECT m.id FROM memories m WHERE m.hlc > @known AND ${gate.sql} ${within('m.id')}
       UNION ALL
       SELECT a.id FROM archived_memories a WHERE a.archived_at > @knownAt AND ${archived.sql} ${within('a.id')}
       LIMIT @limit`,
    )
    .all({
      ...gate.parameters,
      ...archived.parameters,
      ...(namespace === null ? {} : { namespace: root ?? namespace }),
      ...{ known, knownAt, limit: KNOWN_AT_CHANGED_MAX + 1 },
    }) as { readonly id: MemoryId }[];
  return [...new Set(rows.map(({ id }) => id))];
}

const VERSION_WORDS = wordsOf(memoryKind, 'image', 'removal')
  .map((word) => `'${word}'`)
  .join(', ');

/** A memory as the operations up to a stamp made it: null before its creation and after its removal. */
function knownMemory(
  { statements, crypto }: QueryParts,
  id: MemoryId,
  known: Hlc,
): MemoryRow | null | 'not kept' {
  const headers = statements
    .get(
      `SELECT commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash, prev_hash,
         NULL AS payload, parked, NULL AS head_signature FROM operations
       WHERE subject = @id AND hlc <= @known AND parked IS NULL AND kind IN (${VERSION_WORDS})`,
    )
    .all({ id, known }) as OperationSqlRow[];
  const versions: Version<MemoryImage>[] = [];
  for (const header of maximal(headers.map(operationFromSql))) {
    const { payload } = statements
      .get('SELECT payload FROM operations WHERE origin = @origin AND origin_seq = @seq')
      .get({ origin: header.origin, seq: header.seq }) as { readonly payload: string | null };
    if (payload === null || crypto.sha256Hex(payload) !== header.payloadHash) return 'not kept';
    const version = versionOf(memoryKind, memoryKind.words[header.kind] ?? null, { ...header, payload });
    if (version === null) return 'not kept';
    versions.push(version as Version<MemoryImage>);
  }
  if (versions.length === 0) return null;
  const settled = settle(memoryKind, versions);
  if (settled.image === null) return null;
  return { ...memoryOf(settled as LiveVersion<MemoryImage>, null), rid: 0, life_at: null };
}

/** The filter of a list once more, over a memory of then. */
function passes(memory: MemoryRow, filter: MemoryFilter, knownAt: string): boolean {
  const { namespace, kinds = null, asOf = null } = filter;
  const root = namespace === null ? null : subtreeRoot(namespace);
  const place = root ?? namespace;
  return (
    isVisible(memory, filter.viewer) &&
    !isExpired(memory, knownAt) &&
    (place === null ||
      memory.namespace === place ||
      (root !== null && memory.namespace.startsWith(`${root}/`))) &&
    (filter.tier === null || memory.tier === filter.tier) &&
    (filter.minPriority === null || memory.priority >= filter.minPriority) &&
    (filter.since === null || memory.created_at >= filter.since) &&
    (filter.until === null || memory.created_at <= filter.until) &&
    (kinds === null || kinds.includes(memory.kind)) &&
    (filter.agentId === null || ownerOf(memory) === filter.agentId) &&
    (filter.tags.length === 0 || memory.tags.some((tag) => filter.tags.includes(tag))) &&
    (asOf === null || validityAt(memory, asOf) === 'valid')
  );
}

/** The memories of a page, until their texts fill it; the first one is always taken. */
function rowsOf(
  { statements }: QueryParts,
  page: readonly Entry[],
  { viewer, now }: MemoryFilter,
): { readonly memories: readonly MemoryRow[]; readonly looked: number } {
  const gate = visibleRows('m', viewer, now);
  const rids = page.filter(({ was }) => was === null).map(({ rid }) => rid);
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW} FROM json_each(@rids) AS listed CROSS JOIN memories m ON m.rid = CAST(listed.value AS INTEGER)
       WHERE ${gate.sql}`,
    )
    .iterate({ ...gate.parameters, rids: `[${rids.join(',')}]` }) as Iterable<SqlRow>;
  const found = readPage(cursor);
  const live = new Map(found.rows.map((row) => [row.rid, row]));
  const memories: MemoryRow[] = [];
  let [bytes, looked] = [0, 0];
  for (const { rid, was } of page) {
    const memory = was ?? live.get(rid);
    // What the page of live rows left out, or cannot be read.
    if (memory === undefined && found.truncated) break;
    bytes += memory === undefined ? 0 : Buffer.byteLength(memory.content);
    if (bytes > PAGE_BYTES_MAX && memories.length > 0) break;
    looked += 1;
    if (memory !== undefined) memories.push(memory);
  }
  return { memories, looked };
}
