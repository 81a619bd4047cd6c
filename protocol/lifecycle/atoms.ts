import type { Instant, MemoryId } from '../base/meanings.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { isFlag, isId, isRequester, type ReadMember, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { ofRows } from '../decide/proposal.js';
import type { Reading } from '../decide/reads.js';
import { chargeFor, chargeLinks } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { isCount } from '../kinds/payload.js';
import type { Link } from '../links/link.js';
import { isLink } from '../links/link-members.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import { editing } from '../memory/changes.js';
import { newMemory, ofMemory } from '../memory/command-members.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { newLinks } from '../memory/own-link.js';
import { memoryById } from '../memory/reads.js';
import { titleRoom } from '../memory/title-room.js';
import { notFound, notOwner } from '../memory/update.js';
import { ATOM_DEPTH_MAX, ATOMS_MAX, ATOMS_MIN } from './atom-limits.js';

/** Stores one atom of a memory, with a link to that memory. */
export interface StoreAtom {
  readonly kind: 'store-atom';
  /** The row to write, without stamps; `atom_of` names its source. Its scope follows from the source. */
  readonly memory: Memory;
  /** A link to the source, signed where its maker has a key. */
  readonly link: Link;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** What `store-atom` answers. */
export interface StoreAtomOutcome {
  readonly stored: Pick<Memory, 'id' | 'namespace'>;
  /** False where the atom was there. */
  readonly created: boolean;
}

/**
 * Stores an atom, or answers with the one that is there. NOT_FOUND, FORBIDDEN for the memory of another agent, CONFLICT where
 * another call has split the memory otherwise, ATOMISATION_DEPTH_EXCEEDED, QUOTA_EXCEEDED.
 */
function* decideStoreAtom(command: StoreAtom, context: DecisionContext): Deciding<StoreAtomOutcome> {
  const { viewer, link, archive } = command;
  const found = yield* changeable(command.memory.atom_of ?? '', viewer, context);
  if (!found.ok) return failed(found.error);
  const source = found.value;
  const wrong = shapeProblem(command, source);
  if (wrong !== null) return fail('VALIDATION_FAILED', wrong, { fields: ['memory'] });
  const there = yield* memoryById(command.memory.id);
  if (there !== null) {
    if (there.atom_of === source.id && there.content === command.memory.content) {
      return decided({ stored: summaryOf(there), created: false }, []);
    }
    return fail('CONFLICT', 'another call splits the memory at the same time: call again when it has ended');
  }
  const depth = 1 + (yield* atomDepth(source));
  if (depth > ATOM_DEPTH_MAX) {
    const message = `the memory is an atom of depth ${depth - 1}, and atoms are at most ${ATOM_DEPTH_MAX} deep`;
    return fail('ATOMISATION_DEPTH_EXCEEDED', message, { attempted: depth, cap: ATOM_DEPTH_MAX });
  }
  const memory = asVisibleAs(source, command.memory);
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  const room = yield* titleRoom(memory, { viewer, archive, leaving: [] }, context);
  if (!room.ok) return failed(room.error);
  const linkCharge = yield* chargeLinks(memory, 1, viewer, context);
  if (!linkCharge.ok) return failed(linkCharge.error);
  return decided({ stored: summaryOf(memory), created: true }, [
    ...room.value,
    ...charge.value,
    ...linkCharge.value,
    insertMemory(memory),
    ...(yield* newLinks(memory, [link])),
  ]);
}

const summaryOf = ({ id, namespace }: Memory) => ({ id, namespace });

function* changeable(id: MemoryId, viewer: Viewer, { now }: DecisionContext): Reading<Result<MemoryRow>> {
  const row = yield* memoryById(id);
  if (row === null || isExpired(row, now) || !isVisible(row, viewer)) return notFound();
  return mayChange(row, viewer) ? ok(row) : notOwner(row, viewer);
}

/** Another process may have made the command, so it is compared with what it must be. */
function shapeProblem({ memory, link }: StoreAtom, source: MemoryRow): string | null {
  const leads =
    link.source_id === memory.id && link.target_id === source.id && link.relation === 'derives_from';
  if (!leads) return 'the link must lead from the atom to its source';
  const owner = ownerOf(source);
  if (owner !== null && ownerOf(memory) !== owner) return 'an atom belongs to the owner of its source';
  return memory.namespace === source.namespace ? null : 'an atom lies in the namespace of its source';
}

/** The atom with the scope, the expiry and the validity that its source has now, not those that were read before. */
function asVisibleAs(source: MemoryRow, atom: Memory): Memory {
  const { expires_at, valid_from, valid_until } = source;
  const { scope } = source.metadata;
  const { scope: _scope, ...metadata } = atom.metadata;
  return {
    ...atom,
    expires_at,
    valid_from,
    valid_until,
    metadata: scope === undefined ? metadata : { ...metadata, scope },
  };
}

/** How many sources a memory has above it that are there; 0 for one that is no atom. */
function* atomDepth(memory: MemoryRow): Reading<number> {
  let [depth, above] = [0, memory.atom_of];
  while (above !== null && depth <= ATOM_DEPTH_MAX) {
    depth += 1;
    above = (yield* memoryById(above))?.atom_of ?? null;
  }
  return depth;
}

/** Says that the atoms of a memory are all there, so that recalls answer with them instead of it. */
export interface MarkAtomised {
  readonly kind: 'mark-atomised';
  readonly id: MemoryId;
  readonly atomIds: readonly MemoryId[];
  /** The version of the memory whose text the atoms say. */
  readonly version: number;
  readonly viewer: Viewer;
}

/** What `mark-atomised` answers. */
export interface MarkAtomisedOutcome {
  readonly source: MemoryId;
  readonly archivedAt: Instant;
}

function* decideMarkAtomised(
  { id, atomIds, version, viewer }: MarkAtomised,
  context: DecisionContext,
): Deciding<MarkAtomisedOutcome> {
  const found = yield* changeable(id, viewer, context);
  if (!found.ok) return failed(found.error);
  const row = found.value;
  if (row.version !== version) {
    return fail('VERSION_CONFLICT', `version is ${row.version}, not ${version}`, {
      ...{ status: 'conflict', id, expected_version: version, current_version: row.version },
    });
  }
  for (const atomId of atomIds) {
    const atom = yield* memoryById(atomId);
    if (atom?.atom_of !== id) return fail('CONFLICT', 'an atom of the memory was removed: call again');
  }
  const { now } = context;
  const marked: Memory = {
    ...row,
    ...{ atomised_into: atomIds.length, updated_at: now, version: row.version + 1 },
    metadata: { ...row.metadata, atomisation_archived_at: now },
  };
  const charge = yield* chargeFor(marked, row, context);
  if (!charge.ok) return failed(charge.error);
  const payload = { source_id: id, atom_ids: atomIds, atom_count: atomIds.length };
  const agentId = viewer.agentId ?? ownerOf(row) ?? 'operator';
  return decided({ source: id, archivedAt: now }, [
    ...charge.value,
    replaceMemory(row, marked, { reembed: false }),
    appendAudit({ event: { agentId, type: 'atomisation_complete', payload } }),
  ]);
}

/** The link as the requester observed it. */
const ownLink: ReadMember<Link> = {
  read: (value, by) => {
    const link = isLink.read(value, by);
    return link !== undefined && isRequester(link.observed_by, by) ? link : undefined;
  },
};

const isAtomIds = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length >= ATOMS_MIN &&
  value.length <= ATOMS_MAX &&
  value.every((id) => typeof id === 'string');

export const storeAtomCommand = defineCommand({
  kind: 'store-atom',
  decide: decideStoreAtom,
  gate: {
    action: 'store',
    saysText: true,
    about: ({ memory }) => memory.id,
    // The source is hidden in the end, so who may not change it stores no atom; a link shows with both of its memories.
    also: ({ memory }, { mutations, rows }) => {
      const source = (rows as ReadonlyMap<MemoryId, MemoryRow>).get(memory.atom_of ?? '');
      if (mutations.length === 0 || source === undefined) return [];
      return [editing(source), { gate: 'link', namespace: source.namespace, ops: ['memory_link'] }];
    },
    proposes: (held) => {
      const proposal = ofMemory(held);
      const about = proposal?.brings === null ? null : (held['memory'] as Partial<Memory> | null)?.atom_of;
      if (proposal === null || typeof about !== 'string') return null;
      // Who does not see the source may not see what it says.
      return { ...proposal, about: [about] };
    },
  },
  read: shaped<StoreAtom>('store-atom', { memory: newMemory, link: ownLink, archive: isFlag }),
  bytes: ({ memory }) => textBytes(memory.content, memory.metadata) + LINK_BYTES,
  text: ({ memory }) => memory.content,
  tells: {
    post_store: ({ outcome: { stored, created } }) => (created ? [{ memory: stored.id }] : []),
  },
});

/** What a link takes in a mailbox. */
const LINK_BYTES = 2048;

export const markAtomisedCommand = defineCommand({
  kind: 'mark-atomised',
  decide: decideMarkAtomised,
  gate: {
    action: 'update',
    about: ({ id }) => id,
    proposes: ({ id, atomIds }) => ofRows([id], { id, atom_ids: atomIds }),
  },
  read: shaped<MarkAtomised>('mark-atomised', {
    ...{ id: isId, atomIds: isAtomIds, version: isCount },
  }),
});
