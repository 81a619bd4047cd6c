import type { AgentId, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isFlag, isId, isRequester, isVersionOrNull, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { changeRows } from '../decide/local-rows.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import { type Held, ofRows } from '../decide/proposal.js';
import { tombstoneOf } from '../decide/reads.js';
import { isExpired, isVisible, mayChange, mayDelete } from './access.js';
import { erasureKind } from './erasure-kind.js';
import type { ForgetFilter } from './forget-filter.js';
import type { Memory, MemoryRow } from './memory.js';
import { memoryKind } from './memory-kind.js';
import { eraseMemory, removeMemory } from './memory-writes.js';
import { archivedMemory, expiredMemories, forgettableMemories, memoryById } from './reads.js';
import { giveWay } from './store.js';
import { notFound, notOwner, versionConflict } from './update.js';

/** Removes one bounded batch. */
export interface ForgetMemories {
  readonly kind: 'forget-memories';
  readonly filter: ForgetFilter;
  readonly limit: number;
  readonly archive: boolean;
  /** Who requested it, for the audit chain. */
  readonly by: string;
  /** True erases: nothing is left of the memories on any node, and their ids never come back. */
  readonly erase?: true;
}

/** What `forget-memories` answers. */
export interface ForgetMemoriesOutcome {
  readonly deleted: number;
  readonly more: boolean;
  /** Those that were erased. */
  readonly erased?: readonly MemoryId[];
}

export interface DeleteMemory {
  readonly kind: 'delete-memory';
  readonly id: string;
  readonly archive: boolean;
  readonly viewer: Viewer;
  /** Only while the memory has this version. */
  readonly expectedVersion?: number;
  /** Who has it erased: nothing is left of the memory on any node, and its id never comes back. */
  readonly erasedBy?: AgentId;
}

/** What `delete-memory` answers. */
export interface DeleteMemoryOutcome {
  readonly id: string;
  readonly namespace: string;
  readonly archived: boolean;
}

export interface ExpireMemories {
  readonly kind: 'expire-memories';
  readonly limit: number;
  readonly archive: boolean;
}

/** What `expire-memories` answers. */
export interface ExpireMemoriesOutcome {
  readonly expired: number;
  readonly more: boolean;
}

/**
 * Deletes a memory and leaves a tombstone; with `archive` the archive first gets a full copy (interface §3).
 * VERSION_CONFLICT where it has another version than the expected one.
 */
function* decideDelete(command: DeleteMemory, context: DecisionContext): Deciding<DeleteMemoryOutcome> {
  if (command.erasedBy !== undefined) return yield* decideErase(command, command.erasedBy, context);
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (context.permitted !== true && !mayDelete(row, command.viewer)) return notOwner(row, command.viewer);
  const conflict = versionConflict(row, command.expectedVersion ?? null);
  if (conflict !== null) return conflict;
  return decided({ id: row.id, namespace: row.namespace, archived: command.archive }, [
    removeMemory(row, { word: 'delete', reason: 'delete', archive: command.archive }),
  ]);
}

/**
 * Erases a memory, in the archive too. Of one that was removed without a copy nobody knows the owner, so only who sees
 * everything erases what the log still says of it. An erased one is erased again without a change.
 */
function* decideErase(
  { id, viewer, expectedVersion }: DeleteMemory,
  by: AgentId,
  context: DecisionContext,
): Deciding<DeleteMemoryOutcome> {
  const row = yield* memoryById(id);
  const copy = row === null ? yield* archivedMemory({ id }) : null;
  const memory = row ?? copy?.memory ?? null;
  if (memory !== null) {
    if (!isVisible(memory, viewer)) return notFound();
    if (context.permitted !== true && !mayChange(memory, viewer)) return notOwner(memory, viewer);
    const conflict = row === null ? null : versionConflict(row, expectedVersion ?? null);
    if (conflict !== null) return conflict;
    const { namespace } = memory;
    const seen = copy?.seen ?? memory.seen;
    return decided({ id, namespace, archived: false }, erasing({ id, namespace, seen }, memory, by));
  }
  const removed = yield* tombstoneOf({ kind: memoryKind.name, id });
  if (removed === null || !viewer.all) return notFound();
  const { namespace, seen, word } = removed;
  const again = memoryKind.final.includes(word);
  return decided({ id, namespace, archived: false }, again ? [] : erasing({ id, namespace, seen }, null, by));
}

function erasing(
  memory: Pick<Memory, 'id' | 'namespace' | 'seen'>,
  copy: MemoryRow | null,
  by: AgentId,
): readonly Mutation[] {
  const payload = { memory_ids: [memory.id], namespace: memory.namespace };
  return [
    eraseMemory(memory, copy),
    erasedBy(memory.id, by),
    appendAudit({ event: { agentId: by, type: 'memory.erased', payload } }),
  ];
}

/** The node that was asked knows by whom. */
const erasedBy = (id: MemoryId, by: AgentId): Mutation =>
  changeRows(erasureKind, { memory_id: id }, { erased_by: by });

/** Removes up to `limit` rows whose expiry has passed (interface §3, "garbage collection"). */
function* decideExpire(command: ExpireMemories, context: DecisionContext): Deciding<ExpireMemoriesOutcome> {
  const rows = yield* expiredMemories({ before: context.now, limit: command.limit });
  return decided(
    { expired: rows.length, more: rows.length === command.limit },
    rows.map((row) => giveWay(row, command.archive)),
  );
}

/** Deletes up to `limit` rows that match a filter; the filter leaves out rows that the caller may not change. */
function* decideForget(command: ForgetMemories): Deciding<ForgetMemoriesOutcome> {
  const rows = yield* forgettableMemories({ filter: command.filter, limit: command.limit });
  const { by, erase, limit } = command;
  if (erase === true) {
    const erased = rows.map(({ id }) => id);
    const namespaces = [...new Set(rows.map(({ namespace }) => namespace))];
    const event = { agentId: by, type: 'memory.erased', payload: { memory_ids: erased, namespaces } };
    return decided({ deleted: rows.length, more: rows.length === limit, erased }, [
      ...rows.flatMap((row) => [eraseMemory(row, row), erasedBy(row.id, by)]),
      ...(rows.length > 0 ? [appendAudit({ event })] : []),
    ]);
  }
  return decided(
    { deleted: rows.length, more: rows.length === command.limit },
    rows.map((memory) =>
      removeMemory(memory, { word: 'delete', reason: 'forget', archive: command.archive }),
    ),
  );
}

const proposedDelete = ({ id, expectedVersion, erasedBy: by }: Held) =>
  ofRows([id], { id, version: expectedVersion, ...(by === undefined ? {} : { erase: true }) });

export const deleteMemoryCommand = defineCommand({
  kind: 'delete-memory',
  decide: decideDelete,
  gate: { action: 'delete', about: ({ id }) => id, proposes: proposedDelete },
  read: shaped<DeleteMemory>('delete-memory', {
    ...{ id: isId, archive: isFlag, expectedVersion: isAbsentOr(isVersionOrNull) },
    erasedBy: isAbsentOr(isRequester),
  }),
  tells: { post_delete: ({ outcome: { id, namespace } }) => [{ namespace, payload: { id } }] },
});

export const expireMemoriesCommand = defineCommand({
  kind: 'expire-memories',
  decide: decideExpire,
  gate: 'upkeep',
});

export const forgetMemoriesCommand = defineCommand({
  kind: 'forget-memories',
  decide: decideForget,
  gate: {
    action: 'forget',
    about: () => null,
    viewer: ({ filter }) => filter.viewer,
    instead: 'delete the memories by their ids',
  },
  audit: ({ by: agentId, filter: { namespace, tier } }, count) => ({
    // The pattern may quote the forgotten text.
    ...{ agentId, type: 'memory.forgotten', payload: { count, namespace, tier } },
  }),
});
