import { detailsOf, type Result } from '../../protocol/base/result.js';
import type { Chain } from '../../protocol/chain.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';

/** Passes a command on to another node. */
export type Forward = (
  peerId: string,
  command: Command,
) => Promise<Result<Readonly<Record<string, unknown>>>>;

/** A store that passes on commands that only the home of a subject may decide, and returns the home's answer. */
export class HomeStore extends PassingStore {
  constructor(
    store: Store,
    private readonly homes: { readonly forward: Forward; readonly commands: Chain['commands'] },
  ) {
    super(store);
  }

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const result = await this.store.execute(command, options);
    const elsewhere = result.ok ? null : detailsOf(result.error, 'NOT_HOME');
    if (elsewhere === null || !this.homes.commands.isForwarded(command.kind)) return result;
    return (await this.homes.forward(elsewhere.home, command)) as Result<OutcomeOf<C>>;
  }
}
