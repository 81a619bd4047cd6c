import type { Command } from '../commands.js';
import type { DecisionContext } from '../decide/deciding.js';
import { memoryById, type Reading, read } from '../decide/reads.js';
import type { AgentId, MemoryId } from '../meanings.js';
import { isExpired, isVisible } from '../memory/access.js';
import { type Memory, ownerOf } from '../memory/memory.js';
import { sharedNamespace } from '../messages/mail.js';
import type { Viewer } from '../ranking/types.js';
import type { Gate } from './effective-policy.js';
import type { PermissionOp } from './settings.js';

/** One gate that an action passes. */
export interface GatedPlace {
  readonly gate: Gate;
  readonly namespace: string;
  /** The owner of the row that changes; absent for a new row, where the owner of the policy counts. */
  readonly rowOwner?: AgentId | null;
}

/** A command as its policy sees it. */
export interface GatedAction {
  /** The word of the pending action and of refusals. */
  readonly action: string;
  readonly op: PermissionOp;
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

/** Why no policy gates a command. */
type Ungated =
  /** It changes no live memory: links, agents, quotas, subscriptions, archived copies, what a recall answered. */
  | 'no memory'
  /** It is governance itself, with checks of its own. */
  | 'governance'
  /** The operator imports, repairs or moves what is there. */
  | 'operator'
  /** The node does its own work. */
  | 'upkeep'
  /** It comes from another node, which has governed it. */
  | 'peer';

type GateOfCommand<K extends Command['kind']> = (
  command: Of<K>,
  context: DecisionContext,
) => Reading<GatedAction | null>;

/** Every command with what a policy gates of it, or why it gates nothing. */
const GATES: { readonly [K in Command['kind']]: GateOfCommand<K> | Ungated } = {
  'store-memory': storing,
  'register-entity': storing,
  'send-message': storing,
  'share-memory': shared,
  'update-memory': (command, context) => updated(command, command.patch.namespace, context),
  'undo-edit': undone,
  'restore-memory': ({ id, viewer }) => restored(id, viewer),
  'promote-memory': promoted,
  'delete-memory': ({ id, viewer }, context) => removed('delete', [id], viewer, context),
  'archive-memories': ({ ids, viewer }, context) => removed('archive', ids, viewer, context),
  'resolve-memories': ({ loserId, viewer }, context) => removed('resolve', [loserId], viewer, context),
  'consolidate-memories': consolidated,
  'forget-memories': forgotten,
  'touch-memories': 'no memory',
  'prune-observations': 'no memory',
  'register-agent': 'no memory',
  'bind-agent-key': 'no memory',
  'ensure-quota': 'no memory',
  'create-link': 'no memory',
  'invalidate-link': 'no memory',
  'drop-links': 'no memory',
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
};

/** True for a command that a policy can gate. */
export const isGated = (kind: Command['kind']): boolean => typeof GATES[kind] === 'function';

/**
 * What a command does that a policy can gate; null for a command that no policy gates, and for one whose rule refuses it
 * because its memory is missing or hidden.
 */
export function* gatedAction(command: Command, context: DecisionContext): Reading<GatedAction | null> {
  const gate = GATES[command.kind] as GateOfCommand<Command['kind']> | Ungated;
  // A store with rules of its own, as the simulator's, may have other commands.
  return typeof gate === 'function' ? yield* gate(command as never, context) : null;
}

// biome-ignore lint/correctness/useYield: other gates read; this one reads nothing.
function* storing({ memory, viewer }: Pick<Of<'store-memory'>, 'memory' | 'viewer'>): Reading<GatedAction> {
  return {
    action: 'store',
    op: 'memory_store',
    viewer,
    places: [{ gate: 'write', namespace: memory.namespace }],
    memoryId: memory.id,
    canWait: true,
    written: memory,
  };
}

function* undone(command: Of<'undo-edit'>, context: DecisionContext): Reading<GatedAction | null> {
  if (command.dryRun) return null;
  const edit = yield* read('last-edit', { id: command.id });
  return yield* updated(command, edit?.before?.namespace, context);
}

function* shared(
  { id, copyId, from, to, viewer }: Of<'share-memory'>,
  context: DecisionContext,
): Reading<GatedAction | null> {
  const row = yield* shown(id, viewer, context);
  if (row === null) return null;
  return yield* storing({ memory: { ...row, id: copyId, namespace: sharedNamespace(from, to) }, viewer });
}

function* updated(
  { id, viewer }: { readonly id: MemoryId; readonly viewer: Viewer },
  movedTo: string | undefined,
  context: DecisionContext,
): Reading<GatedAction | null> {
  const row = yield* shown(id, viewer, context);
  if (row === null) return null;
  const place: GatedPlace = { gate: 'write', namespace: row.namespace, rowOwner: ownerOf(row) };
  const moves = movedTo !== undefined && movedTo !== row.namespace;
  return {
    action: 'update',
    op: 'memory_store',
    viewer,
    // A move takes the memory away from its namespace, as a deletion does.
    places: moves ? [place, { ...place, gate: 'delete' }, { gate: 'write', namespace: movedTo }] : [place],
    memoryId: id,
    canWait: true,
    written: { ...row, namespace: movedTo ?? row.namespace },
  };
}

function* restored(id: MemoryId, viewer: Viewer): Reading<GatedAction | null> {
  const row = yield* read('archived-memory', { id });
  if (row === null || !isVisible(row.memory, viewer)) return null;
  const { memory } = row;
  return {
    action: 'restore',
    op: 'memory_store',
    viewer,
    places: [{ gate: 'write', namespace: memory.namespace, rowOwner: ownerOf(memory) }],
    memoryId: id,
    canWait: true,
    written: memory,
  };
}

function* promoted(
  { id, viewer, vertical }: Of<'promote-memory'>,
  context: DecisionContext,
): Reading<GatedAction | null> {
  const row = yield* shown(id, viewer, context);
  if (row === null) return null;
  const place: GatedPlace = { gate: 'promote', namespace: row.namespace, rowOwner: ownerOf(row) };
  const clone = vertical ?? null;
  return {
    action: 'promote',
    op: 'memory_store',
    viewer,
    places: clone === null ? [place] : [place, { gate: 'write', namespace: clone.toNamespace }],
    memoryId: id,
    canWait: true,
    written: clone === null ? null : { ...row, namespace: clone.toNamespace },
  };
}

function* removed(
  action: 'delete' | 'archive' | 'resolve',
  ids: readonly MemoryId[],
  viewer: Viewer,
  context: DecisionContext,
): Reading<GatedAction | null> {
  const places: GatedPlace[] = [];
  for (const id of new Set(ids)) {
    const row = yield* shown(id, viewer, context);
    if (row !== null) places.push({ gate: 'delete', namespace: row.namespace, rowOwner: ownerOf(row) });
  }
  if (places.length === 0) return null;
  const op = action === 'delete' ? 'memory_delete' : 'memory_archive';
  const memoryId = ids.length === 1 ? ids[0]! : null;
  return { action, op, viewer, places, memoryId, canWait: true, written: null };
}

function* consolidated(
  { ids, result, viewer }: Of<'consolidate-memories'>,
  context: DecisionContext,
): Reading<GatedAction | null> {
  const sources = yield* removed('archive', ids, viewer, context);
  if (sources === null) return null;
  return {
    action: 'consolidate',
    op: 'memory_consolidate',
    viewer,
    places: [{ gate: 'write', namespace: result.namespace }, ...sources.places],
    memoryId: result.id,
    canWait: true,
    written: result,
  };
}

/** The rows that one batch would remove. A filter may match others later, so a forget never waits. */
function* forgotten(
  { filter, limit }: Of<'forget-memories'>,
  _context: DecisionContext,
): Reading<GatedAction | null> {
  const rows = yield* read('forgettable-memories', { filter, limit });
  const places = new Map<string, GatedPlace>();
  for (const row of rows) {
    const rowOwner = ownerOf(row);
    places.set(`${row.namespace}|${rowOwner}`, { gate: 'delete', namespace: row.namespace, rowOwner });
  }
  return {
    action: 'forget',
    op: 'memory_delete',
    viewer: filter.viewer,
    places: [...places.values()],
    memoryId: null,
    canWait: false,
    written: null,
  };
}

function* shown(id: MemoryId, viewer: Viewer, context: DecisionContext): Reading<Memory | null> {
  const row = yield* memoryById(id);
  return row === null || isExpired(row, context.now) || !isVisible(row, viewer) ? null : row;
}
