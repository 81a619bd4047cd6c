import type { AgentId, MemoryId } from '../base/meanings.js';
import type { GatedPlace } from '../decide/gate.js';
import type { Mutation } from '../decide/mutations.js';
import type { PermissionOp } from '../decide/permissions.js';
import type { Reading } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import type { Link } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { privateTo } from './access.js';
import { type Memory, TIERS } from './memory.js';
import { memoryKind, memoryPayload } from './memory-kind.js';
import { memoryById } from './reads.js';

/** What a rule would change, and what it looked at to find that out. */
export interface Changes {
  readonly mutations: readonly Mutation[];
  /** The memories that it read by their ids, the archived one that it restores included. */
  readonly rows: ReadonlyMap<MemoryId, Memory>;
}

/** A change of one memory: null before a new one, and after one that goes. */
export interface MemoryChange {
  readonly word: string;
  readonly before: Memory | null;
  readonly after: Memory | null;
}

/** The changes of memories. What a read moves, and an expiry, belong to the service. */
export function memoryChanges(mutations: readonly Mutation[]): readonly MemoryChange[] {
  const changes: MemoryChange[] = [];
  for (const mutation of mutations) {
    if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') continue;
    const { kind, word } = mutation;
    if (kind !== memoryKind.name || word === 'life' || word === 'expire') continue;
    const after = mutation.mutation === 'write' ? (mutation.image as Memory) : null;
    changes.push({ word, before: mutation.before as Memory | null, after });
  }
  return changes;
}

/** The links that change, as they are before the change where there is one. */
export function linkChanges(
  mutations: readonly Mutation[],
): readonly { readonly before: Link | null; readonly link: Link }[] {
  return mutations.flatMap((mutation) => {
    if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') return [];
    if (mutation.kind !== linkKind.name) return [];
    const before = mutation.before as Link | null;
    const link = mutation.mutation === 'write' ? (mutation.image as Link) : before;
    return link === null ? [] : [{ before, link }];
  });
}

/** The gates that changes pass, each once: what happens to a row decides, not what the call is named. */
export function* placesOf(mutations: readonly Mutation[]): Reading<readonly GatedPlace[]> {
  const places = memoryChanges(mutations).flatMap(placesOfMemory);
  // Links that the service makes with a memory say what the memory itself says, and pass its gates.
  const links = memoryChanges(mutations).every(onlyEnds) ? linkChanges(mutations) : [];
  for (const { link } of links) {
    // A link shows with both of its memories, so a rule about the namespace of either one counts.
    for (const id of [link.source_id, link.target_id]) {
      const end = yield* memoryById(id);
      if (end !== null) places.push({ gate: 'link', namespace: end.namespace, ops: ['memory_link'] });
    }
  }
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()];
}

/** True for a change that only sets the end of a validity, as a link that supersedes does. */
function onlyEnds({ word, before, after }: MemoryChange): boolean {
  if (word !== 'update' || before === null || after === null) return false;
  const { valid_until, updated_at, version } = after;
  return memoryPayload({ ...before, valid_until, updated_at, version }) === memoryPayload(after);
}

function placesOfMemory(change: MemoryChange): readonly GatedPlace[] {
  const alone = [change.before, change.after].flatMap((row) => (row === null ? [] : [privateTo(row)]));
  const [first = null] = alone;
  const owner = alone.every((agent) => agent === first) ? first : null;
  return gatesOfMemory(change).map((place) => aloneAt(place, owner));
}

function gatesOfMemory({ word, before, after }: MemoryChange): readonly GatedPlace[] {
  if (after === null)
    return before === null ? [] : [{ gate: 'delete', ...rowOf(before), ops: [removing(word)] }];
  const write = { gate: 'write', ops: ['memory_store'] } as const;
  if (before === null)
    // A memory that comes back from the archive has its owner already.
    return [word === 'restore' ? { ...write, ...rowOf(after) } : { ...write, namespace: after.namespace }];
  const row = rowOf(before);
  const places: GatedPlace[] = [];
  if (word !== 'promote') places.push({ ...write, ...row });
  if (word === 'promote' || rises(before, after)) places.push(promotion(before));
  if (isLost(before, after)) places.push({ gate: 'delete', ...row, ops: ['memory_delete'] });
  if (after.namespace !== before.namespace) places.push({ ...write, namespace: after.namespace });
  return places;
}

const rowOf = (memory: Memory) => ({ namespace: memory.namespace, rowOwner: ownerOf(memory) });

const removing = (word: string): PermissionOp => (word === 'archive' ? 'memory_archive' : 'memory_delete');

const promotion = (memory: Memory): GatedPlace => ({
  ...{ gate: 'promote', ...rowOf(memory), ops: ['memory_store'] },
});

/** The gate of a memory about which a caller writes a record: as if the memory itself changed. */
export const editing = (memory: Memory): GatedPlace =>
  aloneAt({ gate: 'write', ...rowOf(memory), ops: ['memory_store'] }, privateTo(memory));

/** The gate of a memory that is promoted as its copy in an ancestor. */
export const promoting = (memory: Memory): GatedPlace => aloneAt(promotion(memory), privateTo(memory));

const aloneAt = (place: GatedPlace, owner: AgentId | null): GatedPlace =>
  owner === null ? place : { ...place, privateTo: owner };

const rises = (before: Memory, after: Memory): boolean =>
  TIERS.indexOf(after.tier) > TIERS.indexOf(before.tier);

/**
 * True for a change that takes a memory away from those who have it, as a deletion does: it leaves its namespace, expires
 * earlier, is seen by fewer agents, or belongs to another one.
 */
function isLost(before: Memory, after: Memory): boolean {
  if (after.namespace !== before.namespace || ownerOf(after) !== ownerOf(before)) return true;
  if (reach(after) < reach(before)) return true;
  if (after.expires_at === null) return false;
  return before.expires_at === null || after.expires_at < before.expires_at;
}

/** How far the scope of a memory reaches. */
function reach({ metadata: { scope } }: Memory): number {
  // Any other text is as private.
  if (scope === undefined || scope === null) return REACH.indexOf('collective');
  return Math.max(0, REACH.indexOf(String(scope)));
}

const REACH: readonly string[] = ['private', 'team', 'unit', 'org', 'collective'];
