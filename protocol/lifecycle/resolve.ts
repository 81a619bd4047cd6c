import { SUPERSEDES_MAX } from '../base/limits.js';
import type { MemoryId } from '../base/meanings.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isId, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { ofRows } from '../decide/proposal.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { Memory } from '../memory/memory.js';
import { removeMemory, replaceMemory } from '../memory/memory-writes.js';
import { ownLinks } from '../memory/own-link.js';
import { memoryById } from '../memory/reads.js';
import { notFound, notOwner } from '../memory/update.js';
import { endedBy } from '../memory/validity.js';

export interface ResolveMemories {
  readonly kind: 'resolve-memories';
  readonly winnerId: MemoryId;
  readonly loserId: MemoryId;
  /** True leaves the loser where it is, with a validity that ends when that of the winner begins. */
  readonly keep?: true;
  readonly viewer: Viewer;
}

/** What `resolve-memories` answers. */
export interface ResolveMemoriesOutcome {
  readonly winner: string;
  readonly loser: string;
}

/**
 * Resolves a contradiction: the loser goes to the archive with reason `superseded`, or stays with a validity that has ended,
 * and the winner's `metadata.supersedes` names it. NOT_FOUND; FORBIDDEN when either belongs to another agent.
 */
function* decideResolve(
  command: ResolveMemories,
  context: DecisionContext,
): Deciding<ResolveMemoriesOutcome> {
  if (command.winnerId === command.loserId) {
    return fail('VALIDATION_FAILED', 'winner and loser are the same memory', { fields: ['loser'] });
  }
  const winner = yield* memoryById(command.winnerId);
  const loser = yield* memoryById(command.loserId);
  for (const row of [winner, loser]) {
    if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
    if (!mayChange(row, command.viewer)) return notOwner(row, command.viewer);
  }
  const kept = winner as NonNullable<typeof winner>;
  const gone = loser as NonNullable<typeof loser>;
  const noted = kept.metadata['supersedes'];
  const before = Array.isArray(noted) ? noted.filter((id) => typeof id === 'string' && id !== gone.id) : [];
  const memory: Memory = {
    ...kept,
    metadata: { ...kept.metadata, supersedes: [...before, gone.id].slice(-SUPERSEDES_MAX) },
    updated_at: context.now,
    version: kept.version + 1,
  };
  const { keep } = command;
  const ended = keep === true ? endedBy(gone, kept.valid_from ?? context.now, context.now) : null;
  const leaves =
    keep !== true
      ? [removeMemory(gone, { word: 'archive', reason: 'superseded', archive: true })]
      : ended === null
        ? []
        : [replaceMemory(gone, ended, { reembed: false })];
  return decided({ winner: kept.id, loser: gone.id }, [
    replaceMemory(kept, memory, { reembed: false }),
    ...leaves,
    ...(yield* ownLinks(kept, 'supersedes', [gone.id], context)),
  ]);
}

export const resolveMemoriesCommand = defineCommand({
  kind: 'resolve-memories',
  decide: decideResolve,
  gate: {
    action: 'resolve',
    about: ({ loserId }) => loserId,
    proposes: ({ winnerId: winner, loserId: loser }) => ofRows([winner, loser], { winner, loser }),
  },
  read: shaped<ResolveMemories>('resolve-memories', {
    ...{ winnerId: isId, loserId: isId },
    keep: isAbsentOr((value) => value === true),
  }),
  uses: ({ command: { winnerId, loserId } }) => [
    [winnerId, 'linked'],
    [loserId, 'superseded'],
  ],
});
