import { ACCESS_COUNT_MAX, LIFE_INTERVAL_SECONDS, LIFE_STEPS } from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { instantAfter } from '../base/time.js';
import { defineCommand, TOUCH_BYTES } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { changeRows, localRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { after, type Reading } from '../decide/reads.js';
import { RECALL_MIN_SCORE } from '../ranking/likelihood.js';
import { isExpired } from './access.js';
import type { LifePolicy } from './life-policy.js';
import type { Memory } from './memory.js';
import { replaceMemory } from './memory-writes.js';
import { countAccess } from './mutations.js';
import { type MemoryLife, memoryById, memoryLife } from './reads.js';
import { withoutErased } from './recall-erasures.js';
import { recallKind } from './recall-kind.js';
import {
  type RecallConsumption,
  type RecalledMemory,
  type RecallObservation,
  recalledFrom,
  type UsedMemory,
} from './recall-ledger.js';
import { notedUses } from './recall-uses.js';
import { recordedRecalls } from './record-recalls.js';

interface Touch {
  readonly id: string;
  readonly count: number;
  readonly lastAt: Instant;
}

/** Reads of memories, combined for each memory. */
export interface TouchMemories {
  readonly kind: 'touch-memories';
  readonly touches: readonly Touch[];
  readonly policy: LifePolicy;
  /** The answers of the same recalls, for the ledger. */
  readonly observations?: readonly RecallObservation[];
  /** Recalls that led to a memory; applied after the observations. */
  readonly consumptions?: readonly RecallConsumption[];
  /** Memories that agents used, for the recalls that answered them before. */
  readonly used?: readonly UsedMemory[];
}

/** What `touch-memories` answers. */
export interface TouchMemoriesOutcome {
  readonly touched: number;
  readonly promoted: readonly string[];
  /** Rows of recalls that were used for the first time. */
  readonly used: number;
}

/**
 * Applies uses: counts the access, extends the expiry to a minimum, and promotes a mid row at its fifth access
 * (decisions, "Memory"). Counts are local; a moved tier or expiry is a replicated `life` operation.
 */
function* decideTouch(command: TouchMemories, context: DecisionContext): Deciding<TouchMemoriesOutcome> {
  const mutations: Mutation[] = [];
  const promoted: string[] = [];
  let touched = 0;
  for (const touch of yield* usesOf(command)) {
    const life = yield* memoryLife({ id: touch.id });
    if (life === null || isExpired(life, context.now)) continue;
    touched += 1;
    const accessCount = Math.min(life.access_count + touch.count, ACCESS_COUNT_MAX);
    const lastAt = life.last_accessed_at ?? '';
    const moved = movedLife(life, accessCount, command.policy, context);
    // Read the whole row only when it is written; few touches write it.
    const row = moved === null ? null : yield* memoryById(life.id);
    if (moved !== null && row !== null) {
      if (moved.tier !== undefined) promoted.push(row.id);
      mutations.push(
        replaceMemory(row, { ...row, ...moved }, { word: 'life', reembed: false, lifeAt: context.now }),
      );
    }
    mutations.push(countAccess({ id: life.id, accessCount, lastAccessedAt: laterOf(touch.lastAt, lastAt) }));
  }
  const { observations = [], consumptions = [], used = [] } = command;
  const recalls = yield* withoutErased({ observations, consumptions });
  const recorded = yield* recordedRecalls(recalls.observations);
  // The recall that answered a memory may be recorded by this command.
  if (used.length > 0) yield* after(recorded);
  else mutations.push(...recorded);
  mutations.push(...recalls.consumptions.map(consumed));
  const noted = yield* notedUses(used);
  return decided({ touched, promoted, used: noted.rows }, [...mutations, ...noted.changes]);
}

/** Which rows of the ledger a consumption is about: a recall keeps only the first memory that it led to. */
const unused = ({ recallId, agentId }: Pick<RecallConsumption, 'recallId' | 'agentId'>) => ({
  ...{ recall_id: recallId, consumed_at: null },
  ...(agentId === null ? {} : { agent_id: agentId }),
});

const consumed = (consumption: RecallConsumption): Mutation =>
  changeRows(recallKind, unused(consumption), {
    ...{ consumed_at: consumption.consumedAt, consumed_by_memory_id: consumption.memoryId },
  });

/**
 * The touches, and those of the recalls that led to a memory: their rows above the cut were used. The first of them
 * counted when it was shown.
 */
function* usesOf({ touches, observations = [], consumptions = [] }: TouchMemories): Reading<Touch[]> {
  const uses = new Map(touches.map((touch) => [touch.id, touch]));
  const named = new Map(consumptions.map((consumption) => [consumption.recallId, consumption]));
  for (const { recallId, agentId, consumedAt } of named.values()) {
    const where = unused({ recallId, agentId });
    const [stored] = yield* localRows(recallKind, { where, limit: 1, only: ['memories'] });
    const recalled =
      stored === undefined ? recalledNow(observations, recallId, agentId) : recalledFrom(stored.memories);
    for (const [id, score] of recalled.slice(1)) {
      if (score < RECALL_MIN_SCORE) continue;
      const use = uses.get(id);
      uses.set(id, { id, count: (use?.count ?? 0) + 1, lastAt: laterOf(use?.lastAt ?? '', consumedAt) });
    }
  }
  return [...uses.values()];
}

/** A recall that is recorded with the same command. */
function recalledNow(
  observations: readonly RecallObservation[],
  recallId: string,
  agentId: AgentId | null,
): RecalledMemory[] {
  const found = observations.find((one) => one.recallId === recallId);
  if (found === undefined || (agentId !== null && found.agentId !== agentId)) return [];
  return found.memoryIds.map((id, at) => [id, found.scores[at] ?? 0]);
}

/** The fields that a touch changes besides the count; null when it changes only the count. */
function movedLife(
  life: MemoryLife,
  accessCount: number,
  policy: LifePolicy,
  context: DecisionContext,
): Partial<Pick<Memory, 'tier' | 'expires_at'>> | null {
  if (life.tier === 'mid' && accessCount >= policy.promoteAccessCount) {
    return { tier: 'long', expires_at: null };
  }
  const extendSeconds = policy.extendSeconds[life.tier];
  if (extendSeconds === null || life.expires_at === null) return null;
  const floor = instantAfter(context.now, extendSeconds);
  if (life.expires_at >= floor) return null;
  // Without this, a row that is read all the time would write an operation at every read. At least half the extension
  // is always left, so a row in use cannot expire because of this.
  const apart = Math.max(LIFE_INTERVAL_SECONDS, extendSeconds / LIFE_STEPS);
  const recently = instantAfter(life.life_at ?? life.created_at, apart) > context.now;
  if (recently && life.expires_at >= instantAfter(context.now, extendSeconds / 2)) return null;
  return { expires_at: floor };
}

/** Canonical instants compare as text. */
function laterOf(a: string, b: string): string {
  if (a > b) return a;
  return b;
}

export const touchMemoriesCommand = defineCommand({
  kind: 'touch-memories',
  decide: decideTouch,
  gate: 'no memory',
  bytes: ({ touches, observations = [], used = [] }) =>
    observations.reduce(
      (sum, { memoryIds, trace }) => sum + TOUCH_BYTES * memoryIds.length + 2 * (trace?.query?.length ?? 0),
      TOUCH_BYTES * (touches.length + used.length),
    ),
});
