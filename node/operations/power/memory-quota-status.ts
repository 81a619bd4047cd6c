import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { nodePolicy } from '../../../protocol/decide/node-policy.js';
import type { NodeQuotas } from '../../../protocol/decide/permissions.js';
import {
  freshUse,
  GLOBAL_QUOTA_NAMESPACE,
  limitsOf,
  type QuotaUse,
  quotaHolder,
  rolledUse,
  writtenBytesPerDay,
} from '../../../protocol/identity/quota.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const quota = z.object({
  agent_id: z.string(),
  namespace: z.string(),
  max_memories_per_day: z.int(),
  max_storage_bytes: z.int(),
  max_links_per_day: z.int(),
  current_memories_today: z.int(),
  current_storage_bytes: z.int(),
  current_links_today: z.int(),
  /** Over all namespaces; the count of a row is that of its namespace. */
  max_written_bytes_per_day: z.int(),
  current_written_bytes_today: z.int(),
  day_started_at: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});

/**
 * What an agent has used of its quotas (interface §2.9, POST /quota/status). Without a namespace it is the sum over all
 * of them, as namespace `_global`.
 */
export const memoryQuotaStatus = defineOperation({
  name: 'memory_quota_status',
  family: 'power',
  summary: 'Show what an agent has used of its daily quotas.',
  input: z.object({
    agent_id: fields.agentId.describe('The agent; the caller unless given').optional(),
    namespace: fields.namespace.describe('One namespace; the sum over all unless given').optional(),
  }),
  output: z.object({
    agent_id: z.string().optional(),
    namespace: z.string().optional(),
    quota: quota.optional(),
    quotas: z.array(quota).optional(),
    count: z.int().optional(),
    ...fields.listEnd,
  }),
  effect: 'write',
  idempotent: true,
  guards: {},
  http: [
    {
      method: 'POST',
      path: '/quota/status',
      fields: 'body',
      // The row itself (reference-http §3.7).
      shape: (output) => (output['quota'] ?? output) as Record<string, unknown>,
      output: quota,
    },
  ],
  mcp: { description: 'Show how much of a daily quota is used and left.' },
  cli: {
    command: 'quota-status',
    short: { n: 'namespace' },
    view: 'object',
    table: {
      agent_id: 'AGENT',
      namespace: 'NAMESPACE',
      current_memories_today: 'MEMORIES',
      max_memories_per_day: 'OF',
      current_links_today: 'LINKS',
      max_links_per_day: 'OF',
      current_storage_bytes: 'BYTES',
      max_storage_bytes: 'OF',
      current_written_bytes_today: 'WRITTEN',
      max_written_bytes_per_day: 'OF',
    },
    examples: ['quota-status', 'quota-status --agent-id ai:writer --namespace team/alpha'],
  },
  run: async (call, { agent_id, namespace }) => {
    if (agent_id === undefined && call.caller.local && call.caller.viewer.all)
      return list(call, namespace ?? null);
    const agent = agent_id ?? call.caller.agentId;
    const { viewer } = call.caller;
    if (!viewer.all && agent !== viewer.agentId)
      return fail('FORBIDDEN', 'an agent can only see its own quotas');
    const holder = quotaHolder(agent);
    const isSum = namespace === undefined || namespace === GLOBAL_QUOTA_NAMESPACE;
    const use = isSum ? await sum(call, holder) : await row(call, holder, namespace);
    if (!use.ok) return failed(use.error);
    return ok({ agent_id: agent, namespace: use.value.namespace, quota: quotaJson(use.value) });
  },
});

/** Every agent's rows, for the operator of the machine. The row `_global` of an agent is the sum over all of its rows. */
async function list(call: Call, namespace: string | null) {
  const isSum = (one: string | null) => one === GLOBAL_QUOTA_NAMESPACE;
  const of = isSum(namespace) ? null : namespace;
  const found = await call.services.store.query({ kind: 'list-quotas', holder: null, namespace: of });
  if (!found.ok) return failed(found.error);
  const limits = nodePolicy(call.services.settings, '').quota;
  const uses = found.value.uses.map((use) => current(use, limits, call.now));
  const quotas = uses
    .filter((use) => namespace === null || use.namespace === namespace)
    .map((use) =>
      isSum(use.namespace)
        ? sumOf(
            use,
            uses.filter(({ holder }) => holder === use.holder),
          )
        : use,
    )
    .map(quotaJson);
  return ok({ quotas, count: quotas.length });
}

/**
 * The row of a holder in a namespace, or the row that a first write would make. A read only creates the sentinel row of
 * the caller itself: otherwise a reader could fill the table with names.
 */
async function row(call: Call, holder: string, namespace: string): Promise<Result<QuotaUse>> {
  const { store, settings } = call.services;
  const own = namespace === GLOBAL_QUOTA_NAMESPACE && holder === quotaHolder(call.caller.agentId);
  if (own) {
    const ensured = await store.execute({ kind: 'ensure-quota', holder, namespace });
    return ensured.ok ? ok(ensured.value.use) : failed(ensured.error);
  }
  const limits = nodePolicy(settings, '').quota;
  const found = await store.query({ kind: 'list-quotas', holder, namespace });
  if (!found.ok) return failed(found.error);
  const [use = freshUse(holder, namespace, limits, call.now)] = found.value.uses;
  return ok(current(use, limits, call.now));
}

async function sum(call: Call, holder: string): Promise<Result<QuotaUse>> {
  const limits = nodePolicy(call.services.settings, '').quota;
  // The first call makes the sentinel row, so that an agent without any write has one (interface §2.9).
  const own = await row(call, holder, GLOBAL_QUOTA_NAMESPACE);
  if (!own.ok) return own;
  const found = await call.services.store.query({ kind: 'list-quotas', holder, namespace: null });
  if (!found.ok) return failed(found.error);
  const uses = found.value.uses.map((use) => current(use, limits, call.now));
  return ok(sumOf(current(own.value, limits, call.now), uses));
}

/** The use over all namespaces: what was written first, and last, in any of them. */
function sumOf(sentinel: QuotaUse, uses: readonly QuotaUse[]): QuotaUse {
  const total = (of: (use: QuotaUse) => number) => uses.reduce((sum, use) => sum + of(use), 0);
  const dates = (of: (use: QuotaUse) => string) => [sentinel, ...uses].map(of).sort();
  return {
    ...sentinel,
    memoriesToday: total((use) => use.memoriesToday),
    storageBytes: total((use) => use.storageBytes),
    linksToday: total((use) => use.linksToday),
    writtenBytesToday: total((use) => use.writtenBytesToday),
    createdAt: dates((use) => use.createdAt)[0]!,
    updatedAt: dates((use) => use.updatedAt).at(-1)!,
  };
}

/** The use now, with the limits in force: a stored row has those of its last write. */
const current = (use: QuotaUse, limits: NodeQuotas, now: string): QuotaUse => ({
  ...rolledUse(use, now),
  limits: limitsOf(use.holder, limits),
});

function quotaJson(use: QuotaUse): z.output<typeof quota> {
  return {
    agent_id: use.holder,
    namespace: use.namespace,
    max_memories_per_day: use.limits.memoriesPerDay,
    max_storage_bytes: use.limits.storageBytes,
    max_links_per_day: use.limits.linksPerDay,
    current_memories_today: use.memoriesToday,
    current_storage_bytes: use.storageBytes,
    current_links_today: use.linksToday,
    max_written_bytes_per_day: writtenBytesPerDay(use.limits),
    current_written_bytes_today: use.writtenBytesToday,
    day_started_at: use.dayStartedAt,
    created_at: use.createdAt,
    updated_at: use.updatedAt,
  };
}
