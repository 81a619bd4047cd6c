import type { MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { PermissionOp } from '../decide/permissions.js';
import type { Reading } from '../decide/reads.js';
import { type Changes, type GatedPlace, memoryChanges, placesOf, promoting } from '../memory/changes.js';
import type { Memory } from '../memory/memory.js';
import type { Command } from '../release.js';
import { PUT_ASIDE, type ReadPutAside } from './put-aside.js';

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
  /** True where the command itself says the text that it writes. */
  readonly saysText: boolean;
  /** The memories as they are written, which rules of kind memory_write look at. */
  readonly written: readonly Pick<Memory, 'title' | 'tier' | 'namespace'>[];
}

type Of<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

/** A command that policies or permission rules gate. What they are asked follows from what it changes. */
interface Gated<K extends Command['kind']> {
  readonly action: string;
  /** True for a command that itself says the text that it writes. */
  readonly saysText?: true;
  /** The memory that it is about; the one that it writes when absent. */
  readonly about?: (command: Of<K>) => MemoryId | null;
  /** An operation that permission rules know besides those of its changes. */
  readonly op?: PermissionOp;
  /** A gate that none of its changes shows. */
  readonly also?: (command: Of<K>, changes: Changes) => readonly GatedPlace[];
  /** Reads the command from a record of a pending action; null for a command that never waits. */
  readonly parse: ReadPutAside<K> | null;
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

const sourceOf = ({ link }: Of<'create-link' | 'invalidate-link'>): MemoryId => link.source_id;

/** Every command with what a policy or a permission rule gates of it, or why nothing does. */
const GATES = {
  'store-memory': { action: 'store', saysText: true, parse: PUT_ASIDE['store-memory'] },
  'register-entity': { action: 'store', saysText: true, parse: PUT_ASIDE['register-entity'] },
  'send-message': { action: 'store', saysText: true, parse: PUT_ASIDE['send-message'] },
  'share-memory': { action: 'store', parse: PUT_ASIDE['share-memory'] },
  'update-memory': {
    action: 'update',
    saysText: true,
    about: ({ id }) => id,
    parse: PUT_ASIDE['update-memory'],
  },
  'undo-edit': { action: 'update', about: ({ id }) => id, parse: PUT_ASIDE['undo-edit'] },
  'restore-memory': { action: 'restore', about: ({ id }) => id, parse: PUT_ASIDE['restore-memory'] },
  'promote-memory': {
    action: 'promote',
    about: ({ id }) => id,
    // The copy in an ancestor leaves the memory as it is.
    also: ({ id, vertical }, { mutations, rows }) => {
      const row = rows.get(id);
      return (vertical ?? null) === null || mutations.length === 0 || row === undefined
        ? []
        : [promoting(row)];
    },
    parse: PUT_ASIDE['promote-memory'],
  },
  'delete-memory': { action: 'delete', about: ({ id }) => id, parse: PUT_ASIDE['delete-memory'] },
  'archive-memories': {
    action: 'archive',
    about: ({ ids }) => (ids.length === 1 ? ids[0]! : null),
    parse: PUT_ASIDE['archive-memories'],
  },
  'resolve-memories': {
    action: 'resolve',
    about: ({ loserId }) => loserId,
    parse: PUT_ASIDE['resolve-memories'],
  },
  'consolidate-memories': {
    action: 'consolidate',
    about: ({ result }) => result.id,
    op: 'memory_consolidate',
    parse: PUT_ASIDE['consolidate-memories'],
  },
  // A filter may match other memories later, so a forget never waits.
  'forget-memories': { action: 'forget', about: () => null, parse: null },
  'create-link': { action: 'link', about: sourceOf, parse: PUT_ASIDE['create-link'] },
  'invalidate-link': { action: 'kg_invalidate', about: sourceOf, parse: PUT_ASIDE['invalidate-link'] },
  'drop-links': { action: 'unlink', about: ({ sourceId }) => sourceId, parse: PUT_ASIDE['drop-links'] },
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
  'look-at-action': 'governance',
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
  'pass-events': 'upkeep',
  'receive-memory': 'peer',
  'apply-operations': 'peer',
} satisfies { readonly [K in Command['kind']]: Gated<K> | Ungated };

/** The commands that a policy or a permission rule can gate. */
export type GatedKind = {
  [K in Command['kind']]: (typeof GATES)[K] extends string ? never : K;
}[Command['kind']];

type AnyGate = Gated<Command['kind']>;

const gateOf = (kind: string): AnyGate | null => {
  const gate = Object.hasOwn(GATES, kind) ? GATES[kind as Command['kind']] : undefined;
  // A store with rules of its own, as the simulator's, may have other commands.
  return typeof gate === 'object' ? (gate as unknown as AnyGate) : null;
};

/** The kinds that are gated, each with whether it can wait for an approval. */
export const gatedKinds = (): readonly { readonly kind: GatedKind; readonly canWait: boolean }[] =>
  (Object.keys(GATES) as Command['kind'][]).flatMap((kind) => {
    const gate = gateOf(kind);
    return gate === null ? [] : [{ kind: kind as GatedKind, canWait: gate.parse !== null }];
  });

/** The word for what a command does; null for one that nothing gates, and for a preview. */
export const gatedWord = (command: Command): string | null =>
  command.kind === 'undo-edit' && command.dryRun ? null : (gateOf(command.kind)?.action ?? null);

/** Reads a command of a gated kind from a record of a pending action; null for every other one. */
export const readPutAside: ReadPutAside<GatedKind> = (sent, by) => {
  const parse = typeof sent['kind'] === 'string' ? gateOf(sent['kind'])?.parse : null;
  return (parse as ReadPutAside<GatedKind> | null | undefined)?.(sent, by) ?? null;
};

/** What a command does by its changes; null for one that nothing gates, and for one that changes nothing that is gated. */
export function* gatedAction(command: Command, changes: Changes): Reading<GatedAction | null> {
  const gate = gateOf(command.kind);
  if (gate === null) return null;
  const also = gate.also?.(command as never, changes) ?? [];
  const { op } = gate;
  const places = [...also, ...(yield* placesOf(changes.mutations))].map((place) =>
    op === undefined ? place : { ...place, ops: [op, ...place.ops] },
  );
  if (places.length === 0) return null;
  const written = memoryChanges(changes.mutations).flatMap(({ after }) => (after === null ? [] : [after]));
  const memoryId = gate.about === undefined ? (written[0]?.id ?? null) : gate.about(command as never);
  const viewer = viewerOf(command)!;
  return {
    ...{ action: gate.action, viewer, places, memoryId, canWait: gate.parse !== null, written },
    saysText: gate.saysText === true,
  };
}

/** Who gives a command; null for one that has no caller. */
export function viewerOf(command: Command): Viewer | null {
  if (command.kind === 'forget-memories') return command.filter.viewer;
  return 'viewer' in command ? (command.viewer ?? null) : null;
}
