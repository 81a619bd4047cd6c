import type { MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { type AnyCommand, type AnyDeclared, canWait, viewerOf } from '../decide/command.js';
import type { GatedPlace } from '../decide/gate.js';
import type { Reading } from '../decide/reads.js';
import { type Changes, memoryChanges, placesOf } from '../memory/changes.js';
import type { Memory } from '../memory/memory.js';

/** What a command does, as policies, permission rules and hooks are asked about it. */
export interface GatedAction {
  /** The word of the pending action and of refusals. */
  readonly action: string;
  readonly viewer: Viewer;
  readonly places: readonly GatedPlace[];
  /** The memory that changes; null for several. */
  readonly memoryId: MemoryId | null;
  /** False for a command that cannot wait: what it would do later is not what was asked now. */
  readonly canWait: boolean;
  /** What to do instead of a command that cannot wait. */
  readonly instead: string | null;
  /** True where the command itself says the text that it writes. */
  readonly saysText: boolean;
  /** The memories as they are written, which rules of kind memory_write look at. */
  readonly written: readonly Pick<Memory, 'title' | 'tier' | 'namespace'>[];
}

/** What a command does by its changes; null for one that nothing gates, and for one that changes nothing that is gated. */
export function* gatedAction(
  declared: AnyDeclared,
  command: AnyCommand,
  changes: Changes,
): Reading<GatedAction | null> {
  const { gate } = declared;
  if (typeof gate === 'string') return null;
  const also = gate.also?.(command as never, changes as never) ?? [];
  const { op } = gate;
  const places = [...also, ...(yield* placesOf(changes.mutations))].map((place) =>
    op === undefined ? place : { ...place, ops: [op, ...place.ops] },
  );
  if (places.length === 0) return null;
  const written = memoryChanges(changes.mutations).flatMap(({ after }) => (after === null ? [] : [after]));
  const memoryId = gate.about === undefined ? (written[0]?.id ?? null) : gate.about(command as never);
  const viewer = viewerOf(declared, command)!;
  return {
    ...{ action: gate.action, viewer, places, memoryId, canWait: canWait(declared), written },
    ...{ saysText: gate.saysText === true, instead: gate.instead ?? null },
  };
}
