import type { Fired } from '../../actors/hooks/chain.js';
import type { Command, OutcomeOf, Outcomes } from '../../protocol/commands.js';
import type { PendingOutcome } from '../../protocol/governance/decide-pending.js';
import type { PendingAction } from '../../protocol/kinds/pending-kind.js';
import type { MemoryId } from '../../protocol/meanings.js';
import type { AnswerOf, Query } from '../../protocol/queries.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import { ok, type Result } from '../../protocol/result.js';
import { instantFromMs } from '../../protocol/time.js';
import type { CallOptions, SelfCheckPage, Store } from '../../storage/port.js';
import type { ReadServices } from '../pipeline/call.js';
import { writtenMemory } from './hooked.js';

type TellingParts = Pick<ReadServices, 'hooks' | 'clock' | 'store' | 'peerId' | 'isMember'>;

/**
 * The store of a node that tells hooks what an action has done that waited for its approval. Whatever approves it (an
 * operation, another node, or a round over recorded votes) is a command of this store, so it is told once, where it was
 * executed.
 */
export class TellingStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly parts: Omit<TellingParts, 'store'>,
  ) {}

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const result = await this.store.execute(command, options);
    if (!result.ok || (command.kind !== 'vote-pending' && command.kind !== 'settle-pending')) return result;
    const { executed, ...outcome } = result.value as PendingOutcome;
    if (executed !== undefined) tell(outcome.pending, executed, { ...this.parts, store: this.store });
    return ok(outcome as OutcomeOf<C>);
  }

  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    return this.store.query(query, options);
  }

  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>> {
    return this.store.selfCheck(cursor, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** An event about something that was done: a memory that is read when it is told, or what is known already. */
type Told = { readonly event: 'post_store'; readonly written: MemoryId } | Fired;

interface Done<K extends Command['kind']> {
  readonly command: Extract<Command, { readonly kind: K }>;
  readonly outcome: Outcomes[K];
  readonly pending: PendingAction;
}

/** The events after each command that can wait, as its operation fires them when it does not wait. */
const TOLD: { readonly [K in Command['kind']]?: (done: Done<K>) => readonly Told[] } = {
  'store-memory': ({ outcome }) => [written(outcome.stored.id)],
  'register-entity': ({ outcome }) => [written(outcome.entity.entity_id)],
  'send-message': ({ outcome }) => [written(outcome.id)],
  'share-memory': ({ outcome }) => [written(outcome.id)],
  'update-memory': ({ outcome }) => [written(outcome.memory.id)],
  'delete-memory': ({ outcome: { id }, pending: { namespace } }) => [
    { event: 'post_delete', namespace, payload: { id } },
  ],
  'promote-memory': ({ command, outcome: { memory, from } }) => {
    const isClone = (command.vertical ?? null) !== null;
    const to_tier = isClone ? from.tier : command.targetTier;
    const payload = { id: command.id, from_tier: from.tier, to_tier };
    const promoted: Told = { event: 'post_promote', namespace: from.namespace, payload };
    return isClone ? [promoted, written(memory.id)] : [promoted];
  },
  'consolidate-memories': ({ command: { ids, result }, outcome: { memory } }) => {
    const { namespace } = result;
    const payload = { namespace, merged_ids: ids, result_id: memory.id };
    return [written(memory.id), { event: 'post_consolidate', namespace, payload }];
  },
};

const written = (id: MemoryId): Told => ({ event: 'post_store', written: id });

/** About how many bytes an event without its memory holds. */
const TOLD_BYTES = 4096;

function tell(pending: PendingAction, outcome: object, { hooks, clock, ...services }: TellingParts): void {
  const command = pending.command as unknown as Command & { readonly viewer: Viewer };
  const toldOf = TOLD[command.kind] as ((done: unknown) => readonly Told[]) | undefined;
  const now = instantFromMs(clock.nowMs());
  for (const told of toldOf?.({ command, outcome, pending }) ?? []) {
    const { event } = told;
    if (!hooks.has(event)) continue;
    // As who requested the action would see it.
    const looking = { services, caller: { viewer: command.viewer }, now };
    const firings = async () =>
      'written' in told
        ? (await writtenMemory(looking, told.written)).map((firing) => ({ event, ...firing }))
        : [told];
    hooks.later({ bytes: TOLD_BYTES, firings });
  }
}
