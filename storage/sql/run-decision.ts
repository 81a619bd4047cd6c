import type { Result } from '../../protocol/base/result.js';
import { type Chain, decide } from '../../protocol/chain.js';
import type { Decision, DecisionContext } from '../../protocol/decide/deciding.js';
import type { ReadRequest } from '../../protocol/decide/reads.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';

type Decided = Result<Decision<OutcomeOf<Command>>>;

/** Runs the rules of a command; `answer` reads the rows that they request. */
export function runDecision(
  command: Command,
  context: DecisionContext,
  chain: Chain,
  answer: (request: ReadRequest) => unknown,
): Decided {
  // The generator's next() is typed for a caller without answers; each read helper casts the answer.
  const deciding = decide(command, context, chain) as Generator<ReadRequest, Decided, unknown>;
  let step = deciding.next();
  while (!step.done) step = deciding.next(answer(step.value));
  return step.value;
}
