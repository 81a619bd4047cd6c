import { RECALL_USE_LOOKS_MAX, RECALL_USE_SECONDS } from '../base/ledger-limits.js';
import type { AgentId } from '../base/meanings.js';
import { instantAfter } from '../base/time.js';
import { changeRows, localRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { recallKind, type StoredRecall } from './recall-kind.js';
import { askerOf, type KeptUse, recalledFrom, type UsedMemory, usesFrom } from './recall-ledger.js';

/** What of a recall is compared with the uses of its agent. */
interface Looked {
  readonly recall: StoredRecall;
  readonly ids: ReadonlySet<string>;
  readonly uses: KeptUse[];
  /** How many uses were known before. */
  readonly known: number;
}

/** The changes that note uses, and how many rows of recalls were used for the first time. */
export interface NotedUses {
  readonly changes: readonly Mutation[];
  readonly rows: number;
}

/** Notes each use at the newest recall of the same agent that answered the memory not long before. */
export function* notedUses(used: readonly UsedMemory[]): Reading<NotedUses> {
  const byAgent = new Map<AgentId, UsedMemory[]>();
  for (const use of used) byAgent.set(use.agentId, [...(byAgent.get(use.agentId) ?? []), use]);
  const changes: Mutation[] = [];
  let rows = 0;
  for (const [agentId, uses] of byAgent) {
    const recent = (yield* recentRecalls(agentId)).map(lookedFrom);
    for (const use of uses) note(use, recent);
    for (const { recall, uses: all, known } of recent) {
      if (all.length === known) continue;
      const distinct = new Set(all.map(([id]) => id)).size;
      rows += distinct - (recall.used ?? 0);
      changes.push(
        changeRows(recallKind, { seq: recall.seq }, { used: distinct, uses: JSON.stringify(all) }),
      );
    }
  }
  return { changes, rows };
}

/** The newest first. Processes without the name of an agent are found among the recalls of all. */
function* recentRecalls(agentId: AgentId): Reading<readonly StoredRecall[]> {
  const asker = askerOf(agentId);
  const found = yield* localRows(recallKind, {
    ...(asker === agentId ? { where: { agent_id: agentId } } : {}),
    order: { by: 'seq', descending: true },
    limit: RECALL_USE_LOOKS_MAX,
    only: ['seq', 'agent_id', 'observed_at', 'memories', 'used', 'uses'],
  });
  return found.filter(({ agent_id }) => askerOf(agent_id) === asker);
}

function lookedFrom(recall: StoredRecall): Looked {
  const uses = usesFrom(recall.uses);
  const ids = new Set(recalledFrom(recall.memories).map(([id]) => id));
  return { recall, ids, uses, known: uses.length };
}

function note({ memoryId, how, at }: UsedMemory, recent: readonly Looked[]): void {
  const since = instantAfter(at, -RECALL_USE_SECONDS);
  const answered = recent.find(
    ({ recall: { observed_at }, ids }) => observed_at <= at && observed_at >= since && ids.has(memoryId),
  );
  if (answered?.uses.some(([id, known]) => id === memoryId && known === how) === false)
    answered.uses.push([memoryId, how, at]);
}
