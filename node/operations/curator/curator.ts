import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { ROLLBACK_NAMESPACE, ROLLED_BACK_TAG } from '../../../protocol/curation/curator.js';
import * as limits from '../../../protocol/curation/limits.js';
import type { RollBackCurationOutcome } from '../../../protocol/curation/rollback.js';
import { recordIn } from '../../../protocol/curation/rollback-record.js';
import type { JobInput } from '../../../protocol/jobs/job-types.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import { rulingViewer } from '../../identity/caller.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { type CycleReport, cycleReport, emptyReport } from './cycle-report.js';

const places = z.array(fields.namespaceOrSubtree).max(limits.CURATOR_NAMESPACES_MAX).default([]);

const cycle = z.object({
  mode: z.enum(['curate', 'reflect']).default('curate'),
  max_ops: z.int().min(1).max(limits.CURATOR_OPS_MAX).default(limits.CURATOR_OPS),
  include_namespaces: places,
  exclude_namespaces: places,
  max_depth: z.int().min(1).max(limits.REFLECT_DEPTH_MAX).default(limits.REFLECT_DEPTH_MAX),
});

/** It changes the memories of all agents. */
const refusal = ({ caller }: ReadCall): Result<never> | null =>
  rulingViewer(caller).all
    ? null
    : fail(
        'FORBIDDEN',
        'only the operator of the node runs the curator: unset SVC_AGENT_ID, or use the id of an admin',
      );

const inputOf = (asked: z.output<typeof cycle>): JobInput<'curator'> => {
  const { mode, max_ops, include_namespaces: include, exclude_namespaces: exclude, max_depth } = asked;
  return { mode, max_ops, include, exclude, max_depth };
};

/** Queues a cycle as a job. Only this machine has it. */
export const curatorBegin = defineOperation({
  name: 'curator_begin',
  family: 'power',
  summary: 'Queue a cycle of the curator.',
  input: cycle,
  output: z.object({ id: z.string(), writer: z.enum(['daemon', 'process']) }),
  effect: 'write',
  guards: { admin: true, attestation: 'by-name' },
  quorum: 'none',
  run: async (call, asked) => {
    const refused = refusal(call);
    if (refused !== null) return refused;
    const name = `${asked.mode}-${call.now}-${call.services.random.uuid().slice(0, 8)}`;
    const queued = await call.services.store.execute({
      ...{ kind: 'queue-cycle', name, input: inputOf(asked), always: true },
    });
    return queued.ok
      ? ok({ id: queued.value.id, writer: call.services.condition().writer })
      : failed(queued.error);
  },
});

/** Says what a cycle would do. It asks no model and changes nothing. */
export const curatorPreview = defineOperation({
  name: 'curator_preview',
  family: 'power',
  summary: 'Say what a cycle of the curator would do, without a model.',
  input: cycle,
  output: cycleReport,
  effect: 'read',
  guards: { admin: true },
  run: async (call, asked) => {
    const refused = refusal(call);
    if (refused !== null) return refused;
    return preview(call, inputOf(asked));
  },
});

async function preview(call: ReadCall, input: JobInput<'curator'>): Promise<Result<CycleReport>> {
  const { store } = call.services;
  const { include, exclude, max_ops, max_depth } = input;
  const rows = max_ops * limits.CURATED_ROWS_PER_OP;
  const at = { include, exclude, now: call.now };
  const report = emptyReport(call.now, true);
  const asks = (questions: number): boolean => {
    const isLeft = report.operations_attempted + questions <= max_ops;
    if (isLeft) report.operations_attempted += questions;
    else report.operations_skipped_cap += questions;
    return isLeft;
  };
  if (input.mode === 'reflect') {
    const query = { kind: 'reflection-clusters', maxDepth: max_depth, rows, clustersMax: max_ops } as const;
    const found = await store.query({ ...query, ...at });
    if (!found.ok) return failed(found.error);
    const { scanned, eligible, clusters } = found.value;
    const reflections_written = clusters.filter(() => asks(1)).length;
    Object.assign(report, { memories_scanned: scanned, memories_eligible: eligible, reflections_written });
    report.autonomy.clusters_formed = clusters.length;
    return ok(report);
  }
  const query = { kind: 'curation-plan', untaggedMax: max_ops, rowsPerTier: rows } as const;
  const found = await store.query({ ...query, ...at });
  if (!found.ok) return failed(found.error);
  const { scanned, eligible, untagged, clusters, raised, lowered } = found.value;
  Object.assign(report, { memories_scanned: scanned, memories_eligible: eligible });
  const compared = new Set<string>();
  for (const { id, adjacent } of untagged)
    if (asks(1)) {
      report.auto_tagged += 1;
      if (adjacent !== null && !compared.has(`${adjacent} ${id}`) && asks(1))
        compared.add(`${id} ${adjacent}`);
    }
  const joined = clusters.filter(() => asks(1));
  const adjusted = raised.length + lowered.length;
  Object.assign(report.autonomy, {
    ...{ clusters_formed: clusters.length, priority_adjustments: adjusted },
    memories_consolidated: joined.reduce((sum, ids) => sum + ids.length, 0),
    rollback_entries_written: joined.length + adjusted,
  });
  return ok(report);
}

const rolledBack = z.object({
  id: z.string(),
  kind: z.string(),
  namespace: z.string(),
  restored: z.array(z.string()),
  summary_id: z.string().optional(),
  already: z.boolean(),
});

/** Undoes what the curator did, newest first. Only this machine has it. */
export const curatorRollback = defineOperation({
  name: 'curator_rollback',
  family: 'power',
  summary: 'Undo what the curator did, by its records.',
  input: z.object({
    id: fields.memoryId.optional(),
    last: z.int().min(1).max(limits.ROLLBACK_LAST_MAX).optional(),
  }),
  output: z.object({
    rolled_back: z.array(rolledBack),
    failed: z.array(z.object({ id: z.string(), code: z.string(), error: z.string() })),
  }),
  effect: 'write',
  overwrites: true,
  guards: { admin: true, attestation: 'by-name' },
  run: async (call, { id, last }) => {
    const refused = refusal(call);
    if (refused !== null) return refused;
    if ((id === undefined) === (last === undefined))
      return fail('VALIDATION_FAILED', 'give one of: the id of a record, or how many of the last', {
        fields: ['id', 'last'],
      });
    if (id !== undefined) {
      const one = await rollBack(call, id);
      return one.ok ? ok({ rolled_back: [shown(one.value)], failed: [] }) : failed(one.error);
    }
    const records = await lastRecords(call, last!);
    if (!records.ok) return failed(records.error);
    const rolled_back = [];
    const failures = [];
    for (const record of records.value) {
      const one = await rollBack(call, record);
      if (one.ok) rolled_back.push(shown(one.value));
      else failures.push({ id: record, code: one.error.code, error: one.error.message });
    }
    return ok({ rolled_back, failed: failures });
  },
});

const shown = ({ id, kind, namespace, restored, summaryId, already }: RollBackCurationOutcome) => ({
  ...{ id, kind, namespace, restored: [...restored], already },
  ...(summaryId === null ? {} : { summary_id: summaryId }),
});

async function rollBack(call: Call, prefix: string): Promise<Result<RollBackCurationOutcome>> {
  const { services, caller, now } = call;
  const viewer = rulingViewer(caller);
  const found = await services.store.query({ kind: 'get-memory', id: prefix, linksMax: 0, viewer, now });
  if (!found.ok) return failed(found.error);
  const { id } = found.value.memory;
  const ttlSeconds = ttlSecondsOf(services.settings);
  return services.store.execute({ kind: 'roll-back-curation', id, ttlSeconds, viewer });
}

const PAGE = 200;

/** The ids of the newest records that were not rolled back, the newest first. */
async function lastRecords(call: ReadCall, last: number): Promise<Result<readonly string[]>> {
  const records: { readonly id: string; readonly at: string }[] = [];
  const viewer = rulingViewer(call.caller);
  for (let offset: number | null = 0; offset !== null; ) {
    const filter = {
      ...{ namespace: ROLLBACK_NAMESPACE, tier: null, minPriority: null, since: null, until: null, tags: [] },
      ...{ agentId: null, viewer, now: call.now, limit: PAGE, offset },
    };
    const found = await call.services.store.query({ kind: 'list-memories', filter, family: null });
    if (!found.ok) return failed(found.error);
    const { memories, nextOffset } = found.value as {
      memories: readonly Parameters<typeof recordIn>[0][];
      nextOffset: number | null;
    };
    for (const memory of memories)
      if (!memory.tags.includes(ROLLED_BACK_TAG) && recordIn(memory) !== null)
        records.push({ id: memory.id, at: `${memory.created_at} ${memory.created_hlc}` });
    offset = nextOffset ?? (memories.length === PAGE ? offset + PAGE : null);
  }
  records.sort((one, other) => (one.at < other.at ? 1 : -1));
  return ok(records.slice(0, last).map(({ id }) => id));
}
