import { guardAgentRecords } from './agents/guard-agents.js';
import { audited } from './audited.js';
import type { MemoryId } from './base/meanings.js';
import { fail, failed, type Result } from './base/result.js';
import {
  type Approved,
  type Deciding,
  type Decision,
  type DecisionContext,
  decided,
} from './decide/deciding.js';
import { homeProblem } from './decide/home.js';
import type { Mutation } from './decide/mutations.js';
import type { Reading } from './decide/reads.js';
import { afterThese, asks } from './decide/reads.js';
import { tellDependents } from './graph/tell-dependents.js';
import { mayChange } from './memory/access.js';
import type { ArchivedRow } from './memory/archived-memory.js';
import { chargeWrites } from './memory/charge-writes.js';
import type { Memory } from './memory/memory.js';
import { archivedMemory, memoryRead } from './memory/reads.js';
import { guardMail } from './messages/guard-mail.js';
import { guardNames } from './namespaces/guard-names.js';
import { guardReserved } from './namespaces/guard-reserved.js';
import { withinAuthor } from './policies/author-scope.js';
import { votePendingOf } from './policies/forwarded-vote.js';
import { gatedAction, readPutAside, viewerOf } from './policies/gated-action.js';
import { approvedPolicy, type Judge, policy } from './policies/policy.js';
import { type Command, type Outcomes, RULES } from './release.js';
import { guardRules } from './rules/guard-rules.js';
import { emitEvents } from './webhooks/emit.js';

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
  /** Governance: who judges what the rule of a command would change; null where nobody does. */
  readonly policy: (command: Command, context: DecisionContext) => Reading<Judge | null>;
  /**
   * Notices to other parties about the changes of a command, those that its rule has applied already included, as
   * mutations that are applied with them.
   */
  readonly events: (
    command: Command,
    changes: readonly Mutation[],
    context: DecisionContext,
  ) => Reading<readonly Mutation[]>;
  /**
   * Commands that the home of a subject accepts from other nodes. Each check reads the sent value and answers null for
   * another shape.
   */
  readonly forwarded: Readonly<Partial<Record<string, (sent: unknown) => Command | null>>>;
}

/** Decides a command in one transaction: rule, guards, audit, policy, events and quota of writes, in this order. */
export function* decide(
  command: Command,
  context: DecisionContext,
  { rules, policy, events }: Chain,
): Deciding<Outcome> {
  const applied: Mutation[] = [];
  const judge = yield* policy(command, context);
  const ruled = yield* tellDependents(
    command,
    yield* governed(command, judge, context, { rules, applied }),
    context,
  );
  const { executes, looksAt } = ruled.ok ? ruled.value : {};
  if (looksAt !== undefined) return yield* lookedAt(looksAt as Command, context, rules);
  if (executes === undefined) {
    const heard = yield* announced(command, ruled, { applied, context, events });
    return yield* chargeWrites(command, heard, context);
  }
  const late = readPutAside(executes.command, executes.requester);
  if (late === null) return notReadable(executes);
  const whole = yield* withPutAside(ruled, { late, executes }, context, { rules, applied });
  return yield* chargeWrites(command, yield* announced(late, whole, { applied, context, events }), context);
}

/** What a decision is made with. */
interface Parts {
  readonly rules: Rules;
  /** Takes the mutations that rules apply while they run. */
  readonly applied: Mutation[];
}

/**
 * The rule of a command, and then its policy, which judges what the rule would change. The rule runs as where a policy lets
 * callers change the rows of others; it runs again without that where it looked at such a row, and no policy says so.
 */
function* governed(
  command: Command,
  judge: Judge | null,
  context: DecisionContext,
  { rules, applied }: Parts,
): Deciding<Outcome> {
  if (judge === null) return yield* watched(ruling(command, context, rules), { applied });
  const rows = new Map<MemoryId, Memory>();
  const ruled = yield* watched(ruling(command, { ...context, permitted: true }, rules), { applied, rows });
  if (!ruled.ok) return ruled;
  if (applied.length > 0)
    throw new Error(`the rule of "${command.kind}" changes rows before its policy is asked`);
  const said = yield* judge({ mutations: ruled.value.mutations, rows });
  if (said.verdict === 'refuse') return failed(said.failure);
  const viewer = viewerOf(command);
  const isOwn = (row: Memory) => viewer === null || mayChange(row, viewer);
  if (said.verdict === 'permit' || [...rows.values()].every(isOwn)) return ruled;
  return yield* ruling(command, context, rules);
}

function* lookedAt(command: Command, context: DecisionContext, rules: Rules): Deciding<Outcome> {
  const rows = new Map<MemoryId, Memory>();
  const looking = ruling(command, { ...context, permitted: true }, rules);
  const ruled = yield* watched(looking, { applied: [], rows });
  if (!ruled.ok) return ruled;
  const action = yield* gatedAction(command, { mutations: ruled.value.mutations, rows });
  const namespaces = [...new Set(action?.places.map(({ namespace }) => namespace))];
  return decided({ action: action === null ? null : { namespaces, memoryId: action.memoryId } }, []);
}

/** The rule of a command, with the checks that follow it. */
function* ruling(command: Command, context: DecisionContext, rules: Rules): Deciding<Outcome> {
  if (!Object.hasOwn(rules, command.kind)) throw new Error(`no rule decides the command "${command.kind}"`);
  const rule = rules[command.kind] as Rule<Command['kind']>;
  const placed = guardReserved(command, yield* rule(command as never, context));
  const shaped = guardAgentRecords(command, placed);
  const named = yield* guardNames(command, guardMail(command, shaped), context);
  const guarded = guardRules(command, named, context);
  const elsewhere = guarded.ok ? yield* homeProblem(guarded.value.mutations, context) : null;
  if (elsewhere !== null) return failed(elsewhere);
  if (guarded.ok && guarded.value.mutations.some((mutation) => outgrows(mutation, context)))
    return fail('VALIDATION_FAILED', 'the row would hold more than other nodes take');
  return audited(command, guarded);
}

/** Decides a command that was approved, after the decision that approves it. Its own failure is the answer. */
function* withPutAside(
  approving: Result<Decision<Outcome>>,
  { late, executes }: { readonly late: Command; readonly executes: Approved },
  context: DecisionContext,
  parts: Parts,
): Deciding<Outcome> {
  const judge = withinAuthor(late, executes, approvedPolicy(late, executes, context));
  const executed = yield* tellDependents(late, yield* governed(late, judge, context, parts), context);
  if (!approving.ok || !executed.ok) return executed;
  const { value, mutations } = approving.value;
  return decided({ ...value, executed: executed.value.value } as Outcome, [
    ...mutations,
    ...executed.value.mutations,
  ]);
}

const notReadable = ({ pendingId }: Approved) =>
  fail(
    'PENDING_ACTION_STATE_INVALID',
    'this release cannot execute what the action holds; reject it and send a new request',
    { id: pendingId },
  );

/** True for a write of a row that peers would not take, where they took the row before it. */
function outgrows(mutation: Mutation, { kinds }: DecisionContext): boolean {
  if (mutation.mutation !== 'write') return false;
  const { payload } = kinds.of(mutation.kind);
  return !payload.admits(mutation.image) && (mutation.before === null || payload.admits(mutation.before));
}

/** Runs a rule, and collects the mutations that it applies while it runs, and the memories that it reads by their ids. */
function* watched(
  rule: Deciding<Outcome>,
  { applied, rows }: { readonly applied: Mutation[]; readonly rows?: Map<MemoryId, Memory> },
): Deciding<Outcome> {
  let step = rule.next();
  while (!step.done) {
    const request = step.value;
    if (asks(request, afterThese)) for (const mutation of request.mutations) applied.push(mutation);
    const answer: unknown = yield request;
    if (rows !== undefined && answer !== null) {
      if (asks(request, memoryRead)) rows.set(request.id, answer as Memory);
      if (asks(request, archivedMemory)) rows.set(request.id, (answer as ArchivedRow).memory);
    }
    step = rule.next(answer as never);
  }
  return step.value;
}

interface Applied {
  readonly applied: readonly Mutation[];
  readonly context: DecisionContext;
}

function* announced(
  command: Command,
  result: Result<Decision<Outcome>>,
  { applied, context, events }: Applied & Pick<Chain, 'events'>,
): Deciding<Outcome> {
  if (!result.ok) return result;
  const { value, mutations } = result.value;
  const changes = applied.length === 0 ? mutations : [...applied, ...mutations];
  const heard = yield* events(command, changes, context);
  return heard.length === 0
    ? result
    : { ok: true, value: { ...result.value, value, mutations: [...mutations, ...heard] } };
}

/** The chain of this release. */
export const CHAIN: Chain = {
  rules: RULES,
  policy,
  events: emitEvents,
  forwarded: { 'vote-pending': votePendingOf },
};
