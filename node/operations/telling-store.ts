import type { MemoryId } from '../../protocol/base/meanings.js';
import { ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { requesterViewer } from '../../protocol/decide/requester.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { PendingOutcome } from '../../protocol/policies/decide-pending.js';
import type { PendingAction } from '../../protocol/policies/pending-kind.js';
import {
  COMMANDS,
  type Command,
  type GatedKind,
  type OutcomeOf,
  type Outcomes,
} from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';
import type { ReadServices } from '../pipeline/call.js';
import type { Firing } from '../pipeline/operation-hooks.js';
import { attestedLinks, linkAnswer } from './graph/attested-links.js';
import { type Looking, namedMemory, writtenMemory } from './shared/hooked.js';

type TellingParts = Pick<ReadServices, 'hooks' | 'clock' | 'store' | 'peerId' | 'isMember' | 'crypto'>;

/**
 * The store of a node that tells hooks what an action has done that waited for its approval. Whatever approves it (an
 * operation, another node, or a round over recorded votes) is a command of this store, so it is told once, where it was
 * executed.
 */
export class TellingStore extends PassingStore {
  constructor(
    store: Store,
    private readonly parts: Omit<TellingParts, 'store'>,
  ) {
    super(store);
  }

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const result = await this.store.execute(command, options);
    if (!result.ok || (command.kind !== 'vote-pending' && command.kind !== 'settle-pending')) return result;
    const { executed, ...outcome } = result.value as PendingOutcome;
    if (executed !== undefined) tell(outcome.pending, executed, { ...this.parts, store: this.store });
    return ok(outcome as OutcomeOf<C>);
  }
}

/** An event after a command; what is read for it is read when it is told, as who requested the action would see it. */
interface Told {
  readonly event: HookEvent;
  readonly firings: (
    looking: Looking & { readonly services: TellingParts },
  ) => readonly Firing[] | Promise<readonly Firing[]>;
}

interface Done<K extends Command['kind']> {
  readonly command: Extract<Command, { readonly kind: K }>;
  readonly outcome: Outcomes[K];
  readonly pending: PendingAction;
}

/** The operation of such a command fires no event of its own. */
function noEvent(): readonly Told[] {
  return [];
}

/** The events after each command that can be gated, as its operation fires them when it does not wait. */
const TOLD: { readonly [K in GatedKind]: (done: Done<K>) => readonly Told[] } = {
  'store-memory': ({ outcome }) => [written(outcome.stored.id)],
  'register-entity': ({ outcome }) => [written(outcome.entity.entity_id)],
  'send-message': ({ outcome }) => [written(outcome.id)],
  'share-memory': ({ outcome }) => [written(outcome.id)],
  'update-memory': ({ outcome }) => [written(outcome.memory.id)],
  'delete-memory': ({ outcome: { id }, pending }) => [about('post_delete', pending.namespace, { id })],
  'promote-memory': ({ command, outcome: { memory, from } }) => {
    const isClone = (command.vertical ?? null) !== null;
    const to_tier = isClone ? from.tier : command.targetTier;
    const payload = { id: command.id, from_tier: from.tier, to_tier };
    const promoted = about('post_promote', from.namespace, payload);
    return isClone ? [promoted, written(memory.id)] : [promoted];
  },
  'consolidate-memories': ({ command: { ids, result }, outcome: { memory } }) => {
    const { namespace } = result;
    const payload = { namespace, merged_ids: ids, result_id: memory.id };
    return [written(memory.id), about('post_consolidate', namespace, payload)];
  },
  'create-link': ({ outcome }) => (outcome.change === 'refused' ? [] : [linked(outcome)]),
  'undo-edit': noEvent,
  'restore-memory': noEvent,
  'archive-memories': noEvent,
  'resolve-memories': noEvent,
  'forget-memories': noEvent,
  'invalidate-link': noEvent,
  'drop-links': noEvent,
};

const about = (event: HookEvent, namespace: string, payload: HookPayload): Told => ({
  event,
  firings: () => [{ namespace, payload }],
});

const written = (id: MemoryId): Told => ({
  event: 'post_store',
  firings: (looking) => writtenMemory(looking, id),
});

const linked = (outcome: Outcomes['create-link']): Told => ({
  event: 'post_link',
  firings: async (looking) => {
    const { link } = outcome;
    const source = await namedMemory(looking, link.source_id);
    const [attested] = await attestedLinks(looking, [link]);
    const namespace = source.ok ? (source.value?.namespace ?? null) : null;
    return [{ namespace, payload: linkAnswer(outcome, attested!) }];
  },
});

/** About how many bytes an event holds while it waits. */
const TOLD_BYTES = 4096;

function tell(pending: PendingAction, outcome: object, services: TellingParts): void {
  const { hooks, clock } = services;
  const { requested_by: by, written_as: writtenAs } = pending;
  // What it executed is told, so nothing depends on who verified its signature.
  const requester = { requestedBy: by ?? '', writtenAs, isOwn: false };
  const command = COMMANDS.readPutAside(pending.command, requester);
  if (command === null) return;
  const toldOf = TOLD[command.kind as GatedKind] as (done: unknown) => readonly Told[];
  const looking = {
    services,
    caller: { viewer: requesterViewer(by) },
    now: instantFromMs(clock.nowMs()),
  };
  for (const { event, firings } of toldOf({ command, outcome, pending })) {
    if (!hooks.has(event)) continue;
    const told = async () => (await firings(looking)).map((firing) => ({ event, ...firing }));
    hooks.later({ bytes: TOLD_BYTES, firings: told });
  }
}
