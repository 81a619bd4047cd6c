import type { AgentId } from '../base/meanings.js';
import { failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { isExpired, isVisible } from './access.js';
import type { Memory } from './memory.js';
import { replaceMemory } from './memory-writes.js';
import { claimed } from './new-memory.js';
import { memoryById } from './reads.js';
import { notFound } from './update.js';

/** Gives a memory to another agent, as the operator says. */
export interface ReownMemory {
  readonly kind: 'reown-memory';
  readonly id: string;
  readonly to: AgentId;
  /** Also a memory that belongs to nobody. */
  readonly claimUnowned: boolean;
  readonly viewer: Viewer;
}

export interface ReownMemoryOutcome {
  readonly changed: boolean;
}

/** True for a memory that would change its owner. */
export const wouldReown = (memory: Memory, to: AgentId, claimUnowned: boolean): boolean => {
  const owner = ownerOf(memory);
  return owner === null ? claimUnowned : owner !== to;
};

/** NOT_FOUND for a hidden memory. The signature of its author covers the agent, so the memory is claimed afterwards. */
function* decideReown(command: ReownMemory, context: DecisionContext): Deciding<ReownMemoryOutcome> {
  const { id, to, viewer } = command;
  const row = yield* memoryById(id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, viewer)) return notFound();
  if (!wouldReown(row, to, command.claimUnowned)) return decided({ changed: false }, []);
  const memory: Memory = claimed({
    ...row,
    metadata: { ...row.metadata, agent_id: to },
    updated_at: context.now,
    version: row.version + 1,
  });
  const charge = yield* chargeFor(memory, row, context);
  if (!charge.ok) return failed(charge.error);
  const payload = { id, namespace: row.namespace, from: ownerOf(row), to };
  const event = { agentId: viewer.agentId ?? 'operator', type: 'memory.reowned', payload };
  return decided({ changed: true }, [
    ...charge.value,
    replaceMemory(row, memory, { reembed: false }),
    appendAudit({ event }),
  ]);
}

export const reownMemoryCommand = defineCommand({
  kind: 'reown-memory',
  decide: decideReown,
  gate: 'operator',
});
