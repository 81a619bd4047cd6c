import { fail, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';

/** Queries that show nothing of any namespace. */
const PLAIN: ReadonlySet<Query['kind']> = new Set([
  'agent-keys',
  'agent-key',
  'is-registered',
  'governance-at',
]);

/**
 * The store of a call with a token for some namespaces: what does not carry the token's bounds to where rows are shown and
 * changed is refused, so that an operation which forgets them fails instead of showing too much.
 */
class WithinStore extends PassingStore {
  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    return isBounded(command) ? this.store.execute(command, options) : UNBOUNDED(command.kind);
  }

  override async query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    const passes = PLAIN.has(query.kind) || isBounded(query);
    return passes ? this.store.query(query, options) : UNBOUNDED(query.kind);
  }
}

type Seen = { readonly viewer?: Viewer | null };

function isBounded(asked: object): boolean {
  const { viewer, filter, request } = asked as Seen & { readonly filter?: Seen; readonly request?: Seen };
  const given = viewer ?? filter?.viewer ?? request?.viewer;
  return given?.within !== undefined;
}

const UNBOUNDED = (kind: string) =>
  fail('TOKEN_SCOPE', `"${kind}" is not about single namespaces, and the token is for some only`);

export const withinStore = (store: Store, { within }: Viewer): Store =>
  within === undefined ? store : new WithinStore(store);
