import { fail, failed } from '../base/result.js';
import { instantAfter } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, ID_BYTES } from '../decide/command.js';
import type { Check } from '../decide/command-shape.js';
import { exactly, isFlag, isId, isIds, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { ofRows } from '../decide/proposal.js';
import { storageProblem } from '../identity/ensure-quota.js';
import { isInteger, isText } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { ArchivedRow } from '../memory/archived-memory.js';
import type { Memory, Tier } from '../memory/memory.js';
import type { PurgeReason } from '../memory/memory-kind.js';
import { insertMemory, removeMemory } from '../memory/memory-writes.js';
import { purgeArchived } from '../memory/mutations.js';
import { archivedMemory, memoryById, purgeableMemories } from '../memory/reads.js';
import { titleRoom } from '../memory/title-room.js';
import { notOwner } from '../memory/update.js';

export interface ArchiveMemories {
  readonly kind: 'archive-memories';
  readonly ids: readonly string[];
  readonly reason: string;
  readonly viewer: Viewer;
}

/** What `archive-memories` answers. */
export interface ArchiveMemoriesOutcome {
  readonly archived: readonly string[];
  readonly missing: readonly string[];
}

export interface RestoreMemory {
  readonly kind: 'restore-memory';
  readonly id: string;
  /** The new time to live of a row whose expiry has passed in the archive. Seconds; null sets no expiry. */
  readonly ttlSeconds: Readonly<Record<Tier, number | null>>;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** What `restore-memory` answers. */
export interface RestoreMemoryOutcome {
  readonly memory: Memory;
  /** True when the original expiry had passed and a new one was given. */
  readonly expiryRenewed: boolean;
}

/** Purges one bounded batch, the oldest first. */
export interface PurgeArchive {
  readonly kind: 'purge-archive';
  /** Rows archived at this canonical instant or before. */
  readonly before: string;
  /** Only rows of this owner; null purges the rows of all owners. */
  readonly ownerId: string | null;
  readonly reason: PurgeReason;
  readonly limit: number;
  /** Who requested it, for the audit chain. */
  readonly by: string;
}

/** What `purge-archive` answers. */
export interface PurgeArchiveOutcome {
  readonly purged: number;
  readonly more: boolean;
}

/** The answer for an id that the archive does not hold, or whose row the caller may not see. */
export const notArchived = () => fail('NOT_FOUND', 'not found in archive');

/**
 * Moves memories to the archive. It answers ids that are unknown, expired, invisible or of another owner as `missing`,
 * all alike; the others are archived all the same (reference-http §1, row 43).
 */
function* decideArchive(
  command: ArchiveMemories,
  context: DecisionContext,
): Deciding<ArchiveMemoriesOutcome> {
  const mutations: Mutation[] = [];
  const archived: string[] = [];
  const missing: string[] = [];
  for (const id of new Set(command.ids)) {
    const row = yield* memoryById(id);
    const takes =
      row !== null &&
      !isExpired(row, context.now) &&
      isVisible(row, command.viewer) &&
      (context.permitted === true || mayChange(row, command.viewer));
    (takes ? archived : missing).push(id);
    if (takes) {
      mutations.push(removeMemory(row, { word: 'archive', reason: command.reason, archive: true }));
    }
  }
  return decided({ archived, missing }, mutations);
}

/**
 * Moves an archived memory back as it was, with its original tier and expiry: NOT_FOUND, FORBIDDEN for another owner's
 * row, ARCHIVE_RESTORE_COLLISION when a live row has its id or holds its title.
 *
 * Decision: a row whose original expiry has passed gets a new one, the time to live of its tier from now; otherwise it
 * would vanish right after its restore. The answer says so.
 */
export function* decideRestore(
  command: RestoreMemory,
  context: DecisionContext,
): Deciding<RestoreMemoryOutcome> {
  const archived = yield* archivedMemory({ id: command.id });
  if (archived === null || !isVisible(archived.memory, command.viewer)) return notArchived();
  if (!mayChange(archived.memory, command.viewer)) return notOwner(archived.memory, command.viewer);
  const live = yield* memoryById(command.id);
  if (live !== null) {
    return fail('ARCHIVE_RESTORE_COLLISION', 'a live memory has this id', { existing_id: live.id });
  }
  const { memory, expiryRenewed } = restored(archived, command, context);
  const claim = { ...command, leaving: [], code: 'ARCHIVE_RESTORE_COLLISION' as const };
  const room = yield* titleRoom(memory, claim, context);
  if (!room.ok) return failed(room.error);
  const full = yield* storageProblem(memory, context);
  if (full !== null) return failed(full);
  return decided({ memory, expiryRenewed }, [...room.value, insertMemory(memory, 'restore')]);
}

function restored(archived: ArchivedRow, command: RestoreMemory, context: DecisionContext) {
  const tier = archived.originalTier ?? archived.memory.tier;
  const original = archived.originalExpiresAt;
  const expiryRenewed = original !== null && original <= context.now;
  const seconds = command.ttlSeconds[tier];
  const renewed = seconds === null ? null : instantAfter(context.now, seconds);
  const { version } = archived.memory;
  const memory: Memory = {
    ...archived.memory,
    tier,
    expires_at: expiryRenewed ? renewed : original,
    seen: archived.seen,
    // A version number that another text had is not used again.
    version: archived.highestVersion > version ? archived.highestVersion + 1 : version,
  };
  return { memory, expiryRenewed };
}

/** Purges up to `limit` archived rows for good, the oldest first. */
function* decidePurge(command: PurgeArchive): Deciding<PurgeArchiveOutcome> {
  const rows = yield* purgeableMemories({
    before: command.before,
    ownerId: command.ownerId,
    limit: command.limit,
  });
  return decided(
    { purged: rows.length, more: rows.length === command.limit },
    rows.map((row) =>
      purgeArchived({
        row,
        reason: command.reason,
      }),
    ),
  );
}

const isSeconds: Check = (value) => value === null || (isInteger(value) && (value as number) >= 0);

export const archiveMemoriesCommand = defineCommand({
  kind: 'archive-memories',
  decide: decideArchive,
  gate: {
    action: 'archive',
    about: ({ ids }) => (ids.length === 1 ? ids[0]! : null),
    proposes: ({ ids, reason }) => ofRows(ids, { ids, reason }),
  },
  read: shaped<ArchiveMemories>('archive-memories', { ids: isIds, reason: isText }),
  bytes: ({ ids }) => ID_BYTES * ids.length,
});

export const restoreMemoryCommand = defineCommand({
  kind: 'restore-memory',
  decide: decideRestore,
  gate: { action: 'restore', about: ({ id }) => id, proposes: ({ id }) => ofRows([id], { id }) },
  read: shaped<RestoreMemory>('restore-memory', {
    ...{ id: isId, archive: isFlag },
    ttlSeconds: exactly({ short: isSeconds, mid: isSeconds, long: isSeconds }),
  }),
  writes: ['reserved'],
});

export const purgeArchiveCommand = defineCommand({
  kind: 'purge-archive',
  decide: decidePurge,
  gate: 'no memory',
  audit: ({ by: agentId, before, ownerId: owner, reason }, count) => ({
    ...{ agentId, type: 'archive.purged', payload: { count, before, owner, reason } },
  }),
});
