import { REFLECT_SOURCES_MAX } from '../base/limits.js';
import type { AgentId, MemoryId } from '../base/meanings.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { isFlag, isRequester, type ReadMember, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { GatedPlace } from '../decide/gate.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import type { Held, Proposal } from '../decide/proposal.js';
import { after, ownOrigin, type Reading } from '../decide/reads.js';
import { chargeFor, chargeLinks } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { isCount, isObject, isText } from '../kinds/payload.js';
import { narrowestScope } from '../lifecycle/consolidation.js';
import type { Link } from '../links/link.js';
import { isLink } from '../links/link-members.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { isExpired, isVisible, privateTo } from '../memory/access.js';
import { memoryChanges } from '../memory/changes.js';
import { newMemory, ofMemory } from '../memory/command-members.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { insertMemory } from '../memory/memory-writes.js';
import { newLinks } from '../memory/own-link.js';
import { memoryById } from '../memory/reads.js';
import { titleRoom } from '../memory/title-room.js';
import { depthCapOf } from '../namespaces/reflection-policy.js';
import { exportOrders, personaOrders } from './after-reflection.js';

/** Stores a memory that reflects on others, with a link to each of them. */
export interface StoreReflection {
  readonly kind: 'store-reflection';
  /** The row to write, without stamps. Its depth, and what its metadata says of its sources, follow from the sources. */
  readonly memory: Memory;
  /** A link to each source, signed where its maker has a key. */
  readonly links: readonly Link[];
  /** The depth that the caller expects; null where it does not say one. */
  readonly depth: number | null;
  readonly viewer: Viewer;
  readonly archive: boolean;
  /** True for a command that was sent before and not answered: a row with its id answers it. */
  readonly again?: true;
}

/** What `store-reflection` answers. */
export interface StoreReflectionOutcome {
  readonly stored: Pick<Memory, 'id' | 'namespace' | 'reflection_depth'>;
  readonly sources: readonly MemoryId[];
}

/**
 * Stores a reflection and its links, or nothing. Its depth is that of its deepest source plus one. NOT_FOUND for a source that
 * the caller does not see, CALLER_DEPTH_MISMATCH, REFLECTION_DEPTH_EXCEEDED beyond what the policies of its namespace allow,
 * CONFLICT for a taken title, QUOTA_EXCEEDED. A refused depth is recorded, and charged as the memory would be, so that no
 * caller fills the audit chain.
 */
function* decideStoreReflection(
  command: StoreReflection,
  context: DecisionContext,
): Deciding<StoreReflectionOutcome> {
  const { links, viewer, archive, depth: expected } = command;
  const ids = links.map(({ target_id }) => target_id);
  if (command.again === true) {
    const row = yield* memoryById(command.memory.id);
    if (row !== null) return decided({ stored: summaryOf(row), sources: ids }, []);
  }
  const wrong = shapeProblem(command);
  if (wrong !== null) return fail('VALIDATION_FAILED', wrong, { fields: ['source_ids'] });
  const found = yield* visibleSources(ids, viewer, context);
  if (!found.ok) return failed(found.error);
  const sources = found.value;
  const memory = reflectionOn(sources, command, context);
  const { reflection_depth: depth } = memory;
  if (expected !== null && expected !== depth) return failed(depthMismatch(expected, depth));
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  const cap = yield* depthCapOf({ namespace: memory.namespace, privateTo: privateTo(memory) });
  if (depth > cap) {
    yield* after([...charge.value, yield* refusedDepth(memory, cap, sources)]);
    return failed(tooDeep(memory, cap));
  }
  const room = yield* titleRoom(memory, { viewer, archive, leaving: [] }, context);
  if (!room.ok) return failed(room.error);
  const linkCharge = yield* chargeLinks(memory, links.length, viewer, context);
  if (!linkCharge.ok) return failed(linkCharge.error);
  return decided({ stored: summaryOf(memory), sources: ids }, [
    ...room.value,
    ...charge.value,
    ...linkCharge.value,
    insertMemory(memory),
    ...(yield* newLinks(memory, links)),
    ...(yield* exportOrders(memory, context.now)),
    ...(yield* personaOrders(memory, context.now)),
    event(memory, 'memory.reflected', { id: memory.id, sources: ids, reflection_depth: depth }),
  ]);
}

const summaryOf = ({ id, namespace, reflection_depth }: Memory) => ({ id, namespace, reflection_depth });

/** Another process may have made the command, so the links are compared with what they must be. */
function shapeProblem({ memory, links }: StoreReflection): string | null {
  if (links.length === 0) return 'a reflection names the memories that it is about';
  if (links.length > REFLECT_SOURCES_MAX)
    return `a reflection is about at most ${REFLECT_SOURCES_MAX} memories`;
  const isOwn = ({ source_id, target_id, relation }: Link) =>
    source_id === memory.id && target_id !== memory.id && relation === 'reflects_on';
  if (memory.kind !== 'reflection' || !links.every(isOwn))
    return 'the links must lead from the reflection to its sources';
  const targets = new Set(links.map(({ target_id }) => target_id));
  return targets.size === links.length ? null : 'a source is named twice; name each once';
}

/** The memories that a text is about, as its writer sees them; NOT_FOUND names the others. */
export function* visibleSources(
  ids: readonly MemoryId[],
  viewer: Viewer,
  { now }: DecisionContext,
): Reading<Result<readonly MemoryRow[]>> {
  const sources: MemoryRow[] = [];
  const missing: MemoryId[] = [];
  for (const id of ids) {
    const row = yield* memoryById(id);
    if (row === null || isExpired(row, now) || !isVisible(row, viewer)) missing.push(id);
    else sources.push(row);
  }
  return missing.length === 0 ? ok(sources) : sourceNotFound(missing);
}

/** The failure that names sources as the caller gave them. */
export const sourceNotFound = (missing: readonly string[]) =>
  fail('NOT_FOUND', `source memory not found: ${missing.join(', ')}`, { missing });

/** What is said of the sources is the service's, unless the caller says it. A scope that the caller does not name is never wider than that of a source. */
function reflectionOn(
  sources: readonly MemoryRow[],
  { memory }: StoreReflection,
  { now }: DecisionContext,
): Memory {
  const depth = 1 + Math.max(...sources.map(({ reflection_depth }) => reflection_depth));
  const said = {
    reflected_on_source_ids: sources.map(({ id }) => id),
    reflection_depth: depth,
    reflection_created_at: now,
  };
  const isStated = typeof memory.metadata['scope'] === 'string';
  const scope = isStated ? null : narrowestScope(sources, memory.namespace);
  const metadata = {
    ...{ reflection_metadata: said, ...memory.metadata },
    ...(scope === null ? {} : { scope }),
  };
  return { ...memory, reflection_depth: depth, metadata };
}

const depthMismatch = (expected: number, depth: number): Failure =>
  failure(
    'CALLER_DEPTH_MISMATCH',
    `CALLER_DEPTH_MISMATCH: the sources give the reflection depth ${depth}, and the call says ${expected}`,
    { depth, caller_depth: expected },
  );

const tooDeep = ({ namespace, reflection_depth: attempted }: Memory, cap: number): Failure =>
  failure(
    'REFLECTION_DEPTH_EXCEEDED',
    `REFLECTION_DEPTH_EXCEEDED: reflection depth ${attempted} would exceed namespace max_reflection_depth ${cap} (namespace='${namespace}')`,
    { attempted, cap, namespace },
  );

/** The record of a refusal; where another node wrote one of the deepest sources, its type says so. */
function* refusedDepth(memory: Memory, cap: number, sources: readonly MemoryRow[]): Reading<Mutation> {
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const { namespace, reflection_depth: attempted } = memory;
  const deepest = sources.filter(({ reflection_depth }) => reflection_depth === attempted - 1);
  const isOfPeer = deepest.some(({ origin }) => peerOfOrigin(origin) !== self);
  const type = `reflection.depth_exceeded${isOfPeer ? '.cross_peer' : ''}`;
  return event(memory, type, { attempted, cap, namespace, sources: sources.map(({ id }) => id) });
}

const event = (memory: Memory, type: string, payload: Readonly<Record<string, unknown>>): Mutation =>
  appendAudit({ event: { agentId: authorOf(memory), type, payload } });

const authorOf = (memory: Memory): AgentId => ownerOf(memory) ?? 'operator';

/** The links as the requester observed them. */
export const linksOfRequester: ReadMember<readonly Link[]> = {
  read: (value, by) => {
    if (!Array.isArray(value) || value.length > REFLECT_SOURCES_MAX) return undefined;
    const links = value.map((link) => isLink.read(link, by));
    const isOwn = (link: Link | undefined): link is Link =>
      link !== undefined && isRequester(link.observed_by, by);
    return links.every(isOwn) ? links : undefined;
  },
};

/** What approvers see: the memory, and what it is about. */
export function proposedWithSources(held: Held, more: readonly string[]): Proposal | null {
  const { links } = held;
  if (!Array.isArray(links)) return null;
  const ids = links.map((link) => (isObject(link) ? link['target_id'] : null));
  const proposal = ids.every(isText)
    ? ofMemory(held, {
        source_ids: ids,
        ...Object.fromEntries(more.map((member) => [member, held[member]])),
      })
    : null;
  // Who does not see a source may not see what is said of it.
  return proposal === null ? null : { ...proposal, about: ids as MemoryId[] };
}

/**
 * The gates besides that of the row: the depth, and a link to each source, because a link shows with both of its memories, so
 * a rule about the namespace of either one counts.
 */
function furtherPlaces(
  mutations: readonly Mutation[],
  rows: ReadonlyMap<MemoryId, Memory>,
): readonly GatedPlace[] {
  const written = memoryChanges(mutations).flatMap(({ before, after: row }) =>
    before === null && row !== null ? [row] : [],
  );
  const depths = written.map((row): GatedPlace => {
    const owner = privateTo(row);
    const { namespace, reflection_depth: depth } = row;
    const place = { gate: 'reflect', namespace, depth, ops: ['memory_store'] } as const;
    return owner === null ? place : { ...place, privateTo: owner };
  });
  return [...depths, ...linkPlaces([...written, ...rows.values()])];
}

/** A gate for links in each namespace of rows. */
export const linkPlaces = (rows: readonly Pick<Memory, 'namespace'>[]): readonly GatedPlace[] =>
  [...new Set(rows.map(({ namespace }) => namespace))].map((namespace) => ({
    ...{ gate: 'link', namespace, ops: ['memory_link'] },
  }));

export const storeReflectionCommand = defineCommand({
  kind: 'store-reflection',
  decide: decideStoreReflection,
  gate: {
    action: 'reflect',
    saysText: true,
    about: ({ memory }) => memory.id,
    also: (_command, { mutations, rows }) => furtherPlaces(mutations, rows),
    proposes: (held) => proposedWithSources(held, ['depth']),
  },
  read: shaped<StoreReflection>('store-reflection', {
    memory: newMemory,
    links: linksOfRequester,
    depth: (value) => value === null || isCount(value),
    archive: isFlag,
  }),
  bytes: ({ memory, links }) => textBytes(memory.content, memory.metadata) + LINK_BYTES * links.length,
  text: ({ memory }) => memory.content,
  uses: ({ outcome: { sources } }) => sources.map((id) => [id, 'linked']),
  tells: {
    post_store: ({ outcome: { stored } }) => [{ memory: stored.id }],
    post_reflect: ({ outcome: { stored, sources } }) => [
      { namespace: stored.namespace, payload: { ...stored, reflects_on: sources } },
    ],
  },
});

/** What a link takes in a mailbox. */
export const LINK_BYTES = 2048;
