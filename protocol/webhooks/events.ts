import { withAncestors } from '../base/ids.js';
import type { AnyCommand, Commands } from '../decide/command.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import { ownerOf } from '../identity/owner.js';
import type { Link } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { type Memory, TIERS } from '../memory/memory.js';
import { ERASURE, memoryKind } from '../memory/memory-kind.js';
import { memoryById } from '../memory/reads.js';
import { type PendingAction, type PendingState, pendingKind } from '../policies/pending-kind.js';
import { sightOf, whoSees } from './audience.js';
import type { EventType } from './event-types.js';
import type { Announcement, WebhookEvent } from './webhook-event.js';

/** What a mutation did to one subject. */
interface Change {
  readonly kind: string;
  readonly id: string;
  readonly before: object | null;
  readonly after: object | null;
  /** Why the subject was removed; null while it is there. */
  readonly reason: string | null;
}

const HEARD: ReadonlySet<string> = new Set([memoryKind.name, linkKind.name, pendingKind.name]);

/** True for a mutation that can be an event. */
export const canBeEvent = (mutation: Mutation): boolean =>
  (mutation.mutation === 'write' || mutation.mutation === 'remove' || mutation.mutation === 'settle') &&
  HEARD.has(mutation.kind);

/**
 * The events of the changes of a command. They follow from the images before and after, so that a node that applies an
 * operation of a peer announces what the peer announced. Only a store that merges into a memory shows by its command.
 */
export function* announcementsOf(
  command: AnyCommand,
  mutations: readonly Mutation[],
  commands: Commands,
): Reading<readonly Announcement[]> {
  const changes = mutations.flatMap((mutation) => changeOf(mutation) ?? []);
  const written = new Map<string, Memory | null>();
  for (const { kind, id, after } of changes)
    if (kind === memoryKind.name) written.set(id, after as Memory | null);
  const found: Announcement[] = [];
  for (const change of changes)
    found.push(...(yield* announcementOf(change, command, { written, commands })));
  return found;
}

function changeOf(mutation: Mutation): Change | null {
  if (!canBeEvent(mutation)) return null;
  switch (mutation.mutation) {
    case 'write':
      return { ...named(mutation), before: mutation.before, after: mutation.image, reason: null };
    case 'remove':
      return { ...named(mutation), before: mutation.before, after: null, reason: mutation.reason };
    case 'settle': {
      const { image, removal } = mutation.settled;
      return {
        ...named(mutation),
        before: mutation.before?.image ?? null,
        after: image,
        reason: removal?.reason ?? null,
      };
    }
    default:
      return null;
  }
}

const named = ({ kind, id }: { readonly kind: string; readonly id: string }) => ({ kind, id });

function* announcementOf(
  change: Change,
  command: AnyCommand,
  {
    written,
    commands,
  }: { readonly written: ReadonlyMap<string, Memory | null>; readonly commands: Commands },
): Reading<readonly Announcement[]> {
  switch (change.kind) {
    case memoryKind.name:
      return yield* memoryEvent(change, command);
    case linkKind.name:
      return yield* linkEvent(change, written);
    default:
      return yield* pendingEvent(change, commands);
  }
}

function* memoryEvent(
  { before, after, reason }: Change,
  command: AnyCommand,
): Reading<readonly Announcement[]> {
  const was = before as Memory | null;
  const is = after as Memory | null;
  if ((is ?? was)?.namespace === AGENTS_NAMESPACE) return [];
  if (is === null) {
    if (was === null) return [];
    if (reason === ERASURE.reason) return [ofMemory('memory_delete', was, { reason })];
    return [ofMemory('memory_delete', was, { title: was.title, tier: was.tier, reason })];
  }
  if (was === null) return yield* newMemoryEvent(is);
  if (TIERS.indexOf(is.tier) > TIERS.indexOf(was.tier))
    return [ofMemory('memory_promote', is, { mode: 'tier', tier: is.tier })];
  return command.kind === 'store-memory' ? [ofMemory('memory_store', is, {})] : [];
}

/**
 * A memory that was not there before: stored, joined from others, or the clone of one below. Who does not see the memory
 * below hears of a store, so that nothing of it shows by what they hear.
 */
function* newMemoryEvent(memory: Memory): Reading<readonly Announcement[]> {
  const sources = memory.metadata['derived_from'];
  const stored = ofMemory('memory_store', memory, {});
  if (!Array.isArray(sources) || sources.length === 0) return [stored];
  if (memory.source === 'consolidation') {
    const details = { source_ids: sources, source_count: sources.length };
    return [ofMemory('memory_consolidated', memory, details)];
  }
  const [id] = sources as readonly unknown[];
  const source = sources.length === 1 && typeof id === 'string' ? yield* memoryById(id) : null;
  const isClone =
    source !== null &&
    source.title === memory.title &&
    withAncestors(source.namespace).slice(1).includes(memory.namespace);
  if (!isClone) return [stored];
  const details = { mode: 'vertical', to_namespace: memory.namespace, clone_id: memory.id };
  const { event } = ofMemory('memory_promote', source, details);
  return [
    { event, audience: whoSees(source, memory) },
    { ...stored, audience: { ...whoSees(memory), sightless: sightOf(source) } },
  ];
}

const ofMemory = (event: EventType, memory: Memory, details: WebhookEvent['details']): Announcement => ({
  event: { event, memory_id: memory.id, namespace: memory.namespace, agent_id: ownerOf(memory), details },
  audience: whoSees(memory),
});

function* linkEvent(
  { before, after }: Change,
  written: ReadonlyMap<string, Memory | null>,
): Reading<readonly Announcement[]> {
  const was = before as Link | null;
  const is = after as Link | null;
  if (is === null) return [];
  const isMoved = was?.valid_until !== is.valid_until;
  const isEnded = is.retired_at !== null && was !== null && (was.retired_at === null || isMoved);
  const isMade =
    is.retired_at === null && (was === null || was.retired_at !== null || was.created_at !== is.created_at);
  if (!isEnded && !isMade) return [];
  const { source_id, target_id, relation, valid_until, believed_until } = is;
  const end = function* (id: string): Reading<Memory | null> {
    return written.has(id) ? (written.get(id) ?? null) : yield* memoryById(id);
  };
  const source = yield* end(source_id);
  const target = yield* end(target_id);
  if (source === null || target === null) return [];
  const previous = believed_until === null ? {} : { previous_valid_until: believed_until };
  const announced: Announcement = {
    event: {
      event: isEnded ? 'memory_link_invalidated' : 'memory_link_created',
      memory_id: source_id,
      namespace: source.namespace,
      agent_id: is.observed_by,
      details: isEnded ? { target_id, relation, valid_until, ...previous } : { target_id, relation },
    },
    audience: whoSees(source, target),
  };
  return [announced];
}

const DECISIONS: Readonly<Record<Exclude<PendingState, 'pending'>, string>> = {
  approved: 'approve',
  rejected: 'deny',
  expired: 'expired',
};

/** The memory of an action is named only to who requested it and to who sees the memory. */
function* pendingEvent({ before, after }: Change, commands: Commands): Reading<readonly Announcement[]> {
  const was = before as PendingAction | null;
  const is = after as PendingAction | null;
  if (is === null || (was !== null && was.status === is.status)) return [];
  const { pending_id, namespace, action_type, requested_by, requested_at, status, memory_id } = is;
  const common = { action_type, requested_at, status };
  const { decided_by, remember } = is;
  const event: WebhookEvent = {
    event: status === 'pending' ? 'approval_requested' : 'approval_decided',
    memory_id: pending_id,
    namespace,
    agent_id: requested_by,
    details: status === 'pending' ? common : { ...common, decision: DECISIONS[status], decided_by, remember },
  };
  const { approver } = is;
  const audience = { ...whoSees(), action: { requested_by, approver } };
  if (memory_id === null) return [{ event, audience }];
  const row = (yield* memoryById(memory_id)) ?? commands.proposalOf(is.command)?.brings ?? null;
  const target = row === null ? null : sightOf(row);
  const whole = { ...event, details: { ...event.details, target_memory_id: memory_id } };
  return [
    { event: whole, audience: { ...audience, about: { target, isShown: true } } },
    { event, audience: { ...audience, about: { target, isShown: false } } },
  ];
}
