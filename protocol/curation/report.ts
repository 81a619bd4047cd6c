import type { MemoryId } from '../base/meanings.js';
import { failed } from '../base/result.js';
import { instantAfter } from '../base/time.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { insertMemory } from '../memory/memory-writes.js';
import { newMemory } from '../memory/new-memory.js';
import { memoryById } from '../memory/reads.js';
import { CURATOR, REPORTS_NAMESPACE } from './curator.js';
import { CURATION_KEPT_DAYS } from './limits.js';

const DAY_SECONDS = 86_400;

/** Keeps the report of a cycle; once, also when it is sent again. */
export interface StoreCurationReport {
  readonly kind: 'store-curation-report';
  readonly id: MemoryId;
  readonly title: string;
  /** JSON. */
  readonly report: string;
}

function* decideStoreReport(
  { id, title, report }: StoreCurationReport,
  context: DecisionContext,
): Deciding<{ readonly id: MemoryId }> {
  if ((yield* memoryById(id)) !== null) return decided({ id }, []);
  const memory = newMemory(context.now, {
    ...{ id, namespace: REPORTS_NAMESPACE, title, content: report, source: 'curator', tier: 'mid' },
    expires_at: instantAfter(context.now, CURATION_KEPT_DAYS * DAY_SECONDS),
    metadata: { agent_id: CURATOR, scope: 'private', attest_level: 'claimed' },
  });
  const charge = yield* chargeFor(memory, null, context);
  return charge.ok ? decided({ id }, [...charge.value, insertMemory(memory)]) : failed(charge.error);
}

export const storeCurationReportCommand = defineCommand({
  kind: 'store-curation-report',
  decide: decideStoreReport,
  gate: 'upkeep',
  writes: ['reserved'],
});
