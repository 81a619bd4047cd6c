import { isTokenText } from '../../protocol/base/ids.js';
import type { Random, Scheduler } from '../../protocol/base/seams.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import { isRepeatable } from '../pipeline/repeatable.js';
import { checkedAgent, checkedHeaders, RETRIES_MAX, TIMEOUT_MS_MAX, wholeNumber } from './checked.js';
import { MnemeshError, refused } from './client-error.js';
import { eventsOf } from './event-stream.js';
import type {
  ApprovalEvent,
  CallOptions,
  GeneralClient,
  Health,
  InboxEvent,
  SignableMemory,
  Signer,
  StreamedEvent,
  StreamOptions,
} from './public.js';
import { type ClientRequest, type Input, requestOf } from './request.js';
import { type FailedTry, leavesOutcomeUnknown, retryDelayMs } from './retries.js';
import type { ClientRoute } from './routes.js';
import type { Signing } from './signing.js';
import { type Answered, Transport, type Unanswered } from './transport.js';

export interface HttpClientParts {
  readonly routes: readonly ClientRoute[];
  readonly url: URL;
  readonly agentId: string | null;
  readonly apiKey: string | null;
  readonly signer: Signer | null;
  readonly approvalSecret: string | null;
  /** Null for a client that has nothing to sign with. */
  readonly signing: Signing | null;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
  readonly random: Pick<Random, 'unit' | 'uuid'>;
  readonly scheduler: Scheduler;
}

export type Body = Record<string, unknown>;
type Headers = Readonly<Record<string, string>>;

/** What a call sends, ready to be sent again. */
interface Prepared {
  readonly route: ClientRoute;
  readonly request: ClientRequest;
  readonly isRepeatable: boolean;
  /** What a signed decision is about, as its route names it; null for another call. */
  readonly decides: string | null;
}

/** A client of a node over HTTP. Every failure is a MnemeshError, but for a call that its signal ends. */
export class HttpClient implements GeneralClient {
  readonly #parts: HttpClientParts;
  readonly #transport: Transport;
  readonly #routes: ReadonlyMap<string, ClientRoute>;

  constructor(parts: HttpClientParts) {
    this.#parts = parts;
    this.#transport = new Transport(parts);
    this.#routes = new Map(parts.routes.map((route) => [route.name, route]));
  }

  /** Calls an operation; its answer. APPROVAL_PENDING where a policy has set the call aside. */
  async call(name: string, input: Input = {}, options: CallOptions = {}): Promise<Body> {
    const prepared = await this.#prepared(name, input, options);
    const { status, text } = await this.#send(prepared, options);
    const body = objectOf(text);
    if (body === null) {
      const message = `${name}: the answer is no JSON object; text() takes other formats`;
      throw new MnemeshError({ code: 'INVALID_ARGUMENT', message, status });
    }
    // A vote that does not decide yet answers 202 too.
    const { pending_id: id, reason } = body;
    if (status === 202 && typeof id === 'string' && prepared.decides === null) {
      const message = `${name} waits for an approval (${id}): ${String(reason)}`;
      throw new MnemeshError({ code: 'APPROVAL_PENDING', message, status, details: body });
    }
    return body;
  }

  /** Calls an operation that has other formats than JSON; its answer as it came. */
  async text(name: string, input: Input = {}, options: CallOptions = {}): Promise<string> {
    return (await this.#send(await this.#prepared(name, input, options), options)).text;
  }

  /** Says whether the node answers, and whether it can work. */
  async health(options: CallOptions = {}): Promise<Health> {
    const request = { method: 'GET', path: `${API_PREFIX}/health`, headers: ACCEPT_JSON, body: null };
    const answer = await this.#transport.send(request, this.#tryOptions(options));
    if (answer.status === null) throw this.#unanswered(answer, 'read').error;
    const body = objectOf(answer.text);
    if (typeof body?.['service'] === 'string') return body as unknown as Health;
    throw this.#failed('health', 'read', answer).error;
  }

  approvalsStream(options: StreamOptions = {}): AsyncGenerator<ApprovalEvent, void, undefined> {
    return this.#stream('/approvals/stream', options) as AsyncGenerator<ApprovalEvent, void, undefined>;
  }

  inboxStream(options: StreamOptions = {}): AsyncGenerator<InboxEvent, void, undefined> {
    return this.#stream('/inbox/stream', options) as AsyncGenerator<InboxEvent, void, undefined>;
  }

  /** The events of a stream until the signal or the reader ends it. */
  #stream(path: string, options: StreamOptions): AsyncGenerator<StreamedEvent, void, undefined> {
    const { lastEventId = '' } = options;
    checkedHeaders({ 'last-event-id': lastEventId });
    const headers = checkedHeaders({ ...this.#headers(options.agentId), accept: 'text/event-stream' });
    const request = { method: 'GET', path: `${API_PREFIX}${path}`, headers, body: null };
    return eventsOf(request, options, {
      transport: this.#transport,
      random: this.#parts.random,
      errorOf: (answer) =>
        answer.status === null
          ? this.#unanswered(answer, 'read').error
          : this.#failed(path, 'read', answer).error,
    });
  }

  async #prepared(name: string, input: Input, options: CallOptions): Promise<Prepared> {
    const route = this.#routes.get(name);
    if (route === undefined) throw refused(`HTTP has no operation ${name}`, ['operation']);
    const given = await this.#signed(route, input, options.agentId);
    const request = requestOf(route, given);
    const repeats = route.effect === 'write' && isRepeatable(route, given);
    const agentId = this.#agentOf(options.agentId);
    const key = options.idempotencyKey ?? (repeats && agentId !== null ? this.#parts.random.uuid() : null);
    if (options.idempotencyKey !== undefined) keyProblem(route, repeats, agentId);
    const headers = checkedHeaders({
      ...request.headers,
      ...this.#headers(options.agentId),
      ...(key === null ? {} : { 'idempotency-key': key }),
    });
    return {
      route,
      request: { ...request, headers },
      isRepeatable: route.effect === 'read' || key !== null,
      decides: route.decision === undefined ? null : String(input[route.decision.field]),
    };
  }

  /** The input with the signatures that it needs where there is a signer. */
  async #signed({ signs }: ClientRoute, input: Input, named: string | undefined): Promise<Input> {
    const { signer, signing } = this.#parts;
    if (signer === null || signing === null || signs === undefined) return input;
    if (named !== undefined && named !== signer.agentId)
      throw refused(`the signer is of ${signer.agentId}, and the call of ${named}`, ['agentId']);
    const sign = async (memory: unknown) =>
      isSigned(memory) ? memory : signing.memory(signer, memory as SignableMemory);
    if (signs === 'memory') return (await sign(input)) as unknown as Input;
    const { memories } = input;
    return Array.isArray(memories) ? { ...input, memories: await Promise.all(memories.map(sign)) } : input;
  }

  async #send(prepared: Prepared, options: CallOptions): Promise<Answered> {
    const retries = wholeNumber('retries', options.retries ?? this.#parts.retries, 0, RETRIES_MAX);
    for (let tries = 0; ; tries += 1) {
      const tried = await this.#try(prepared, options);
      if (!('error' in tried)) return tried;
      const { isRepeatable: repeats } = prepared;
      const call = { isRepeatable: repeats, tries, unit: this.#parts.random.unit() };
      const delayMs = tries >= retries ? null : retryDelayMs(tried, call);
      if (delayMs === null) throw tried.error;
      await this.#transport.pause(delayMs, options.signal);
    }
  }

  async #try({ route, request, decides }: Prepared, options: CallOptions): Promise<Answered | FailedTry> {
    const { approvalSecret: secret, signing } = this.#parts;
    const own =
      secret === null || signing === null || decides === null
        ? {}
        : signing.decision(route, decides, request.body ?? '', secret);
    const headers = { ...request.headers, ...own };
    const answer = await this.#transport.send({ ...request, headers }, this.#tryOptions(options));
    if (answer.status === null) return this.#unanswered(answer, route.effect);
    return answer.status < 300 ? answer : this.#failed(route.name, route.effect, answer);
  }

  #tryOptions({ signal, timeoutMs }: CallOptions) {
    const limitMs = timeoutMs ?? this.#parts.timeoutMs;
    return { signal, timeoutMs: wholeNumber('timeoutMs', limitMs, 1, TIMEOUT_MS_MAX) };
  }

  #agentOf(named: string | undefined): string | null {
    return checkedAgent(named ?? this.#parts.agentId);
  }

  #headers(named: string | undefined): Headers {
    const [agentId, { apiKey }] = [this.#agentOf(named), this.#parts];
    return {
      ...ACCEPT_JSON,
      ...(agentId === null ? {} : { 'x-agent-id': agentId }),
      ...(apiKey === null ? {} : credential(apiKey)),
    };
  }

  #unanswered({ reason, isLate, isUnsent, cause }: Unanswered, effect: 'read' | 'write'): FailedTry {
    const isOutcomeUnknown = effect === 'write' && !isUnsent;
    const unknown = isOutcomeUnknown ? '; whether it was done is unknown' : '';
    const error = new MnemeshError({
      code: isLate ? 'DEADLINE' : 'UNAVAILABLE',
      message: `${this.#parts.url.origin} does not answer: ${reason}${unknown}`,
      ...{ isOutcomeUnknown, cause },
    });
    return { error, isUnsent };
  }

  #failed(name: string, effect: 'read' | 'write', { status, text }: Answered): FailedTry {
    const { code, error: message, ...details } = objectOf(text) ?? {};
    const known = typeof code === 'string' && typeof message === 'string';
    const said = known ? code : status >= 500 ? 'UNAVAILABLE' : 'INVALID_REQUEST';
    const error = new MnemeshError({
      ...{ code: said, status, details },
      message: known ? message : `${name}: ${this.#parts.url.origin} answers ${status} without a JSON error`,
      isOutcomeUnknown: effect === 'write' && leavesOutcomeUnknown(said),
    });
    return { error, isUnsent: false };
  }
}

const ACCEPT_JSON: Headers = { accept: 'application/json' };

const isSigned = (memory: unknown): boolean =>
  typeof (memory as { readonly signature?: unknown } | null)?.signature === 'string';

/** Refuses a key that the node would not take. */
function keyProblem({ name }: ClientRoute, repeats: boolean, agentId: string | null): void {
  if (!repeats) throw refused(`${name} cannot be repeated: it takes no idempotencyKey`, ['idempotencyKey']);
  if (agentId === null) throw refused('an idempotencyKey needs an agent: give agentId', ['agentId']);
}

function objectOf(text: string): Body | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : null;
  } catch {
    return null;
  }
}

/** A token goes into `authorization`. A key goes into a header of its own, which proxies do not change. */
const credential = (key: string): Headers =>
  isTokenText(key) ? { authorization: `Bearer ${key}` } : { 'x-api-key': key };
