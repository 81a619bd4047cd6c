import { type Command, type Outcomes, RULES } from '../commands.js';
import { votePendingOf } from '../governance/forwarded-vote.js';
import { approvedPolicy, type PolicyVerdict, policy } from '../governance/policy.js';
import { fail, failed, type Result } from '../result.js';
import { emitEvents } from '../webhooks/emit.js';
import { audited } from './audit.js';
import { chargeWrites } from './charge-writes.js';
import type { Deciding, Decision, DecisionContext } from './deciding.js';
import { guardAgentRecords } from './guard-agents.js';
import { guardMail } from './guard-mail.js';
import { guardRules } from './guard-rules.js';
import { homeProblem } from './home.js';
import type { Mutation } from './mutations.js';
import type { Reading } from './reads.js';

/** The rule of a command: it returns the changes, or the reason for a refusal. */
export type Rule<K extends Command['kind']> = (
  command: Extract<Command, { readonly kind: K }>,
  context: DecisionContext,
) => Deciding<Outcomes[K]>;

/** Each command with its rule. */
export type Rules = { readonly [K in Command['kind']]: Rule<K> };

type Outcome = Outcomes[Command['kind']];

/** The rules and the checks around them. A store has one chain; tests pass their own rules and seams. */
export interface Chain {
  readonly rules: Rules;
  /** Governance: runs before the rule and says whether the command is refused now. */
  readonly policy: (command: Command, context: DecisionContext) => Reading<PolicyVerdict>;
  /**
   * Notices to other parties about the changes of a command, those that its rule has applied already included, as
   * mutations that are applied with them.
   */
  readonly events: (command: Command, changes: readonly Mutation[]) => Reading<readonly Mutation[]>;
  /**
   * Commands that the home of a subject accepts from other nodes. Each check reads the sent value and answers null for
   * another shape.
   */
  readonly forwarded: Readonly<Partial<Record<string, (sent: unknown) => Command | null>>>;
}

/** A policy that allows every command. */
// biome-ignore lint/correctness/useYield: a policy may read; this one reads nothing.
export function* allowAll(): Reading<PolicyVerdict> {
  return { verdict: 'allow' };
}

/** Decides a command in one transaction: policy, rule, guards, audit, events and quota of writes, in this order. */
export function* decide(
  command: Command,
  context: DecisionContext,
  { rules, policy, events }: Chain,
): Deciding<Outcome> {
  const said = yield* policy(command, context);
  if (said.verdict === 'refuse') return failed(said.failure);
  const permitting = said.verdict === 'permit' ? { ...context, permitted: true } : context;
  const applied: Mutation[] = [];
  const ruled = yield* watched(ruling(command, permitting, rules), applied);
  const put = ruled.ok ? ruled.value.executes : undefined;
  if (put === undefined) {
    const heard = yield* announced(command, ruled, applied, events);
    return yield* chargeWrites(command, heard, context);
  }
  const late = put as Command;
  const whole = yield* watched(withPutAside(ruled, late, context, rules), applied);
  return yield* chargeWrites(command, yield* announced(late, whole, applied, events), context);
}

/** The rule of a command, with the checks that follow it. */
function* ruling(command: Command, context: DecisionContext, rules: Rules): Deciding<Outcome> {
  if (!Object.hasOwn(rules, command.kind)) throw new Error(`no rule decides the command "${command.kind}"`);
  const rule = rules[command.kind] as Rule<Command['kind']>;
  const shaped = guardAgentRecords(command, yield* rule(command as never, context));
  const guarded = guardRules(command, guardMail(command, shaped), context);
  const elsewhere = guarded.ok ? yield* homeProblem(guarded.value.mutations, context) : null;
  if (elsewhere !== null) return failed(elsewhere);
  if (guarded.ok && guarded.value.mutations.some((mutation) => outgrows(mutation, context)))
    return fail('VALIDATION_FAILED', 'the row would hold more than other nodes take');
  return audited(command, guarded);
}

/** Decides a command that was approved, after the decision that approves it. Its own failure is the answer. */
function* withPutAside(
  approving: Result<Decision<Outcome>>,
  command: Command,
  context: DecisionContext,
  rules: Rules,
): Deciding<Outcome> {
  const said = yield* approvedPolicy(command, context);
  if (said.verdict === 'refuse') return failed(said.failure);
  const executed = yield* ruling(command, { ...context, permitted: said.verdict === 'permit' }, rules);
  if (!approving.ok || !executed.ok) return executed;
  const { value, mutations } = approving.value;
  const { chargedTo } = executed.value;
  return {
    ok: true,
    value: {
      value: { ...value, executed: executed.value.value },
      mutations: [...mutations, ...executed.value.mutations],
      ...(chargedTo === undefined ? {} : { chargedTo }),
    },
  };
}

/** True for a write of a row that peers would not take, where they took the row before it. */
function outgrows(mutation: Mutation, { kinds }: DecisionContext): boolean {
  if (mutation.mutation !== 'write') return false;
  const { payload } = kinds.of(mutation.kind);
  return !payload.admits(mutation.image) && (mutation.before === null || payload.admits(mutation.before));
}

/** Runs a rule, and collects the mutations that it applies while it runs. */
function* watched(rule: Deciding<Outcome>, applied: Mutation[]): Deciding<Outcome> {
  let step = rule.next();
  while (!step.done) {
    if (step.value.read === 'after') for (const mutation of step.value.mutations) applied.push(mutation);
    step = rule.next((yield step.value) as never);
  }
  return step.value;
}

function* announced(
  command: Command,
  result: Result<Decision<Outcome>>,
  applied: readonly Mutation[],
  events: Chain['events'],
): Deciding<Outcome> {
  if (!result.ok) return result;
  const { value, mutations } = result.value;
  const changes = applied.length === 0 ? mutations : [...applied, ...mutations];
  const heard = yield* events(command, changes);
  return heard.length === 0 ? result : { ok: true, value: { value, mutations: [...mutations, ...heard] } };
}

/** The chain of this release. */
export const CHAIN: Chain = {
  rules: RULES,
  policy,
  events: emitEvents,
  forwarded: { 'vote-pending': votePendingOf },
};
