import type { DecisionContext } from './deciding.js';
import type { DeclaredMutation, LocalMutation } from './mutations.js';
import type { Read, ReadRequest } from './reads.js';

/** How an engine answers one read. */
export interface ReadHandler {
  readonly name: string;
  readonly answer: (asked: never, context: DecisionContext) => unknown;
}

export const handles = <Input, Answer>(
  { read }: Read<Input, Answer>,
  answer: (asked: Input, context: DecisionContext) => Answer,
): ReadHandler => ({ name: read, answer });

/** The handlers of an engine by the names of their reads. */
export class ReadHandlers {
  private readonly byName: ReadonlyMap<string, ReadHandler['answer']>;

  constructor(handlers: readonly ReadHandler[]) {
    this.byName = new Map(handlers.map(({ name, answer }) => [name, answer]));
    if (this.byName.size < handlers.length) throw new Error('two handlers answer one read');
  }

  get names(): readonly string[] {
    return [...this.byName.keys()];
  }

  answer(request: ReadRequest, context: DecisionContext): unknown {
    const answer = this.byName.get(request.read);
    if (answer === undefined) throw new Error(`nothing answers the read "${request.read}"`);
    return answer(request as never, context);
  }
}

/** How an engine applies one local mutation. */
export interface MutationHandler {
  readonly name: string;
  readonly apply: (change: never, context: DecisionContext) => void;
}

export const applies = <Members>(
  { mutation }: DeclaredMutation<Members>,
  apply: (change: Members, context: DecisionContext) => void,
): MutationHandler => ({ name: mutation, apply });

/** The handlers of an engine by the names of their mutations. */
export class MutationHandlers {
  private readonly byName: ReadonlyMap<string, MutationHandler['apply']>;

  constructor(handlers: readonly MutationHandler[]) {
    this.byName = new Map(handlers.map(({ name, apply }) => [name, apply]));
    if (this.byName.size < handlers.length) throw new Error('two handlers apply one mutation');
  }

  get names(): readonly string[] {
    return [...this.byName.keys()];
  }

  apply(change: LocalMutation, context: DecisionContext): void {
    const apply = this.byName.get(change.mutation);
    if (apply === undefined) throw new Error(`nothing applies the mutation "${change.mutation}"`);
    apply(change as never, context);
  }
}
