import type { Instant } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { OperationPlace } from '../log/ranges.js';
import { memoryKind } from '../memory/memory-kind.js';
import { removeMemory } from '../memory/memory-writes.js';
import { purgeArchived } from '../memory/mutations.js';
import { purgeableMemories, removableForRoom } from '../memory/reads.js';
import { giveWay } from '../memory/store.js';
import { dropPayloads } from './mutations.js';
import { logOf, writesAlone } from './reads.js';

/**
 * What goes first when the database has reached its limit, in this order (`[storage] max_bytes`). `history`: texts of the
 * operation log that another version has superseded, while no other node could ask for them.
 */
export const ROOM_STEPS = ['history', 'expired', 'archived', 'short', 'unused'] as const;
export type RoomStep = (typeof ROOM_STEPS)[number];

/** Memories that go before the database takes more than its limit. */
export interface MakeRoom {
  readonly kind: 'make-room';
  readonly step: Exclude<RoomStep, 'history'>;
  /** `unused`: only memories that nobody changed or read since. */
  readonly unusedSince: Instant;
  readonly limit: number;
}

/** What `make-room` answers. */
export interface MakeRoomOutcome {
  readonly removed: number;
  readonly more: boolean;
}

/**
 * Removes some memories that nothing pins, or archived copies, without a copy. The removal reaches every node, as a deletion
 * does. Where no other node could ask for them, the texts of the removed memories leave the operation log too.
 */
function* decideMakeRoom(
  { step, unusedSince, limit }: MakeRoom,
  { now }: DecisionContext,
): Deciding<MakeRoomOutcome> {
  if (step === 'archived') {
    const rows = yield* purgeableMemories({ before: now, ownerId: null, limit });
    return decided(
      { removed: rows.length, more: rows.length === limit },
      rows.map((row) => purgeArchived({ row, reason: 'retention' })),
    );
  }
  const rows = yield* removableForRoom({ step, unusedSince, limit });
  const places: OperationPlace[] = [];
  if (yield* writesAlone()) {
    for (const { id } of rows) {
      const operations = yield* logOf({ kind: memoryKind.name, id });
      for (const { origin, seq, payload } of operations) if (payload !== null) places.push({ origin, seq });
    }
  }
  return decided({ removed: rows.length, more: rows.length === limit }, [
    ...rows.map((row) =>
      step === 'expired'
        ? giveWay(row, false)
        : removeMemory(row, { word: 'delete', reason: 'room', archive: false }),
    ),
    ...(places.length === 0 ? [] : [dropPayloads({ places })]),
  ]);
}

export const makeRoomCommand = defineCommand({
  kind: 'make-room',
  decide: decideMakeRoom,
  gate: 'upkeep',
  audit: ({ step }, count) => ({
    ...{ agentId: 'system', type: 'memory.forgotten', payload: { count, reason: 'room', step } },
  }),
});

/** True for a change that makes the database larger: a new row, or a longer text. A read of a memory is none. */
export function takesRoom(mutation: Mutation): boolean {
  if (mutation.mutation !== 'write' || mutation.word === 'life') return false;
  const { before, image } = mutation;
  return before === null || JSON.stringify(image).length > JSON.stringify(before).length;
}

/** The limit of a database, its use, and what would go; the sizes are those of the texts. */
export interface RoomPlan {
  /** Bytes in use, without the pages that are free; null where the engine does not say it. */
  readonly used_bytes: number | null;
  readonly file_bytes: number;
  readonly steps: readonly { readonly step: RoomStep; readonly memories: number; readonly bytes: number }[];
}

/** Asks for the plan. */
export interface PlanRoom {
  readonly kind: 'plan-room';
  readonly unusedSince: Instant;
  readonly now: Instant;
}

/** Asks how much of the database is in use, and whether no other node has written here or was written to. */
export interface AskRoom {
  readonly kind: 'used-room';
}
