import { guardAgentRecords } from './agents/guard-agents.js';
import type { MemoryId } from './base/meanings.js';
import { fail, failed, type Result } from './base/result.js';
import { type AnyCommand, type AnyDeclared, type Commands, viewerOf } from './decide/command.js';
import {
  type Approved,
  type Deciding,
  type Decision,
  type DecisionContext,
  decided,
} from './decide/deciding.js';
import { homeProblem } from './decide/home.js';
import type { Mutation } from './decide/mutations.js';
import { appendAudit, isMutation } from './decide/mutations.js';
import type { Reading } from './decide/reads.js';
import { afterThese, asks } from './decide/reads.js';
import { guardWithin, withinProblemOf } from './delegation/guard-within.js';
import { tellDependents } from './graph/tell-dependents.js';
import { runningJob } from './jobs/running-job.js';
import { mayChange } from './memory/access.js';
import type { ArchivedRow } from './memory/archived-memory.js';
import { chargeWrites } from './memory/charge-writes.js';
import { guardErased } from './memory/guard-erased.js';
import type { Memory } from './memory/memory.js';
import { purgeArchived } from './memory/mutations.js';
import { archivedMemory, memoryRead } from './memory/reads.js';
import { guardMail } from './messages/guard-mail.js';
import { guardNames } from './namespaces/guard-names.js';
import { guardReserved } from './namespaces/guard-reserved.js';
import { withinAuthor } from './policies/author-scope.js';
import { gatedAction } from './policies/gated-action.js';
import { approvedPolicy, type Judge, policy } from './policies/policy.js';
import { COMMANDS, type Command, type Outcomes } from './release.js';
import { takesRoom } from './replication/make-room.js';
import { guardRules } from './rules/guard-rules.js';
import { emitEvents } from './webhooks/emit.js';

type Outcome = Outcomes[Command['kind']];

/** The commands and the checks around their rules. A store has one chain; tests pass their own commands and seams. */
export interface Chain {
  readonly commands: Commands;
  /** Governance: the policy that judges the changes of a command; null if there is none. */
  readonly policy: (
    declared: AnyDeclared,
    command: AnyCommand,
    context: DecisionContext,
  ) => Reading<Judge | null>;
  /**
   * Notices to other parties about the changes of a command, those that its rule has applied already included, as
   * mutations that are applied with them.
   */
  readonly events: (
    command: AnyCommand,
    changes: readonly Mutation[],
    context: DecisionContext,
    commands: Commands,
  ) => Reading<readonly Mutation[]>;
}

/** Decides a command in one transaction: the run of the job that gives it, rule, guards, audit, policy, events and quota of writes, in this order. */
export function* decide(command: AnyCommand, context: DecisionContext, chain: Chain): Deciding<Outcome> {
  const { commands, policy } = chain;
  const asked: Asked = { declared: commands.of(command), command };
  const applied: Mutation[] = [];
  const job = command.job === undefined ? null : yield* runningJob(command.job);
  if (job !== null && !job.ok) return job;
  const judge = yield* policy(asked.declared, command, context);
  const ruled = yield* decidedBy(asked, judge, context, applied);
  const { executes, looksAt } = ruled.ok ? ruled.value : {};
  if (looksAt !== undefined)
    return yield* lookedAt({ declared: commands.of(looksAt), command: looksAt }, context);
  if (executes === undefined) {
    const heard = yield* announced(command, ruled, { applied, context, chain });
    return yield* chargeWrites(command, heard, context);
  }
  const late = commands.readPutAside(executes.command, executes.requester);
  if (late === null) return notReadable(executes);
  const putAside: Asked = { declared: commands.of(late), command: late };
  const whole = yield* withPutAside(ruled, putAside, executes, context, applied);
  return yield* chargeWrites(command, yield* announced(late, whole, { applied, context, chain }), context);
}

/** A command with its declaration. */
interface Asked {
  readonly declared: AnyDeclared;
  readonly command: AnyCommand;
}

function* decidedBy(
  asked: Asked,
  judge: Judge | null,
  context: DecisionContext,
  applied: Mutation[],
): Deciding<Outcome> {
  const ruled = yield* governed(asked, judge, context, applied);
  return yield* tellDependents(asked.declared, asked.command, ruled, context);
}

/**
 * The rule of a command, and then its policy, which judges what the rule would change. The rule runs as where a policy lets
 * callers change the rows of others; it runs again without that where it looked at such a row, and no policy says so.
 */
function* governed(
  asked: Asked,
  judge: Judge | null,
  context: DecisionContext,
  applied: Mutation[],
): Deciding<Outcome> {
  const { declared, command } = asked;
  if (judge === null) return yield* watched(ruling(asked, context), { applied });
  const rows = new Map<MemoryId, Memory>();
  const ruled = yield* watched(ruling(asked, { ...context, permitted: true }), { applied, rows });
  if (!ruled.ok) return ruled;
  if (applied.length > 0)
    throw new Error(`the rule of "${command.kind}" changes rows before its policy is asked`);
  const said = yield* judge({ mutations: ruled.value.mutations, rows });
  if (said.verdict === 'refuse') return failed(said.failure);
  const viewer = viewerOf(declared, command);
  const isOwn = (row: Memory) => viewer === null || mayChange(row, viewer);
  if (said.verdict === 'permit' || [...rows.values()].every(isOwn)) return ruled;
  return yield* ruling(asked, context);
}

function* lookedAt(asked: Asked, context: DecisionContext): Deciding<Outcome> {
  const rows = new Map<MemoryId, Memory>();
  const ruled = yield* watched(ruling(asked, { ...context, permitted: true }), { applied: [], rows });
  if (!ruled.ok) return ruled;
  const { mutations } = ruled.value;
  const action = yield* gatedAction(asked.declared, asked.command, { mutations, rows });
  const namespaces = [...new Set(action?.places.map(({ namespace }) => namespace))];
  return decided({ action: action === null ? null : { namespaces, memoryId: action.memoryId } }, []);
}

/** The rule of a command, with the checks that follow it. */
function* ruling({ declared, command }: Asked, context: DecisionContext): Deciding<Outcome> {
  const foreign = withinProblemOf(declared, command);
  if (foreign !== null) return failed(foreign);
  const placed = guardReserved(
    declared,
    command,
    (yield* declared.decide(command as never, context)) as Result<Decision<Outcome>>,
  );
  const shaped = guardAgentRecords(declared, placed);
  const named = yield* guardNames(command, guardMail(declared, command, shaped), context);
  const inside = guardWithin(declared, command, guardRules(command, named, context));
  const guarded = yield* guardErased(inside, context);
  const elsewhere = guarded.ok ? yield* homeProblem(guarded.value.mutations, context) : null;
  if (elsewhere !== null) return failed(elsewhere);
  if (guarded.ok && guarded.value.mutations.some((mutation) => outgrows(mutation, context)))
    return fail('VALIDATION_FAILED', 'the row would hold more than other nodes take');
  if (context.full === true && guarded.ok && asksForRoom(declared, guarded.value.mutations)) return noRoom();
  return audited(declared, command, guarded);
}

/** Records acts that remove many memories at once, in the same transaction; the operation log holds single writes. */
function audited<T>(
  { audit }: AnyDeclared,
  command: AnyCommand,
  result: Result<Decision<T>>,
): Result<Decision<T>> {
  if (!result.ok || audit === undefined) return result;
  const { mutations } = result.value;
  const removed = mutations.filter(
    (mutation) => mutation.mutation === 'remove' || isMutation(mutation, purgeArchived),
  ).length;
  if (removed === 0) return result;
  const event = audit(command as never, removed);
  return { ok: true, value: { ...result.value, mutations: [...mutations, appendAudit({ event })] } };
}

/** Decides a command that was approved, after the decision that approves it. Its own failure is the answer. */
function* withPutAside(
  approving: Result<Decision<Outcome>>,
  late: Asked,
  executes: Approved,
  context: DecisionContext,
  applied: Mutation[],
): Deciding<Outcome> {
  const { declared, command } = late;
  const approved = approvedPolicy(declared, command, executes, context);
  const judge = withinAuthor(declared, command, executes, approved);
  const executed = yield* decidedBy(late, judge, context, applied);
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

/** True for changes that a caller asked for and that make the database larger; peers and the node itself go on. */
const asksForRoom = ({ gate }: AnyDeclared, mutations: readonly Mutation[]): boolean =>
  gate !== 'upkeep' && gate !== 'peer' && mutations.some(takesRoom);

const noRoom = () =>
  fail(
    'STORAGE_FULL',
    'the database takes all that [storage] max_bytes allows; nothing was changed. "mnemesh room" says what takes the room; where no daemon runs, "mnemesh gc" makes some',
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
  readonly chain: Pick<Chain, 'commands' | 'events'>;
}

function* announced(
  command: AnyCommand,
  result: Result<Decision<Outcome>>,
  { applied, context, chain }: Applied,
): Deciding<Outcome> {
  if (!result.ok) return result;
  const { value, mutations } = result.value;
  const changes = applied.length === 0 ? mutations : [...applied, ...mutations];
  const heard = yield* chain.events(command, changes, context, chain.commands);
  return heard.length === 0
    ? result
    : { ok: true, value: { ...result.value, value, mutations: [...mutations, ...heard] } };
}

/** The chain of this release. */
export const CHAIN: Chain = {
  commands: COMMANDS,
  policy,
  events: emitEvents,
};
