import { hlcMs } from '../../../protocol/base/hlc.js';
import type { Hlc, Origin } from '../../../protocol/base/meanings.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { operationId } from '../../../protocol/log/operation-log.js';
import { peerOfOrigin } from '../../../protocol/log/wire-operation.js';
import { isVisible } from '../../../protocol/memory/access.js';
import { type MemoryImage, memoryKind } from '../../../protocol/memory/memory-kind.js';
import type { MemoryHistory, MemoryVersion } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { nameMemory } from './get.js';
import type { QueryParts } from './query-parts.js';

interface LoggedVersion {
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly hlc: Hlc;
  readonly kind: string;
  readonly payload: string | null;
  readonly payload_hash: string;
}

/** The versions of a memory, the newest first, each as far as the viewer could see it then. */
export function memoryHistory(parts: QueryParts, query: MemoryHistory): Result<Answers['memory-history']> {
  const named = nameMemory(parts, query);
  if (!named.ok) return failed(named.error);
  const { id } = named.value;
  const rows = parts.statements
    .get(
      `SELECT origin, origin_seq, hlc, kind, payload, payload_hash FROM operations
       WHERE subject = ? AND parked IS NULL AND kind IN ('store', 'update', 'promote', 'restore')
       ORDER BY hlc DESC, origin DESC LIMIT ?`,
    )
    .all(id, query.limit + 1) as LoggedVersion[];
  const versions = rows.slice(0, query.limit).map(
    (row): MemoryVersion => ({
      op_id: operationId(row.origin, row.origin_seq),
      change: row.kind,
      at: instantFromMs(hlcMs(row.hlc)),
      node: peerOfOrigin(row.origin),
      memory: seen(imageOf(parts, row), query),
    }),
  );
  return ok({ id, versions, truncated: rows.length > query.limit });
}

const seen = (image: MemoryImage | null, { viewer }: MemoryHistory): MemoryImage | null =>
  image !== null && isVisible(image, viewer) ? image : null;

/** The image of a version; null when the log dropped or lost it. */
function imageOf({ crypto }: QueryParts, { payload, payload_hash: hash }: LoggedVersion): MemoryImage | null {
  if (payload === null || crypto.sha256Hex(payload) !== hash) return null;
  return memoryKind.payload.parse(JSON.parse(payload) as Record<string, unknown>);
}
