import type { MemoryId } from '../base/meanings.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { decideRestore } from '../lifecycle/archive.js';
import { isExpired } from '../memory/access.js';
import type { MemoryRow, Tier } from '../memory/memory.js';
import { removeMemory, replaceMemory } from '../memory/memory-writes.js';
import { archivedMemory, memoryById } from '../memory/reads.js';
import { ROLLED_BACK_TAG } from './curator.js';
import { type RollbackRecord, recordIn } from './rollback-record.js';

/** Undoes what the curator did, by the record of it. */
export interface RollBackCuration {
  readonly kind: 'roll-back-curation';
  /** The memory with the record. */
  readonly id: MemoryId;
  readonly ttlSeconds: Readonly<Record<Tier, number | null>>;
  readonly viewer: Viewer;
}

export interface RollBackCurationOutcome {
  readonly id: MemoryId;
  readonly kind: RollbackRecord['kind'];
  readonly namespace: string;
  /** The memories that are as they were. */
  readonly restored: readonly MemoryId[];
  /** The memory that was made of them, which is in the archive now. */
  readonly summaryId: MemoryId | null;
  /** True when an earlier call rolled it back. */
  readonly already: boolean;
}

type Undone = Pick<RollBackCurationOutcome, 'restored' | 'summaryId'>;

/**
 * Restores all or nothing: NOT_FOUND for what is no record, CONFLICT where what was done does not stand any more or the archive has
 * lost a memory, ARCHIVE_RESTORE_COLLISION where a title is taken. The record stays, and keeps the curator from doing it again.
 */
function* decideRollBack(
  command: RollBackCuration,
  context: DecisionContext,
): Deciding<RollBackCurationOutcome> {
  const row = yield* memoryById(command.id);
  const said = row === null || isExpired(row, context.now) ? null : recordIn(row);
  if (row === null || said === null)
    return fail('NOT_FOUND', `there is no rollback record ${command.id}: it may have expired`);
  const outcome = { id: row.id, kind: said.kind, namespace: said.namespace };
  if (row.tags.includes(ROLLED_BACK_TAG))
    return decided({ ...outcome, restored: [], summaryId: null, already: true }, []);
  const undone = yield* undoing(said, command, context);
  if (!undone.ok) return undone;
  const { mutations, value } = undone.value;
  return decided({ ...outcome, ...value, already: false }, [...mutations, kept(row, context)]);
}

/** The record of what was rolled back does not expire. */
const kept = (row: MemoryRow, { now }: DecisionContext): Mutation =>
  replaceMemory(
    row,
    {
      ...row,
      ...{ tier: 'long', expires_at: null, updated_at: now, version: row.version + 1 },
      tags: [...row.tags, ROLLED_BACK_TAG],
      metadata: { ...row.metadata, rolled_back_at: now },
    },
    { reembed: false },
  );

function* undoing(
  said: RollbackRecord,
  command: RollBackCuration,
  context: DecisionContext,
): Deciding<Undone> {
  if (said.kind === 'priority_adjust') return yield* priorityBack(said, context);
  if (said.kind === 'forget') {
    const restored = yield* allRestored([said.memory], command, context);
    return restored.ok
      ? decided({ restored: [said.memory], summaryId: null }, restored.value)
      : failed(restored.error);
  }
  const result = yield* memoryById(said.result);
  const from = result?.metadata['derived_from'];
  const isIts = Array.isArray(from) && said.sources.every((id) => from.includes(id));
  if (result === null || !isIts)
    return fail(
      'CONFLICT',
      `the memory ${said.result} that was made is not there as it was: roll back what came later first`,
    );
  const restored = yield* allRestored(said.sources, command, context);
  if (!restored.ok) return failed(restored.error);
  // An edit of it since is not lost: it stays in the archive.
  const away = removeMemory(result, { word: 'archive', reason: 'rollback', archive: true });
  return decided({ restored: said.sources, summaryId: result.id }, [away, ...restored.value]);
}

function* allRestored(
  ids: readonly MemoryId[],
  { ttlSeconds, viewer }: RollBackCuration,
  context: DecisionContext,
): Reading<Result<readonly Mutation[]>> {
  const mutations: Mutation[] = [];
  for (const id of ids) {
    if ((yield* archivedMemory({ id })) === null && (yield* memoryById(id)) === null)
      return fail('CONFLICT', `the memory ${id} is not in the archive any more`);
    const restore = { kind: 'restore-memory', id, ttlSeconds, viewer, archive: true } as const;
    const restored = yield* decideRestore(restore, context);
    if (!restored.ok) return failed(restored.error);
    mutations.push(...restored.value.mutations);
  }
  return ok(mutations);
}

function* priorityBack(
  said: Extract<RollbackRecord, { kind: 'priority_adjust' }>,
  { now }: DecisionContext,
): Deciding<Undone> {
  const row = yield* memoryById(said.memory);
  if (row === null || isExpired(row, now) || row.priority !== said.after)
    return fail('CONFLICT', `the priority of the memory ${said.memory} is not ${said.after} any more`);
  const { priority_adjusted_at: _at, ...metadata } = row.metadata;
  const before = said.adjusted_before === null ? {} : { priority_adjusted_at: said.adjusted_before };
  const memory = {
    ...row,
    ...{ priority: said.before, updated_at: now, version: row.version + 1 },
    metadata: { ...metadata, ...before },
  };
  return decided({ restored: [row.id], summaryId: null }, [replaceMemory(row, memory, { reembed: false })]);
}

/** The pass of each kind of record, as hooks hear it. */
const PASSES = { consolidate: 'consolidate', forget: 'forget', priority_adjust: 'priority' } as const;

export const rollBackCurationCommand = defineCommand({
  kind: 'roll-back-curation',
  decide: decideRollBack,
  gate: {
    ...{ action: 'restore', about: ({ id }: RollBackCuration) => id },
    instead: 'restore the memories with "mnemesh archive restore" and have that approved',
  },
  writes: ['reserved'],
  audit: ({ id, viewer }) => ({
    ...{ agentId: viewer.agentId ?? 'operator', type: 'curation.rolled_back', payload: { id } },
  }),
  tells: {
    on_compaction_rollback: ({ outcome: { kind, namespace, summaryId, already } }) => {
      if (already) return [];
      const payload = { pass_name: PASSES[kind], summary_id: summaryId, namespace, reason: 'operator' };
      return [{ namespace, payload }];
    },
  },
});
