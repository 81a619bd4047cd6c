import type { LifePolicy, Outcomes, TouchMemories } from '../commands.js';
import { ACCESS_COUNT_MAX, LIFE_INTERVAL_SECONDS } from '../limits.js';
import type { Memory, MemoryRow } from '../memory.js';
import { instantAfter } from '../time.js';
import { isExpired } from './access.js';
import { type Deciding, type DecisionContext, decided, type Mutation, memoryById } from './decision.js';

/**
 * Applies reads that have happened: counts the access, extends the expiry as a floor, and promotes a mid row at its
 * fifth access (decisions, "Memory"). Counts are local; a moved tier or expiry is a replicated `life` operation.
 */
export function* decideTouch(
  command: TouchMemories,
  context: DecisionContext,
): Deciding<Outcomes['touch-memories']> {
  const mutations: Mutation[] = [];
  const promoted: string[] = [];
  let touched = 0;
  for (const touch of command.touches) {
    const row = yield* memoryById(touch.id);
    if (row === null || isExpired(row, context.now)) continue;
    touched += 1;
    const accessCount = Math.min(row.access_count + touch.count, ACCESS_COUNT_MAX);
    const lastAt = row.last_accessed_at ?? '';
    const moved = movedLife(row, accessCount, command.policy, context);
    if (moved !== null) {
      if (moved.tier !== row.tier) promoted.push(row.id);
      mutations.push({
        mutation: 'replace-memory',
        operation: 'life',
        before: row,
        memory: moved,
        reembed: false,
        lifeAt: context.now,
      });
    }
    mutations.push({
      mutation: 'count-access',
      id: row.id,
      accessCount,
      lastAccessedAt: laterOf(touch.lastAt, lastAt),
    });
  }
  for (const observation of command.observations ?? []) {
    mutations.push({ mutation: 'record-recall', observation });
  }
  for (const consumption of command.consumptions ?? []) {
    mutations.push({ mutation: 'consume-recall', consumption });
  }
  return decided({ touched, promoted }, mutations);
}

function movedLife(
  row: MemoryRow,
  accessCount: number,
  policy: LifePolicy,
  context: DecisionContext,
): Memory | null {
  if (row.tier === 'mid' && accessCount >= policy.promoteAccessCount) {
    return { ...row, tier: 'long', expires_at: null };
  }
  const extendSeconds = policy.extendSeconds[row.tier];
  if (extendSeconds === null || row.expires_at === null) return null;
  const floor = instantAfter(context.now, extendSeconds);
  if (row.expires_at >= floor) return null;
  // A row that is read all the time would otherwise write an operation with every read. Half the extension is
  // always left, so a row in use cannot expire for this.
  const recently = row.life_at !== null && instantAfter(row.life_at, LIFE_INTERVAL_SECONDS) > context.now;
  if (recently && row.expires_at >= instantAfter(context.now, extendSeconds / 2)) return null;
  return { ...row, expires_at: floor };
}

/** Canonical instants compare as text. */
function laterOf(a: string, b: string): string {
  if (a > b) return a;
  return b;
}
