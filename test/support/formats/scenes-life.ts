import { instantFromMs } from '../../../protocol/base/time.js';
import type { PurgeReason } from '../../../protocol/memory/memory-kind.js';
import { OPERATOR, updating } from '../memories.js';
import { type FormatCast, HOUR_MS } from './format-cast.js';
import type { FormatNode } from './format-node.js';

const TTL_SECONDS = { short: 6 * 3600, mid: 7 * 86_400, long: null };
const LIFE_POLICY = {
  extendSeconds: { short: 3600, mid: 86_400, long: null },
  promoteAccessCount: 2,
} as const;

/** A memory is archived and purged. */
export async function purges(cast: FormatCast): Promise<void> {
  const { ash } = cast;
  const purged = await cast.store(ash, { title: 'Archived and purged' });
  await cast.run(ash, { kind: 'archive-memories', ids: [purged], reason: 'superseded', viewer: OPERATOR });
  await purge(cast, ash, 'request');
}

/** Purges everything in a node's archive. */
async function purge(cast: FormatCast, node: FormatNode, reason: PurgeReason): Promise<void> {
  const before = instantFromMs(cast.nowMs);
  const ownerId = null;
  await cast.run(node, { kind: 'purge-archive', before, ownerId, reason, limit: 100, by: 'human:alice' });
}

/** Memories are archived, brought back, purged for their age, and expire. */
export async function archive(cast: FormatCast): Promise<void> {
  const { ash, birch } = cast;
  const [kept, back, old] = [
    await cast.store(ash, { title: 'Archived', content: 'lies in the archive', tags: ['x'], tier: 'long' }),
    await cast.store(ash, { title: 'Archived and restored', tier: 'long' }),
    await cast.store(birch, { title: 'Purged elsewhere for its age' }),
  ];
  await cast.run(ash, { kind: 'archive-memories', ids: [kept, back], reason: 'archive', viewer: OPERATOR });
  await cast.run(ash, {
    kind: 'restore-memory',
    id: back,
    ttlSeconds: TTL_SECONDS,
    viewer: OPERATOR,
    archive: true,
  });
  await cast.run(birch, { kind: 'archive-memories', ids: [old], reason: 'archive', viewer: OPERATOR });
  await cast.exchange(ash, birch, cast.cedar);
  await purge(cast, birch, 'retention');
  const soon = instantFromMs(cast.nowMs + HOUR_MS);
  await cast.store(ash, { title: 'Expired with a copy', tier: 'short', expires_at: soon });
  await cast.store(birch, { title: 'Expired while others read', tier: 'short', expires_at: soon });
  cast.tick(2 * HOUR_MS);
  await cast.run(ash, { kind: 'expire-memories', limit: 100, archive: true });
  await cast.run(birch, { kind: 'expire-memories', limit: 100, archive: false });
  await cast.exchange(ash, birch, cast.cedar);
}

/** Memories are read so often that one lives longer and another is promoted. */
export async function reads(cast: FormatCast): Promise<void> {
  const { ash } = cast;
  const read = await cast.store(ash, {
    title: 'Read often',
    tier: 'short',
    expires_at: instantFromMs(cast.nowMs + HOUR_MS),
  });
  const promoted = await cast.store(ash, {
    title: 'Read until it stayed',
    tier: 'mid',
    expires_at: instantFromMs(cast.nowMs + HOUR_MS),
  });
  const touched = (each: string, count: number) => ({
    id: each,
    count,
    lastAt: instantFromMs(cast.nowMs + 1000),
  });
  await cast.run(ash, {
    kind: 'touch-memories',
    touches: [touched(read, 1), touched(promoted, 3)],
    policy: LIFE_POLICY,
    observations: [
      {
        recallId: 'recall-1',
        agentId: 'ai:author',
        retriever: 'keyword',
        observedAt: instantFromMs(cast.nowMs + 1000),
        memoryIds: [read, promoted],
        scores: [0.75, 0.5],
      },
    ],
    consumptions: [
      {
        recallId: 'recall-1',
        agentId: 'ai:author',
        memoryId: promoted,
        consumedAt: instantFromMs(cast.nowMs + 1000),
      },
    ],
  });
}

/** A superseded payload is let go, as it is when it is old; its header stays. */
export async function letGo(cast: FormatCast): Promise<void> {
  const { ash } = cast;
  const id = await cast.store(ash, { title: 'Stored long ago', content: 'let go', tier: 'long' });
  const { heads, self } = await cast.origins(ash);
  await cast.run(ash, updating(id, { content: 'edited since' }));
  await cast.run(ash, { kind: 'drop-payloads', places: [{ origin: self, seq: heads[self]!.seq }] });
}
