import type { Instant } from '../../protocol/meanings.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import { instantFromMs } from '../../protocol/time.js';
import type { Store } from '../../storage/port.js';
import type { Caller } from '../identity/caller.js';
import { attest } from './attest.js';
import { boundedServices } from './bounded-services.js';
import type { Attestation, Call, ProgressReport, ReadServices, Services, Surface } from './call.js';
import { clockProblem } from './clock-problem.js';
import { GovernedStore, pendingAnswer, waitsForApproval } from './governed-store.js';
import { HomeStore } from './home-store.js';
import { afterRun, beforeRun, hooksOf } from './hooked-call.js';
import { keyedRandom } from './keyed-random.js';
import type { Operation } from './operation.js';
import { parseInput } from './parse.js';
import { hooksOfRepeated, repeatedFailure } from './repeated-call.js';
import { RecordingStore, withQuorum } from './replicate.js';
import type { HookRun } from './run-hooks.js';
import { signAsAgent } from './sign-as-agent.js';

/** A call from a surface: aliases are resolved, values are not checked yet. */
export interface Request {
  readonly surface: Surface;
  readonly caller: Caller;
  /** Field values by name; the surface has applied its aliases and defaults. */
  readonly input: Readonly<Record<string, unknown>>;
  /** MCP tolerates unknown arguments; HTTP and the command line name and refuse them. */
  readonly unknownFields: 'refuse' | 'ignore';
  readonly profile?: 'core' | 'full';
  /**
   * When the caller is answered in any case, in monotonic milliseconds: commands that still wait for the store then are
   * not begun.
   */
  readonly deadlineMs?: number;
  /** Receives the progress of a long operation. */
  readonly progress?: ProgressReport;
  /** Ids that the call makes follow from it, so that the same call makes them again. */
  readonly key?: string;
  /** True for a call that was sent before and not answered. */
  readonly again?: boolean;
}

const UNHEARD: ProgressReport = () => undefined;

/** The service's own name for an answer: what a surface renders. */
export type Answer = Result<Record<string, unknown>>;

/**
 * The only way to run an operation: gate, parse, attest, hooks, run, wait for the quorum. Exceptions are bugs: they are reported
 * with their stack and answered INTERNAL with hidden text.
 */
export async function runOperation(
  operation: Operation,
  request: Request,
  services: Services,
): Promise<Answer> {
  try {
    // This check comes first, so that a caller without the right to an operation learns nothing of its other checks.
    if (operation.guards.admin === true && request.surface === 'http' && !request.caller.admin) {
      return fail('ADMIN_REQUIRED', 'admin role required');
    }
    const parsed = parseInput(operation, request.input, request.unknownFields);
    if (!parsed.ok) return failed(parsed.error);

    const replication = operation.effect === 'write' ? services.replication : undefined;
    if (replication?.accepting() === false) await replication.whenAccepting();
    const ahead = replication === undefined ? null : clockProblem(replication);
    if (ahead !== null) return failed(ahead);

    const nowMs = services.clock.nowMs();
    const attested = await attestedInput(operation, parsed.value, request, nowMs, services);
    if (!attested.ok) return failed(attested.error);
    const answer = await runAttested(operation, request, services, nowMs, attested.value);
    return request.again === true && operation.effect === 'write' ? repeatedFailure(answer) : answer;
  } catch (error) {
    services.log.error({ err: error, operation: operation.name }, 'operation failed unexpectedly');
    return fail('INTERNAL', 'internal server error');
  }
}

type Input = Readonly<Record<string, unknown>>;

interface Attested {
  readonly input: Input;
  readonly attestation: Attestation;
}

async function attestedInput(
  operation: Operation,
  parsed: Input,
  { caller }: Request,
  nowMs: number,
  services: Services,
): Promise<Result<Attested>> {
  const input = signAsAgent(parsed, caller, nowMs, services);
  if (!input.ok) return failed(input.error);
  const attestation = await attest(operation, input.value, caller, nowMs, services);
  return attestation.ok
    ? ok({ input: input.value, attestation: attestation.value })
    : failed(attestation.error);
}

/** Runs the hooks before an operation and the operation, waits for the quorum, and tells the hooks after it. */
async function runAttested(
  operation: Operation,
  request: Request,
  services: Services,
  nowMs: number,
  attested: Attested,
): Promise<Answer> {
  const replication = operation.effect === 'write' ? services.replication : undefined;
  const keyed =
    request.key === undefined ? services : { ...services, random: keyedRandom(request.key, services) };
  const bounded = request.deadlineMs === undefined ? keyed : boundedServices(keyed, request.deadlineMs);
  const recording =
    replication === undefined ? null : new RecordingStore(new HomeStore(bounded.store, replication));
  const now = instantFromMs(nowMs);
  const mayBeStored = operation.storesKeyed === true && operation.repeatable?.(attested.input) === true;
  const hooks = mayBeStored ? await hooksOfRepeated(request, bounded, now) : ok(services.hooks);
  if (!hooks.ok) return failed(hooks.error);
  const hookRun = hookRunOf(request, now, { ...services, hooks: hooks.value });
  const own = recording ?? bounded.store;
  const { random, onDecision } = bounded;
  const parts = { random, requestedBy: request.caller.agentId, hookRun, onDecision };
  const store = operation.ofRows === true ? own : new GovernedStore(own, parts);
  let { input } = attested;
  let call: Call = {
    again: request.again === true,
    surface: request.surface,
    caller: request.caller,
    attestation: attested.attestation,
    nowMs,
    now,
    services: servicesFor(operation, bounded, store),
    ...(request.deadlineMs === undefined ? {} : { deadlineMs: request.deadlineMs }),
    profile: request.profile ?? 'full',
    progress: request.progress ?? UNHEARD,
  };
  const around = hooksOf(operation, services);
  let seen: unknown;
  if (around !== null) {
    const parse = (given: Input) => parseInput(operation, given, request.unknownFields);
    const hooked = await beforeRun(around, hookRun, call, { input, given: request.input }, parse);
    if (hooked.kind === 'answer') return hooked.answer;
    seen = hooked.seen;
    if (hooked.isRewritten) {
      const again = await attestedInput(operation, hooked.input, request, nowMs, services);
      if (!again.ok) return failed(again.error);
      input = again.value.input;
      call = { ...call, attestation: again.value.attestation };
    }
  }
  const result = await operation.run(call, input);
  const said = result.ok ? ok(result.value as Record<string, unknown>) : pendingAnswer(result.error);
  if (!said.ok) return said;
  const answer = said.value;
  if (around !== null && !waitsForApproval(answer)) {
    // Their reads have no part in the deadline of the caller.
    const later = { ...call, services: withoutWriting(services) };
    afterRun(around, hookRun, later, { answer, input, seen });
  }
  if (recording === null || replication === undefined || operation.quorum === 'none') return ok(answer);
  return await withQuorum(answer, recording, replication, services, request.deadlineMs);
}

const hookRunOf = (
  { caller, deadlineMs }: Request,
  now: Instant,
  { hooks, store, clock, log }: Services,
): HookRun => ({
  ...{ hooks, store, clock, log },
  ...{ agentId: caller.agentId, now, endMs: deadlineMs },
});

/** Services with the store of the call: one that records what a write appends, or one that cannot write. */
function servicesFor({ effect }: Operation, services: Services, store: Store): Services {
  // The declaration ties the effect to the type of `run`, so a read never uses what is missing here.
  if (effect === 'read') return withoutWriting(services) as Services;
  return withoutReplication(services, store);
}

function withoutWriting({ replication: _none, store, ...services }: Services): ReadServices {
  return { ...services, store: { query: (query, options) => store.query(query, options) } };
}

/** Calls inside a call do not wait one by one: the outermost waits for all their operations. */
function withoutReplication(
  { replication: _outer, ...services }: Services,
  store: Services['store'],
): Services {
  return { ...services, store };
}
