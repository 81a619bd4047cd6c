import { type Command, type Outcomes, RULES } from '../commands.js';
import { type Failure, failed, type Result } from '../result.js';
import { audited } from './audit.js';
import type { Deciding, Decision, DecisionContext } from './deciding.js';
import { guardAgentRecords } from './guard-agents.js';
import { homeProblem } from './home.js';
import type { Mutation } from './mutations.js';
import type { Reading } from './reads.js';

/** The rule of a command: what it changes, or why not. */
export type Rule<K extends Command['kind']> = (
  command: Extract<Command, { readonly kind: K }>,
  context: DecisionContext,
) => Deciding<Outcomes[K]>;

/** Each command with its rule. */
export type Rules = { readonly [K in Command['kind']]: Rule<K> };

type Outcome = Outcomes[Command['kind']];

/** Everything that stands around the rules. A store has one chain; tests give it rules and seams of their own. */
export interface Chain {
  readonly rules: Rules;
  /** Governance: says why a command may not be decided now, before its rule is asked. */
  readonly policy: (command: Command, context: DecisionContext) => Reading<Failure | null>;
  /** What other parties hear of a decision: mutations that are applied with it. */
  readonly events: (
    command: Command,
    decision: Decision<Outcome>,
    context: DecisionContext,
  ) => readonly Mutation[];
  /**
   * Commands that the home of a subject takes from other nodes, each with the check of what they send; null for another
   * shape.
   */
  readonly forwarded: Readonly<Partial<Record<string, (sent: unknown) => Command | null>>>;
}

/** A policy that lets every command be decided. */
// biome-ignore lint/correctness/useYield: a policy may read, and this one does not need to.
export function* allowAll(): Reading<null> {
  return null;
}

/** The decision of a command: policy, rule, guards, audit and events, in this order, in one transaction. */
export function* decide(
  command: Command,
  context: DecisionContext,
  { rules, policy, events }: Chain,
): Deciding<Outcome> {
  const refused = yield* policy(command, context);
  if (refused !== null) return failed(refused);
  const rule = rules[command.kind] as Rule<Command['kind']>;
  const guarded = guardAgentRecords(command, yield* rule(command as never, context));
  const elsewhere = guarded.ok ? yield* homeProblem(guarded.value.mutations, context) : null;
  if (elsewhere !== null) return failed(elsewhere);
  return announced(command, audited(command, guarded), events, context);
}

function announced(
  command: Command,
  result: Result<Decision<Outcome>>,
  events: Chain['events'],
  context: DecisionContext,
): Result<Decision<Outcome>> {
  if (!result.ok) return result;
  const { value, mutations } = result.value;
  const heard = events(command, result.value, context);
  return heard.length === 0 ? result : { ok: true, value: { value, mutations: [...mutations, ...heard] } };
}

/** The chain of this release. Nothing restricts a command yet, no event leaves, and no command needs a home. */
export const CHAIN: Chain = { rules: RULES, policy: allowAll, events: () => [], forwarded: {} };
