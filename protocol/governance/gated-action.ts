import type { Command } from '../commands.js';
import { memoryById, type Reading, read } from '../decide/reads.js';
import type { LinkKey } from '../graph/link.js';
import type { AgentId, Instant, MemoryId } from '../meanings.js';
import { isExpired, isVisible } from '../memory/access.js';
import { type Memory, ownerOf } from '../memory/memory.js';
import { sharedNamespace } from '../messages/mail.js';
import type { Viewer } from '../ranking/types.js';
import type { Gate } from './effective-policy.js';
import type { PermissionOp } from './settings.js';

/** One gate that an action passes. */
export interface GatedPlace {
  /** What a policy calls it; `link` for a link, about which only permission rules say something. */
  readonly gate: Gate | 'link';
  readonly namespace: string;
  /** The owner of the row that changes; absent for a new row, where the owner of the policy counts. */
  readonly rowOwner?: AgentId | null;
}

/** A command as its policy sees it. */
export interface GatedAction extends Looked {
  /** The word of the pending action and of refusals. */
  readonly action: string;
  readonly op: PermissionOp;
}

/** What a gate finds out about a command. */
interface Looked {
  readonly viewer: Viewer;
  readonly places: readonly GatedPlace[];
  /** The memory that changes; null for several. */
  readonly memoryId: MemoryId | null;
  /** False for a command that cannot wait: what it would do later is not what was asked now. */
  readonly canWait: boolean;
  /** What rules of kind memory_write look at; null where nothing new is written. */
  readonly written: Pick<Memory, 'title' | 'tier' | 'namespace'> | null;
}

type Of<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

/** A command that policies or permission rules gate. */
interface Gated<K extends Command['kind']> extends Pick<GatedAction, 'action' | 'op'> {
  /** Null for a command whose rule refuses it because its memory is missing or hidden. */
  readonly look: (command: Of<K>, now: Instant) => Reading<Looked | null>;
}

/** Why nothing gates a command. */
type Ungated =
  /** It changes no live memory and no link: agents, quotas, subscriptions, archived copies, what a recall answered. */
  | 'no memory'
  /** It is governance itself, with checks of its own. */
  | 'governance'
  /** The operator imports, repairs or moves what is there. */
  | 'operator'
  /** The node does its own work. */
  | 'upkeep'
  /** It comes from another node, which has governed it. */
  | 'peer';

/** Every command with what a policy or a permission rule gates of it, or why nothing does. */
const GATES = {
  'store-memory': { action: 'store', op: 'memory_store', look: storing },
  'register-entity': { action: 'store', op: 'memory_store', look: storing },
  'send-message': { action: 'store', op: 'memory_store', look: storing },
  'share-memory': { action: 'store', op: 'memory_store', look: shared },
  'update-memory': {
    action: 'update',
    op: 'memory_store',
    look: (command, now) => updated(command, command.patch.namespace, now),
  },
  'undo-edit': { action: 'update', op: 'memory_store', look: undone },
  'restore-memory': { action: 'restore', op: 'memory_store', look: restored },
  'promote-memory': { action: 'promote', op: 'memory_store', look: promoted },
  'delete-memory': {
    action: 'delete',
    op: 'memory_delete',
    look: ({ id, viewer }, now) => removed([id], viewer, now),
  },
  'archive-memories': {
    action: 'archive',
    op: 'memory_archive',
    look: ({ ids, viewer }, now) => removed(ids, viewer, now),
  },
  'resolve-memories': {
    action: 'resolve',
    op: 'memory_archive',
    look: ({ loserId, viewer }, now) => removed([loserId], viewer, now),
  },
  'consolidate-memories': { action: 'consolidate', op: 'memory_consolidate', look: consolidated },
  'forget-memories': { action: 'forget', op: 'memory_delete', look: forgotten },
  'create-link': {
    action: 'link',
    op: 'memory_link',
    look: ({ link, viewer }, now) => linked(link, viewer, now),
  },
  'invalidate-link': {
    action: 'kg_invalidate',
    op: 'memory_link',
    look: ({ link, viewer }, now) => linked(link, viewer, now),
  },
  'drop-links': {
    action: 'unlink',
    op: 'memory_link',
    look: ({ sourceId, targetId, viewer }, now) =>
      linked({ source_id: sourceId, target_id: targetId }, viewer, now),
  },
  'touch-memories': 'no memory',
  'prune-observations': 'no memory',
  'register-agent': 'no memory',
  'bind-agent-key': 'no memory',
  'ensure-quota': 'no memory',
  'use-nonce': 'no memory',
  subscribe: 'no memory',
  unsubscribe: 'no memory',
  'resend-events': 'no memory',
  'mark-read': 'no memory',
  'purge-archive': 'no memory',
  'set-standard': 'governance',
  'clear-standard': 'governance',
  'unpin-removed': 'governance',
  'put-rule': 'governance',
  'remove-rule': 'governance',
  'check-action': 'governance',
  'request-approval': 'governance',
  'vote-pending': 'governance',
  'settle-pending': 'governance',
  'forget-decision': 'governance',
  'end-sessions': 'governance',
  'import-memory': 'operator',
  'import-link': 'operator',
  'import-record': 'operator',
  'adopt-peer': 'operator',
  'begin-epoch': 'operator',
  'reset-clock': 'operator',
  'expire-memories': 'upkeep',
  'drop-receipts': 'upkeep',
  'drop-decided': 'upkeep',
  'put-embeddings': 'upkeep',
  'flag-near-duplicates': 'upkeep',
  'plan-encoder': 'upkeep',
  'switch-encoder': 'upkeep',
  'requeue-embeddings': 'upkeep',
  'claim-ownership': 'upkeep',
  'release-ownership': 'upkeep',
  'reindex-texts': 'upkeep',
  'save-peer-progress': 'upkeep',
  'retry-parked': 'upkeep',
  'repair-subjects': 'upkeep',
  'note-integrity': 'upkeep',
  'note-veto': 'upkeep',
  'note-suspects': 'upkeep',
  'settle-suspects': 'upkeep',
  'drop-payloads': 'upkeep',
  'record-deliveries': 'upkeep',
  'prune-events': 'upkeep',
  'receive-memory': 'peer',
  'apply-operations': 'peer',
} satisfies { readonly [K in Command['kind']]: Gated<K> | Ungated };

/** The commands that a policy or a permission rule can gate. */
export type GatedKind = {
  [K in Command['kind']]: (typeof GATES)[K] extends string ? never : K;
}[Command['kind']];

const gateOf = (kind: Command['kind']): Gated<Command['kind']> | null => {
  const gate = GATES[kind] as Gated<Command['kind']> | Ungated | undefined;
  // A store with rules of its own, as the simulator's, may have other commands.
  return typeof gate === 'object' ? gate : null;
};

/** The word for what a command does; null for one that nothing gates, and for a preview. */
export const gatedWord = (command: Command): string | null =>
  command.kind === 'undo-edit' && command.dryRun ? null : (gateOf(command.kind)?.action ?? null);

/**
 * What a command does that a policy or a permission rule can gate; null for a command that nothing gates, and for one
 * whose rule refuses it because its memory is missing or hidden. Hooks of policies are asked with the same.
 */
export function* gatedAction(command: Command, now: Instant): Reading<GatedAction | null> {
  const gate = gateOf(command.kind);
  if (gate === null) return null;
  const looked = yield* gate.look(command as never, now);
  return looked === null ? null : { ...looked, action: gate.action, op: gate.op };
}

// biome-ignore lint/correctness/useYield: other gates read; this one reads nothing.
function* storing({ memory, viewer }: Pick<Of<'store-memory'>, 'memory' | 'viewer'>): Reading<Looked> {
  return {
    viewer,
    places: [{ gate: 'write', namespace: memory.namespace }],
    memoryId: memory.id,
    canWait: true,
    written: memory,
  };
}

function* undone(command: Of<'undo-edit'>, now: Instant): Reading<Looked | null> {
  if (command.dryRun) return null;
  const edit = yield* read('last-edit', { id: command.id });
  return yield* updated(command, edit?.before?.namespace, now);
}

function* shared({ id, copyId, from, to, viewer }: Of<'share-memory'>, now: Instant): Reading<Looked | null> {
  const row = yield* shown(id, viewer, now);
  if (row === null) return null;
  return yield* storing({ memory: { ...row, id: copyId, namespace: sharedNamespace(from, to) }, viewer });
}

function* updated(
  { id, viewer }: { readonly id: MemoryId; readonly viewer: Viewer },
  movedTo: string | undefined,
  now: Instant,
): Reading<Looked | null> {
  const row = yield* shown(id, viewer, now);
  if (row === null) return null;
  const place: GatedPlace = { gate: 'write', namespace: row.namespace, rowOwner: ownerOf(row) };
  const moves = movedTo !== undefined && movedTo !== row.namespace;
  return {
    viewer,
    // A move takes the memory away from its namespace, as a deletion does.
    places: moves ? [place, { ...place, gate: 'delete' }, { gate: 'write', namespace: movedTo }] : [place],
    memoryId: id,
    canWait: true,
    written: { ...row, namespace: movedTo ?? row.namespace },
  };
}

function* restored({ id, viewer }: Of<'restore-memory'>): Reading<Looked | null> {
  const row = yield* read('archived-memory', { id });
  if (row === null || !isVisible(row.memory, viewer)) return null;
  const { memory } = row;
  return {
    viewer,
    places: [{ gate: 'write', namespace: memory.namespace, rowOwner: ownerOf(memory) }],
    memoryId: id,
    canWait: true,
    written: memory,
  };
}

function* promoted({ id, viewer, vertical }: Of<'promote-memory'>, now: Instant): Reading<Looked | null> {
  const row = yield* shown(id, viewer, now);
  if (row === null) return null;
  const place: GatedPlace = { gate: 'promote', namespace: row.namespace, rowOwner: ownerOf(row) };
  const clone = vertical ?? null;
  return {
    viewer,
    places: clone === null ? [place] : [place, { gate: 'write', namespace: clone.toNamespace }],
    memoryId: id,
    canWait: true,
    written: clone === null ? null : { ...row, namespace: clone.toNamespace },
  };
}

function* removed(ids: readonly MemoryId[], viewer: Viewer, now: Instant): Reading<Looked | null> {
  const places: GatedPlace[] = [];
  for (const id of new Set(ids)) {
    const row = yield* shown(id, viewer, now);
    if (row !== null) places.push({ gate: 'delete', namespace: row.namespace, rowOwner: ownerOf(row) });
  }
  if (places.length === 0) return null;
  const memoryId = ids.length === 1 ? ids[0]! : null;
  return { viewer, places, memoryId, canWait: true, written: null };
}

function* consolidated(
  { ids, result, viewer }: Of<'consolidate-memories'>,
  now: Instant,
): Reading<Looked | null> {
  const sources = yield* removed(ids, viewer, now);
  if (sources === null) return null;
  return {
    viewer,
    places: [{ gate: 'write', namespace: result.namespace }, ...sources.places],
    memoryId: result.id,
    canWait: true,
    written: result,
  };
}

/** The rows that one batch would remove. A filter may match others later, so a forget never waits. */
function* forgotten({ filter, limit }: Of<'forget-memories'>): Reading<Looked> {
  const rows = yield* read('forgettable-memories', { filter, limit });
  const places = new Map<string, GatedPlace>();
  for (const row of rows) {
    const rowOwner = ownerOf(row);
    places.set(`${row.namespace}|${rowOwner}`, { gate: 'delete', namespace: row.namespace, rowOwner });
  }
  return {
    viewer: filter.viewer,
    places: [...places.values()],
    memoryId: null,
    canWait: false,
    written: null,
  };
}

/** A link shows with both of its memories, so a rule about the namespace of either one counts. */
function* linked(
  { source_id, target_id }: Pick<LinkKey, 'source_id' | 'target_id'>,
  viewer: Viewer,
  now: Instant,
): Reading<Looked | null> {
  const source = yield* shown(source_id, viewer, now);
  const target = yield* shown(target_id, viewer, now);
  if (source === null || target === null) return null;
  const namespaces = new Set([source.namespace, target.namespace]);
  return {
    viewer,
    places: [...namespaces].map((namespace) => ({ gate: 'link', namespace })),
    memoryId: source_id,
    canWait: true,
    written: null,
  };
}

function* shown(id: MemoryId, viewer: Viewer, now: Instant): Reading<Memory | null> {
  const row = yield* memoryById(id);
  return row === null || isExpired(row, now) || !isVisible(row, viewer) ? null : row;
}
