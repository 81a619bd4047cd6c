import type { Instant, MemoryId } from '../base/meanings.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { type ConsolidateMemories, decideConsolidate } from '../lifecycle/consolidate.js';
import { isExpired } from '../memory/access.js';
import type { MemoryRow } from '../memory/memory.js';
import { insertMemory, removeMemory } from '../memory/memory-writes.js';
import { memoryById } from '../memory/reads.js';
import { decideUpdate, notFound } from '../memory/update.js';
import { audienceKey } from './audience.js';
import { CURATOR, FORGET_REASON } from './curator.js';
import { type RollbackRecord, recordMemory } from './rollback-record.js';

/** What to do instead of an approval, for which the curator cannot wait. */
const INSTEAD = 'the curator asks for no approval: exclude the namespace, or do it yourself';

/** Joins memories of one audience, with the record that undoes it. */
export interface CurateConsolidation {
  readonly kind: 'curate-consolidation';
  readonly recordId: MemoryId;
  readonly consolidation: ConsolidateMemories;
  readonly viewer: Viewer;
}

/** Archives the older one of two memories that contradict each other, with the record that undoes it. */
export interface CurateForget {
  readonly kind: 'curate-forget';
  readonly recordId: MemoryId;
  readonly older: VersionOf;
  readonly newer: VersionOf;
  readonly viewer: Viewer;
}

/** A memory as it was judged. */
export interface VersionOf {
  readonly id: MemoryId;
  readonly version: number;
}

/** Writes what the curator found into the metadata of a memory. */
export interface CurateMetadata extends VersionOf {
  readonly kind: 'curate-metadata';
  readonly found: Readonly<Record<string, unknown>>;
  readonly viewer: Viewer;
}

/** Changes the priority of a memory by one, with the record that undoes it. */
export interface CuratePriority extends VersionOf {
  readonly kind: 'curate-priority';
  readonly recordId: MemoryId;
  readonly step: 1 | -1;
  readonly viewer: Viewer;
}

const PRIORITY_MIN = 1;
const PRIORITY_MAX = 10;

function* recorded(
  recordId: MemoryId,
  said: RollbackRecord,
  context: DecisionContext,
): Reading<Result<readonly Mutation[]>> {
  const memory = recordMemory(recordId, said, context.now);
  const charge = yield* chargeFor(memory, null, context);
  return charge.ok ? ok([...charge.value, insertMemory(memory)]) : failed(charge.error);
}

/** FORBIDDEN where the memories have different owners, readers or namespaces. */
const mixed = (rows: readonly MemoryRow[]): boolean => new Set(rows.map(audienceKey)).size > 1;
const refusedMixture = () =>
  fail('FORBIDDEN', 'the curator puts only memories of one owner, scope and namespace together');

function* decideCurateConsolidation(
  { recordId, consolidation }: CurateConsolidation,
  context: DecisionContext,
): Deciding<{ readonly id: MemoryId; readonly consolidated: number }> {
  const rows: MemoryRow[] = [];
  for (const id of consolidation.ids) {
    const row = yield* memoryById(id);
    if (row !== null) rows.push(row);
  }
  if (mixed(rows)) return refusedMixture();
  const joined = yield* decideConsolidate(consolidation, context);
  if (!joined.ok) return joined;
  const { memory, consolidated } = joined.value.value;
  const { namespace } = memory;
  const sources = [...consolidation.ids];
  const said: RollbackRecord = { kind: 'consolidate', namespace, result: memory.id, sources };
  const record = yield* recorded(recordId, said, context);
  if (!record.ok) return failed(record.error);
  return decided({ id: memory.id, consolidated }, [...joined.value.mutations, ...record.value]);
}

function* judged({ id, version }: VersionOf, now: Instant): Reading<Result<MemoryRow>> {
  const row = yield* memoryById(id);
  if (row === null || isExpired(row, now)) return notFound();
  if (row.version !== version) return fail('CONFLICT', `the memory ${id} was changed since it was judged`);
  return ok(row);
}

function* decideCurateForget(
  { recordId, older, newer }: CurateForget,
  context: DecisionContext,
): Deciding<{ readonly id: MemoryId }> {
  const [one, other] = [yield* judged(older, context.now), yield* judged(newer, context.now)];
  if (!one.ok) return failed(one.error);
  if (!other.ok) return failed(other.error);
  if (mixed([one.value, other.value])) return refusedMixture();
  const { namespace, id: memory } = one.value;
  const record = yield* recorded(
    recordId,
    { kind: 'forget', namespace, memory, kept: other.value.id },
    context,
  );
  if (!record.ok) return failed(record.error);
  const archived = removeMemory(one.value, { word: 'archive', reason: FORGET_REASON, archive: true });
  return decided({ id: memory }, [archived, ...record.value]);
}

function* decideCurateMetadata(
  { id, version, found, viewer }: CurateMetadata,
  context: DecisionContext,
): Deciding<{ readonly id: MemoryId }> {
  const row = yield* judged({ id, version }, context.now);
  if (!row.ok) return failed(row.error);
  const metadata = { ...row.value.metadata, ...found };
  const update = { kind: 'update-memory', id, patch: { metadata }, expectedVersion: version } as const;
  const updated = yield* decideUpdate({ ...update, viewer, archive: true }, context);
  return updated.ok ? decided({ id }, updated.value.mutations) : updated;
}

function* decideCuratePriority(
  { id, version, step, recordId, viewer }: CuratePriority,
  context: DecisionContext,
): Deciding<{ readonly id: MemoryId; readonly priority: number }> {
  const row = yield* judged({ id, version }, context.now);
  if (!row.ok) return failed(row.error);
  const { priority: before, namespace, metadata: old } = row.value;
  const priority = Math.min(PRIORITY_MAX, Math.max(PRIORITY_MIN, before + step));
  if (priority === before) return fail('CONFLICT', `the priority of the memory ${id} is ${before} already`);
  const metadata = { ...old, priority_adjusted_at: context.now };
  const update = {
    kind: 'update-memory',
    id,
    patch: { priority, metadata },
    expectedVersion: version,
  } as const;
  const updated = yield* decideUpdate({ ...update, viewer, archive: true }, context);
  if (!updated.ok) return updated;
  const at = old['priority_adjusted_at'];
  const adjusted_before = typeof at === 'string' ? at : null;
  const said = { kind: 'priority_adjust', namespace, memory: id, before, after: priority } as const;
  const record = yield* recorded(recordId, { ...said, adjusted_before }, context);
  if (!record.ok) return failed(record.error);
  return decided({ id, priority }, [...updated.value.mutations, ...record.value]);
}

export const curateConsolidationCommand = defineCommand({
  kind: 'curate-consolidation',
  decide: decideCurateConsolidation,
  gate: {
    ...{ action: 'consolidate', op: 'memory_consolidate', instead: INSTEAD },
    about: ({ consolidation }) => consolidation.result.id,
  },
  writes: ['reserved'],
  text: ({ consolidation }) => consolidation.summary,
  audit: ({ consolidation: { ids, result } }) => ({
    ...{ agentId: CURATOR, type: 'memory.consolidated', payload: { id: result.id, sources: [...ids] } },
  }),
  tells: {
    post_consolidate: ({ command: { consolidation }, outcome: { id } }) => {
      const { namespace } = consolidation.result;
      return [{ namespace, payload: { namespace, merged_ids: consolidation.ids, result_id: id } }];
    },
  },
});

export const curateForgetCommand = defineCommand({
  kind: 'curate-forget',
  decide: decideCurateForget,
  gate: { action: 'archive', instead: INSTEAD, about: ({ older }) => older.id },
  writes: ['reserved'],
  audit: ({ older, newer }) => ({
    ...{ agentId: CURATOR, type: 'memory.forgotten', payload: { id: older.id, kept: newer.id } },
  }),
});

export const curateMetadataCommand = defineCommand({
  kind: 'curate-metadata',
  decide: decideCurateMetadata,
  gate: { action: 'update', instead: INSTEAD, about: ({ id }) => id },
  tells: { post_store: ({ outcome }) => [{ memory: outcome.id }] },
});

export const curatePriorityCommand = defineCommand({
  kind: 'curate-priority',
  decide: decideCuratePriority,
  gate: { action: 'update', instead: INSTEAD, about: ({ id }) => id },
  writes: ['reserved'],
  tells: { post_store: ({ outcome }) => [{ memory: outcome.id }] },
});
