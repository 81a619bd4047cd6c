import type { Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { sizeOf, viewerOf } from '../../protocol/decide/command.js';
import type { Tells, Told, ToldEvent } from '../../protocol/decide/told.js';
import type { CreateLinkOutcome } from '../../protocol/graph/create-link.js';
import type { PendingOutcome } from '../../protocol/policies/decide-pending.js';
import type { PendingAction } from '../../protocol/policies/pending-kind.js';
import { COMMANDS, type Command, type OutcomeOf } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';
import type { ReadServices } from '../pipeline/call.js';
import type { Firing } from '../pipeline/operation-hooks.js';
import { attestedLinks, linkAnswer } from './graph/attested-links.js';
import { type Looking, namedMemory, writtenMemory } from './shared/hooked.js';

type TellingParts = Pick<
  ReadServices,
  'hooks' | 'clock' | 'store' | 'peerId' | 'isMember' | 'crypto' | 'settings'
>;
type Asking = Looking & { readonly services: TellingParts };

/**
 * The store of a node that tells hooks what a command has done, after its commit: a command of a call, and one that waited
 * for its approval, whatever approves it (an operation, another node, or a round over recorded votes). Commands of upkeep and
 * of other nodes are not told.
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
    if (!result.ok) return result;
    if (options?.ofCall === true) this.tell(command, result.value);
    if (command.kind !== 'vote-pending' && command.kind !== 'settle-pending') return result;
    const { executed, ...outcome } = result.value as PendingOutcome;
    const late = executed === undefined ? null : waitedIn(outcome.pending);
    if (executed !== undefined && late !== null) this.tell(late, executed);
    return { ...result, value: outcome as OutcomeOf<C> };
  }

  private tell(command: Command, outcome: object): void {
    const { hooks, clock } = this.parts;
    const declared = COMMANDS.of(command);
    const viewer = viewerOf(declared, command);
    if (declared.tells === undefined || viewer === null) return;
    for (const [event, tells] of Object.entries(declared.tells as Tells<Command, object>)) {
      if (!hooks.has(event as ToldEvent)) continue;
      for (const told of tells({ command, outcome })) {
        const asking = { services: { ...this.parts, store: this.store }, caller: { viewer } };
        const firings = async () => {
          const now = instantFromMs(clock.nowMs());
          return (await firingsOf(told, { ...asking, now })).map((firing) => ({
            event: event as ToldEvent,
            ...firing,
          }));
        };
        hooks.later({ bytes: TOLD_BYTES + sizeOf(told), firings });
      }
    }
  }
}

/** About how many bytes an event holds while it waits, besides what it says. */
const TOLD_BYTES = 4096;

/** The command that an action held; null for one that this release cannot read. */
function waitedIn({ command, requested_by: by, written_as: writtenAs }: PendingAction): Command | null {
  // What it executed is told, so nothing depends on who verified its signature.
  return COMMANDS.readPutAside(command, { requestedBy: by ?? '', writtenAs, isOwn: false }) as Command | null;
}

async function firingsOf(told: Told, asking: Asking): Promise<readonly Firing[]> {
  if ('payload' in told) return [told];
  if ('memory' in told) return writtenMemory(asking, told.memory);
  const { link, ...answered } = told.linked as CreateLinkOutcome;
  const source = await namedMemory(asking, link.source_id);
  const [attested] = await attestedLinks(asking, [link]);
  const namespace = source.ok ? (source.value?.namespace ?? null) : null;
  return [{ namespace, payload: linkAnswer({ link, ...answered }, attested!) }];
}
