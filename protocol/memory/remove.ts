import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isFlag, isId, isVersionOrNull, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { type Held, ofRows } from '../decide/proposal.js';
import { isExpired, isVisible, mayDelete } from './access.js';
import type { ForgetFilter } from './forget-filter.js';
import { removeMemory } from './memory-writes.js';
import { expiredMemories, forgettableMemories, memoryById } from './reads.js';
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
}

/** What `forget-memories` answers. */
export interface ForgetMemoriesOutcome {
  readonly deleted: number;
  readonly more: boolean;
}

export interface DeleteMemory {
  readonly kind: 'delete-memory';
  readonly id: string;
  readonly archive: boolean;
  readonly viewer: Viewer;
  /** Only while the memory has this version. */
  readonly expectedVersion?: number;
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
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (context.permitted !== true && !mayDelete(row, command.viewer)) return notOwner(row, command.viewer);
  const conflict = versionConflict(row, command.expectedVersion ?? null);
  if (conflict !== null) return conflict;
  return decided({ id: row.id, namespace: row.namespace, archived: command.archive }, [
    removeMemory(row, { word: 'delete', reason: 'delete', archive: command.archive }),
  ]);
}

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
  return decided(
    { deleted: rows.length, more: rows.length === command.limit },
    rows.map((memory) =>
      removeMemory(memory, { word: 'delete', reason: 'forget', archive: command.archive }),
    ),
  );
}

const proposedDelete = ({ id, expectedVersion }: Held) => ofRows([id], { id, version: expectedVersion });

export const deleteMemoryCommand = defineCommand({
  kind: 'delete-memory',
  decide: decideDelete,
  gate: { action: 'delete', about: ({ id }) => id, proposes: proposedDelete },
  read: shaped<DeleteMemory>('delete-memory', {
    ...{ id: isId, archive: isFlag, expectedVersion: isAbsentOr(isVersionOrNull) },
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
