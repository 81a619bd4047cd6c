import { formatHlc } from '../../../protocol/base/hlc.js';
import { parseRfc3339Ms } from '../../../protocol/base/time.js';
import { AGENTS_NAMESPACE } from '../../../protocol/identity/agent.js';
import { memoryKind } from '../../../protocol/memory/memory-kind.js';
import { standardKind } from '../../../protocol/memory/standard-kind.js';
import { pendingKind } from '../../../protocol/policies/pending-kind.js';
import type { Answers } from '../../../protocol/release.js';
import type { PlanRoom, RoomStep } from '../../../protocol/replication/make-room.js';
import { memberSql } from '../kinds/record-table.js';
import { NO_SUSPECT } from '../suspects.js';
import type { QueryParts } from './query-parts.js';
import { supersededSize } from './superseded.js';

/** Nothing names the memory: no link, no standard, no pending action; and it is none of the service's own. */
const UNPINNED = `substr(m.namespace, 1, 1) <> '_'
  AND NOT EXISTS (SELECT 1 FROM memory_links l WHERE l.source_id = m.id)
  AND NOT EXISTS (SELECT 1 FROM memory_links l WHERE l.target_id = m.id)
  AND NOT EXISTS (SELECT 1 FROM records s WHERE s.kind = '${standardKind.name}' AND ${memberSql('standard_id', 's')} = m.id)
  AND NOT EXISTS (SELECT 1 FROM records p WHERE p.kind = '${pendingKind.name}' AND replace(p.payload, m.id, '') <> p.payload)`;

const LIVE = '(m.expires_at IS NULL OR m.expires_at > @now)';

/** Nobody has yet to choose between its versions. */
const UNDISPUTED = `NOT EXISTS (SELECT 1 FROM conflicts c WHERE c.kind = '${memoryKind.name}' AND c.subject = m.id)`;

/** Which memories a step takes, and in which order. */
const STEPS = {
  expired: {
    where: `m.expires_at IS NOT NULL AND m.expires_at <= @now AND m.namespace <> '${AGENTS_NAMESPACE}' AND ${UNDISPUTED}`,
    order: 'm.expires_at',
  },
  short: {
    where: `m.tier = 'short' AND ${LIVE} AND ${UNPINNED} AND ${UNDISPUTED}`,
    order: 'm.expires_at, m.rid',
  },
  unused: {
    // The least important go first, and of those the ones that were not changed for the longest time.
    where: `m.tier <> 'short' AND m.updated_at < @unusedSince
      AND (m.last_accessed_at IS NULL OR m.last_accessed_at < @unusedSince) AND ${LIVE} AND ${UNPINNED} AND ${UNDISPUTED}`,
    order: 'm.priority, m.updated_at',
  },
} as const;

/** Reads some of the memories that a step takes, the first to go first. */
export const removableSql = (step: keyof typeof STEPS, columns: string): string =>
  `SELECT ${columns} FROM memories m WHERE ${STEPS[step].where} AND ${NO_SUSPECT} ORDER BY ${STEPS[step].order} LIMIT @limit`;

const BYTES = 'coalesce(sum(length(m.title) + length(m.content) + length(m.metadata)), 0) AS bytes';

/** How many memories each step would take at most, with the size of their texts. */
export function planRoom(parts: QueryParts, query: PlanRoom): Answers['plan-room'] {
  const { db, statements } = parts;
  const counted = (step: Exclude<RoomStep, 'history'>, from: string, where: string) => {
    const row = statements.get(`SELECT count(*) AS memories, ${BYTES} FROM ${from} m WHERE ${where}`).get({
      ...(where.includes('@now') ? { now: query.now } : {}),
      ...(where.includes('@unusedSince') ? { unusedSince: query.unusedSince } : {}),
    }) as { readonly memories: number; readonly bytes: number };
    return { step, ...row };
  };
  return {
    used_bytes: db.usedBytes(),
    file_bytes: db.sizeBytes(),
    steps: [
      {
        step: 'history',
        ...(isAlone(parts) ? supersededSize(parts, formatHlc(parseRfc3339Ms(query.now) ?? 0, 0)) : NOTHING),
      },
      counted('expired', 'memories', STEPS.expired.where),
      counted('archived', 'archived_memories', 'TRUE'),
      counted('short', 'memories', STEPS.short.where),
      counted('unused', 'memories', STEPS.unused.where),
    ],
  };
}

/** 1 while no other node has written here or was written to. */
export const ALONE =
  'SELECT CASE WHEN EXISTS (SELECT 1 FROM origins) OR EXISTS (SELECT 1 FROM peer_progress) THEN 0 ELSE 1 END';

const isAlone = ({ statements }: Pick<QueryParts, 'statements'>): boolean =>
  statements.get(ALONE).pluck().get() === 1;

const NOTHING = { memories: 0, bytes: 0 } as const;

/** How much of the database is in use. */
export const usedRoom = ({ db, statements }: QueryParts): Answers['used-room'] => ({
  used_bytes: db.usedBytes(),
  alone: isAlone({ statements }),
});
