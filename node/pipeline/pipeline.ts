import { ERRORS } from '../../protocol/base/errors.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { MemoryUse } from '../../protocol/decide/used.js';
import type { ReadStore, Store } from '../../storage/port.js';
import { FULL_PROFILE, type Profile } from '../config/tool-profile.js';
import type { Caller } from '../identity/caller.js';
import { type TracedOutcome, traceParentOf } from '../observability/tracing.js';
import { type Answer, answerOf } from './answer.js';
import { attest } from './attest.js';
import type { Attestation, Call, ProgressReport, Services, Surface } from './call.js';
import { CallScreen } from './call-screen.js';
import { CallStore } from './call-store.js';
import { clockProblem } from './clock-problem.js';
import { GovernedStore } from './governed-store.js';
import { grantProblem } from './grant-problem.js';
import { hookedAnswer } from './hooked-answer.js';
import { afterRun, beforeRun, hooksOf } from './hooked-call.js';
import { keyedRandom } from './keyed-random.js';
import type { Operation } from './operation.js';
import { parseInput } from './parse.js';
import { isRepeatable } from './repeatable.js';
import { hooksOfRepeated, repeatedFailure } from './repeated-call.js';
import { onlyHere, withQuorum } from './replicate.js';
import type { HookRun } from './run-hooks.js';
import { signAsAgent } from './sign-as-agent.js';
import { withinStore } from './within-store.js';

/** A call from a surface: aliases are resolved, values are not checked yet. */
export interface Request {
  readonly surface: Surface;
  readonly caller: Caller;
  /** Field values by name; the surface has applied its aliases and defaults. */
  readonly input: Readonly<Record<string, unknown>>;
  /** MCP tolerates unknown arguments; HTTP and the command line name and refuse them. */
  readonly unknownFields: 'refuse' | 'ignore';
  readonly profile?: Profile;
  /**
   * When the caller is answered in any case, in monotonic milliseconds: commands that still wait for the store then are
   * not begun.
   */
  readonly deadlineMs?: number;
  /** Makes a signal that aborts when the caller is gone or cancels the call. */
  readonly gone?: () => AbortSignal;
  /** Receives the progress of a long operation. */
  readonly progress?: ProgressReport;
  /** Ids that the call makes follow from it, so that the same call makes them again. */
  readonly key?: string;
  /** The header `traceparent` of whoever calls, unparsed. */
  readonly traceparent?: string | undefined;
  /** The surface that a span names, where it is not that of the request. */
  readonly tracedAs?: string;
  /** True for a retry of a call whose answer was lost; `perhaps` where its client does not say which try this is. */
  readonly again?: boolean | 'perhaps';
}

/** Most secrets that an answer names. */
const SECRETS_NAMED_MAX = 32;

const UNHEARD: ProgressReport = () => undefined;

/**
 * The only way to run an operation: gate, parse, attest, hooks, run, wait for the quorum. Exceptions are bugs: they are reported
 * with their stack and answered INTERNAL with hidden text.
 */
export async function runOperation(
  operation: Operation,
  request: Request,
  services: Services,
): Promise<Answer> {
  const { tracing } = services;
  if (tracing === undefined) return run(operation, request, services);
  const { surface, tracedAs = surface, traceparent } = request;
  const parent = traceParentOf(traceparent);
  const end = tracing.begin({ operation: operation.name, surface: tracedAs, parent });
  const answer = await run(operation, request, services);
  end(outcomeOf(answer));
  return answer;
}

/** What a span says of an answer. */
function outcomeOf(answer: Answer): TracedOutcome {
  if (answer.ok) return { code: answer.waits === true ? 'WAITS' : 'OK', isFault: false };
  const { code } = answer.error;
  return { code, isFault: ERRORS[code].http >= 500 };
}

async function run(operation: Operation, given: Request, services: Services): Promise<Answer> {
  try {
    const refused = grantProblem(operation, given.caller);
    if (refused !== null) return failed(refused);
    // This check comes first, so that a caller without the right to an operation learns nothing of its other checks.
    if (operation.guards.admin === true && given.surface === 'http' && !given.caller.admin) {
      return fail('ADMIN_REQUIRED', 'admin role required');
    }
    const parsed = parseInput(operation, given.input, given.unknownFields);
    if (!parsed.ok) return failed(parsed.error);

    const replication = operation.effect === 'write' ? services.replication : undefined;
    if (replication?.accepting() === false) await replication.whenAccepting();
    const ahead = replication === undefined ? null : clockProblem(replication);
    if (ahead !== null) return failed(ahead);

    const nowMs = services.clock.nowMs();
    const seeing = await services.reads.limited(
      given.caller,
      operation.name,
      parsed.value,
      services,
      instantFromMs(nowMs),
    );
    if (!seeing.ok) return failed(seeing.error);
    const request = seeing.value === given.caller ? given : { ...given, caller: seeing.value };
    const screen = screenOf(operation, request, nowMs, services);
    const input = await screened(operation, parsed.value, request, screen);
    if (!input.ok) return failed(input.error);
    const carried = await carriedTexts(operation, input.value, request, nowMs, services, screen);
    if (!carried.ok) return failed(carried.error);
    const asked = input.value === parsed.value ? request : { ...request, input: input.value };
    const attested = await attestedInput(operation, input.value, request, nowMs, services);
    if (!attested.ok) return failed(attested.error);
    const answer = await runAttested(operation, asked, services, nowMs, { ...attested.value, screen });
    const repeated =
      request.again === true && operation.effect === 'write' ? repeatedFailure(answer) : answer;
    return withNotes(repeated, screen);
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

/** What looks for secrets in what a call brings; null for a call that stores no text, and where no namespace is looked at. */
function screenOf(
  operation: Operation,
  { caller }: Request,
  nowMs: number,
  services: Services,
): CallScreen | null {
  const { effect, screens } = operation;
  if (effect === 'read' || screens === 'nothing' || !services.screen.isOn) return null;
  const placing = { services, caller, now: instantFromMs(nowMs) };
  const placeOf = async (input: Input) => (await operation.placed?.(placing, input)) ?? null;
  return new CallScreen({ services, operation, agentId: caller.agentId, placeOf });
}

/** The input without the secrets that may not be stored. It comes before hooks, policies and everything that keeps a copy. */
async function screened(
  operation: Operation,
  input: Input,
  { unknownFields }: Request,
  screen: CallScreen | null,
): Promise<Result<Input>> {
  if (screen === null || operation.screens === 'rows') return ok(input);
  const passed = await screen.input(input);
  if (!passed.ok || passed.value === input) return passed;
  const parsed = parseInput(operation, passed.value, unknownFields);
  return parsed.ok ? parsed : failed(await screen.unfit(input));
}

/** The same for stored texts that the call takes to another namespace, where namespaces have modes of their own. */
async function carriedTexts(
  operation: Operation,
  input: Input,
  { caller }: Request,
  nowMs: number,
  services: Services,
  screen: CallScreen | null,
): Promise<Result<null>> {
  if (screen === null || operation.carries === undefined || !services.screen.hasNamespaces) return ok(null);
  return screen.carried(await operation.carries({ services, caller, now: instantFromMs(nowMs) }, input));
}

/** The answer, with what was found in the input. */
function withNotes(answer: Answer, screen: CallScreen | null): Answer {
  if (screen === null || screen.notes.length === 0 || !answer.ok) return answer;
  return { ...answer, value: { ...answer.value, secrets_found: screen.notes.slice(0, SECRETS_NAMED_MAX) } };
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
  attested: Attested & { readonly screen: CallScreen | null },
): Promise<Answer> {
  const { screen } = attested;
  const replication = operation.effect === 'write' ? services.replication : undefined;
  const { clock, log } = services;
  const random = request.key === undefined ? services.random : keyedRandom(request.key, services);
  const { deadlineMs } = request;
  const now = instantFromMs(nowMs);
  const { agentId } = request.caller;
  const used = notingUses(services, agentId, now);
  const own = new CallStore(services.store, { clock, deadlineMs, homes: replication, used });
  const tokens = deadlineMs === undefined ? services.tokens : tokensUntil(services, deadlineMs);
  const mayBeStored = operation.storesKeyed === true && isRepeatable(operation, attested.input);
  const looking = { hooks: services.hooks, crypto: services.crypto, random, store: own };
  const given = mayBeStored ? await hooksOfRepeated(request, looking, now) : ok(services.hooks);
  if (!given.ok) return failed(given.error);
  const hooks = given.value;
  const hookRun: HookRun = {
    hooks,
    store: services.store,
    clock,
    log,
    agentId,
    now,
    endMs: request.deadlineMs,
  };
  const governing = { random, caller: request.caller, hookRun, onDecision: services.onDecision };
  const isGoverned = operation.effect === 'write' && operation.ofRows !== true;
  const governed = isGoverned ? new GovernedStore(own, governing) : own;
  const store = withinStore(governed, request.caller.viewer);
  let { input } = attested;
  let call: Call = {
    again: request.again === true || request.again === 'perhaps',
    surface: request.surface,
    caller: request.caller,
    attestation: attested.attestation,
    nowMs,
    now,
    services: servicesOf(operation, services, { store, tokens, random }),
    ...(request.deadlineMs === undefined ? {} : { deadlineMs: request.deadlineMs }),
    ...(request.gone === undefined ? {} : { gone: request.gone }),
    profile: request.profile ?? FULL_PROFILE,
    ...(screen === null ? {} : { screenRow: (row, at) => screen.row(row, at) }),
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
      const passed = await screened(operation, hooked.input, request, screen);
      if (!passed.ok) return failed(passed.error);
      const again = await attestedInput(operation, passed.value, request, nowMs, services);
      if (!again.ok) return failed(again.error);
      input = again.value.input;
      call = { ...call, attestation: again.value.attestation };
    }
  }
  const result = await operation.run(call, input);
  const answer = await shownAnswer(operation, result, hookRun);
  if (!answer.ok) return answer;
  if (around !== null && answer.waits !== true) {
    // Their reads have no part in the deadline of the caller.
    const later = {
      ...call,
      services: { ...services, store: readOnly(services.store), replication: undefined },
    };
    afterRun(around, hookRun, later, { answer: answer.value, input, seen });
  }
  if (!needsQuorum(operation, services)) return answer;
  const replicated =
    replication === undefined
      ? onlyHere(own, services.settings.quorumWrites)
      : await withQuorum(own, replication, services, deadlineMs);
  return { ...answer, value: { ...answer.value, ...replicated } };
}

/** Hands on which memories a call used. */
const notingUses =
  ({ touches }: Services, agentId: string, at: string) =>
  (memoryId: string, how: MemoryUse): void =>
    touches.use({ agentId, memoryId, how, at });

/** The answer to what an operation came to; that of a read is what hooks leave of it. */
async function shownAnswer(
  { effect, name }: Operation,
  result: Result<unknown>,
  hookRun: HookRun,
): Promise<Answer> {
  const answer: Answer = result.ok ? ok(result.value as Record<string, unknown>) : answerOf(result.error);
  if (!answer.ok || effect === 'write') return answer;
  const shown = await hookedAnswer(hookRun, name, answer.value);
  return shown.ok ? { ...answer, value: { ...shown.value } } : failed(shown.error);
}

/** True for a write whose operations other nodes must have. */
function needsQuorum({ effect, quorum }: Operation, { replication, condition, settings }: Services): boolean {
  if (effect !== 'write' || quorum === 'none') return false;
  return replication !== undefined || (settings.quorumWrites > 1 && condition().writer === 'process');
}

/** The token counter for a call whose caller waits only until then. */
const tokensUntil = ({ tokens }: Pick<Services, 'tokens'>, deadlineMs: number): Services['tokens'] => ({
  counts: (texts, budget) => tokens.counts(texts, budget, deadlineMs),
});

/** What a call has of its own in place of what the node has. */
type OwnParts = Pick<Services, 'store' | 'tokens' | 'random'>;

/**
 * The services of a call: a read gets a store that cannot write. Calls inside a call do not wait one by one for the
 * quorum: the outermost waits for all their operations, and its span is theirs.
 */
function servicesOf(
  { effect }: Operation,
  services: Services,
  { store, tokens, random }: OwnParts,
): Services {
  // The declaration ties the effect to the type of `run`, so a read never uses what is missing here.
  const given = effect === 'read' ? (readOnly(store) as Store) : store;
  return { ...services, store: given, tokens, random, replication: undefined, tracing: undefined };
}

const readOnly = (store: Store): ReadStore => ({ query: (query, options) => store.query(query, options) });
