import type { IncomingHttpHeaders } from 'node:http';
import { ERRORS } from '../../protocol/base/errors.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { collectInput } from '../bindings/collect-input.js';
import type { OperationRoute } from '../bindings/operation-route.js';
import type { HttpCallers, TokenGrant } from '../identity/http-caller.js';
import type { Metrics } from '../observability/metrics.js';
import { traceParentOf } from '../observability/tracing.js';
import { type Answered, shapedAnswer } from '../pipeline/answer.js';
import type { Services } from '../pipeline/call.js';
import { formattedText } from '../pipeline/formatted-text.js';
import { runOperation } from '../pipeline/pipeline.js';
import type { Admission } from './admission.js';
import type { ApprovalSignatures } from './approval-signature.js';
import { type AuthBackoff, sourceOf } from './auth-backoff.js';
import type { Cors } from './cors.js';
import { entityTag, isKnown } from './entity-tag.js';
import { EVENT_STREAM_TYPE } from './event-stream.js';
import { type Exchange, JSON_TYPE, NOT_MODIFIED } from './exchange.js';
import { type HostGuard, isLoopbackAddress as isLoopback } from './host-guard.js';
import { IDEMPOTENCY_KEY, keyOfCall } from './idempotency.js';
import { parseJsonBody } from './json-body.js';
import { type KeyGate, keysOf } from './key-gate.js';
import type { TlsClient } from './listener-tls.js';
import { converse, type McpRoute } from './mcp-route.js';
import { messageOf } from './peer-message.js';
import type { PeerRoute } from './peer-route.js';
import { parseQuery } from './query-string.js';
import { announcementProblem, announcesBody, fetchSiteOf, receiveBody } from './receive-body.js';
import type { Router } from './router.js';
import type { ServiceRoute } from './service-route.js';
import type { StreamRoute } from './stream-route.js';
import { type OpenedToken, type TokenGate, tokenOf } from './token-gate.js';

export type Route = OperationRoute | ServiceRoute | PeerRoute | StreamRoute | McpRoute;

/** What handling a request needs of its surface. */
export interface HandlerOptions {
  readonly services: Services;
  readonly router: Router<Route>;
  readonly urlBytesMax: number;
  readonly hosts: HostGuard;
  /** The client that an enforced allowlist admitted. */
  readonly clientOf: (exchange: Exchange) => TlsClient | null;
  readonly keys: KeyGate;
  readonly signatures: ApprovalSignatures;
  readonly callers: HttpCallers;
  readonly tokens: TokenGate;
  readonly backoff: AuthBackoff;
  readonly cors: Cors;
  readonly metrics: Metrics;
  readonly admission: Admission;
}

type Body = Readonly<Record<string, unknown>>;
type Query = ReadonlyMap<string, string>;

const TEXT_TYPE = 'text/plain; charset=utf-8';

/** Handles a request from its head to its answer. */
export class RequestHandler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  /** `proceed` lets a client that waits for permission send its body. */
  handle(exchange: Exchange, proceed: (() => void) | null): void {
    const admitted = this.#admit(exchange, proceed);
    if (admitted.ok) return;
    this.#refuse(exchange, admitted.error);
  }

  #refuse(exchange: Exchange, error: Failure): void {
    exchange.fail(error, challengeOf(error));
  }

  /** Routes, gates and starts the request, after its token was opened if it has one; a failure is its answer. */
  #admit(
    exchange: Exchange,
    proceed: (() => void) | null,
    opened: OpenedToken | null = null,
  ): Result<unknown> {
    const { hosts, router, urlBytesMax, cors, admission, metrics } = this.#options;
    const { request } = exchange;
    const { headers } = request;
    if (headers.host === undefined && request.httpVersion !== '1.0') {
      return fail('INVALID_REQUEST', 'a Host header is required');
    }
    const refusal = hosts({ host: headers.host, origin: headers.origin, fetchSite: fetchSiteOf(request) });
    if (refusal !== null) return fail('FORBIDDEN', refusal);
    const url = originForm(request.url!);
    if (url.length > urlBytesMax) {
      return fail('INVALID_REQUEST', `the URL is longer than ${urlBytesMax} bytes`);
    }
    const mark = url.indexOf('?');
    const found = router.find(request.method!, mark === -1 ? url : url.slice(0, mark));
    if (found.kind === 'wrong-method') {
      if (cors.preflight(exchange, found.allow)) return ok(null);
      exchange.fail({ code: 'METHOD_NOT_ALLOWED', message: `${request.method} is not allowed here` }, [
        'allow',
        found.allow,
      ]);
      return ok(null);
    }
    if (found.kind === 'malformed') return fail('INVALID_REQUEST', 'the path is not percent-encoded UTF-8');
    if (found.kind === 'none')
      return fail('ROUTE_NOT_FOUND', 'this node has no such route: GET /docs shows those that it has');

    const { route, params } = found;
    exchange.name = route.kind === 'operation' ? route.operation.name : route.name;
    const client = this.#options.clientOf(exchange);
    if (client?.role === 'guest' && !(route.kind === 'peer' && route.access === 'guests')) {
      return fail(
        'FORBIDDEN',
        'this certificate is for joining the mesh, or of a node that was removed from it',
      );
    }
    const query = parseQuery(mark === -1 ? '' : url.slice(mark + 1));
    const isOpen =
      (route.kind === 'service' && route.open) ||
      (route.kind === 'peer' && route.access !== 'local' && client !== null);
    const queryKey = query.ok ? query.value.get('api_key') : undefined;
    if (!isOpen && opened === null) {
      const token = tokenOf(request, queryKey);
      const known = token ?? this.#authenticate(exchange, queryKey);
      if (!known.ok) return known;
      if (token?.ok === true) return ok(void this.#openToken(exchange, proceed, token.value));
    }
    const outside = opened === null ? null : routeProblem(route, opened.grant);
    if (outside !== null) return failed(outside);
    if (opened !== null) exchange.watchToken = (end) => this.#options.tokens.watch(opened.token, end);
    const grant = opened?.grant;
    if (route.kind === 'stream') {
      if (!query.ok) return failed(query.error);
      if (announcesBody(exchange)) return fail('INVALID_REQUEST', 'this route takes no body');
      void this.#open(exchange, route, query.value.get('agent_id'), grant);
      return ok(null);
    }
    const isExempt =
      route.kind === 'service' ? route.always : route.kind === 'mcp' && !announcesBody(exchange);
    if (!isExempt && !admission.enter(exchange)) {
      metrics.admissionShed();
      return fail('OVERLOADED', 'server_overloaded', { max_inflight: admission.max });
    }
    if (!query.ok) return failed(query.error);
    if (route.kind === 'service') {
      void this.#serve(exchange, route, grant);
      return ok(null);
    }
    const values = query.value;
    if (route.kind === 'mcp') {
      return this.#receive(exchange, proceed, (body) =>
        this.#converse(exchange, route, { query: values, body, grant }),
      );
    }
    return route.kind === 'peer'
      ? this.#receive(exchange, proceed, (body) => this.#forward(exchange, route, body), route.bodyBytesMax)
      : this.#receive(exchange, proceed, (body) =>
          this.#run(exchange, route, { params, query: values, body, grant }),
        );
  }

  /** UNAUTHORIZED without the right key, AUTH_BACKOFF while its source has to wait after wrong keys. */
  #authenticate({ request }: Exchange, query: string | undefined): Result<null> {
    const { keys, backoff, metrics } = this.#options;
    if (!keys.closed) return ok(null);
    const verdict = keys.check(request.headers, query);
    if (verdict === 'none') return fail('UNAUTHORIZED', MISSING_KEY);
    const address = sourceOf(request.socket.remoteAddress);
    // Any page can make a browser send a query string, so its wrong keys must not shut the header.
    const source = keysOf(request.headers).length === 0 ? `${address} query` : address;
    const waitMs = backoff.waitMs(source);
    if (waitMs > 0) {
      metrics.authenticationFailed('backoff');
      const seconds = Math.ceil(waitMs / 1000);
      return fail('AUTH_BACKOFF', `too many wrong API keys from this address; wait ${seconds} s`, {
        retry_after_secs: seconds,
      });
    }
    if (verdict === 'right') {
      backoff.succeeded(source);
      return ok(null);
    }
    backoff.failed(source);
    metrics.authenticationFailed('key');
    return fail('UNAUTHORIZED', MISSING_KEY);
  }

  /** Goes on once the token is known to count. No guess finds a signature, so wrong tokens need not wait as wrong keys do. */
  async #openToken(exchange: Exchange, proceed: (() => void) | null, text: string): Promise<void> {
    try {
      const opened = await this.#options.tokens.open(text);
      if (exchange.state === 'finished') return;
      const admitted = opened.ok ? this.#admit(exchange, proceed, opened.value) : opened;
      if (admitted.ok) return;
      if (!opened.ok) this.#options.metrics.authenticationFailed('token');
      this.#refuse(exchange, admitted.error);
    } catch (error) {
      this.#report(exchange, error);
    }
  }

  #receive(
    exchange: Exchange,
    proceed: (() => void) | null,
    run: (body: Buffer | null) => Promise<void>,
    bytesMax?: number,
  ): Result<unknown> {
    if (!announcesBody(exchange)) {
      void run(null);
      return ok(null);
    }
    const problem = announcementProblem(exchange, bytesMax);
    if (problem !== null) return failed(problem);
    proceed?.();
    receiveBody(
      exchange,
      (body) => {
        void run(body);
      },
      bytesMax,
    );
    return ok(null);
  }

  /** A message between nodes goes to its route unchanged. */
  async #forward(exchange: Exchange, route: PeerRoute, body: Buffer | null): Promise<void> {
    exchange.state = 'running';
    exchange.effective = route.method === 'POST' && route.repeatable !== true;
    const parent = traceParentOf(exchange.request.headers['traceparent']);
    const end = this.#options.services.tracing?.begin({ operation: route.name, surface: 'peer', parent });
    try {
      const { callers, clientOf } = this.#options;
      const agent = exchange.request.headers['x-agent-id'];
      const caller = typeof agent === 'string' ? callers(agent, null, true) : null;
      const reply = await route.answer(messageOf(exchange, body, clientOf(exchange)), {
        loopback: isLoopback(exchange.request.socket.remoteAddress),
        admin: caller?.ok === true && caller.value.admin,
      });
      end?.({ code: reply.status < 400 ? 'OK' : `HTTP_${reply.status}`, isFault: reply.status >= 500 });
      exchange.send(reply.status, reply.contentType, reply.body, reply.headers);
    } catch (error) {
      end?.({ code: 'INTERNAL', isFault: true });
      this.#report(exchange, error);
    }
  }

  async #run(
    exchange: Exchange,
    route: OperationRoute,
    { params, query, body: bytes, grant }: Given & { readonly params: readonly string[] },
  ): Promise<void> {
    exchange.state = 'running';
    try {
      const unsigned = this.#signatureProblem(exchange, route, params, bytes ?? EMPTY);
      if (unsigned !== null) {
        return exchange.fail(unsigned, unsigned.code === 'UNAUTHORIZED' ? SIGNATURE_CHALLENGE : undefined);
      }
      const body = bodyOf(route, bytes);
      if (!body.ok) return exchange.fail(body.error);
      const { headers } = exchange.request;
      const collected = collectInput(route, { params, query, body: body.value, headers });
      if (!collected.ok) return exchange.fail(collected.error);
      const { input, claim } = collected.value;
      const { operation } = route;
      const agent = headers['x-agent-id'];
      const caller = this.#options.callers(
        typeof agent === 'string' ? agent : undefined,
        claim,
        operation.guards.admin === true,
        grant,
      );
      if (!caller.ok) return exchange.fail(caller.error);
      const { services } = this.#options;
      const key = keyOfCall(headers[IDEMPOTENCY_KEY], operation, caller.value, input, services.crypto);
      if (!key.ok) return exchange.fail(key.error);
      exchange.effective = operation.effect === 'write';
      const answer = await runOperation(
        operation,
        {
          surface: 'http',
          caller: caller.value,
          input,
          unknownFields: 'refuse',
          deadlineMs: exchange.startedMs + services.settings.requestTimeoutMs,
          gone: () => exchange.gone(),
          traceparent: headerOf(headers, 'traceparent'),
          ...(key.value === null ? {} : { key: key.value, again: 'perhaps' }),
        },
        services,
      );
      if (answer.ok) render(exchange, route, answer, input, this.#options.services.crypto);
      else exchange.fail(answer.error);
    } catch (error) {
      this.#report(exchange, error);
    }
  }

  /** Why the signature of a request does not count; null where it does, or none is needed. */
  #signatureProblem(
    { request }: Exchange,
    { binding, params: plans }: OperationRoute,
    params: readonly string[],
    body: Uint8Array,
  ): Failure | null {
    const { signed } = binding;
    if (signed === undefined) return null;
    const field = params[plans.findIndex((plan) => plan.field === signed.field)]!;
    const pendingId = signed.as === undefined ? field : `${field}/${signed.as}`;
    const { headers, method } = request;
    const decision = { headers, method: method!, pendingId, body };
    return this.#options.signatures.problem(decision, signed.required);
  }

  async #open(
    exchange: Exchange,
    route: StreamRoute,
    claimed: string | undefined,
    grant: TokenGrant | undefined,
  ): Promise<void> {
    exchange.state = 'running';
    try {
      const { headers } = exchange.request;
      const agent = headers['x-agent-id'];
      const claim = claimed === undefined ? null : ({ value: claimed, source: 'query' } as const);
      const named = typeof agent === 'string' ? agent : undefined;
      const caller = this.#options.callers(named, claim, true, grant);
      if (!caller.ok) return exchange.fail(caller.error);
      const last = headers['last-event-id'];
      const opened = await route.open({
        caller: caller.value,
        lastEventId: typeof last === 'string' && last !== '' ? last : null,
      });
      if (!opened.ok) return exchange.fail(opened.error);
      const stream = exchange.stream(EVENT_STREAM_TYPE);
      if (stream !== null && exchange.request.method !== 'HEAD') opened.value(stream);
    } catch (error) {
      this.#report(exchange, error);
    }
  }

  async #converse(exchange: Exchange, route: McpRoute, { query, body, grant }: Given): Promise<void> {
    exchange.state = 'running';
    try {
      await converse(exchange, route, {
        profile: query.get('profile') ?? null,
        client: this.#options.clientOf(exchange)?.fingerprint ?? null,
        body,
        grant,
      });
    } catch (error) {
      this.#report(exchange, error);
    }
  }

  async #serve(exchange: Exchange, route: ServiceRoute, grant: TokenGrant | undefined): Promise<void> {
    exchange.state = 'running';
    try {
      const agent = exchange.request.headers['x-agent-id'];
      const reply = await route.reply(grant?.agentId ?? (typeof agent === 'string' ? agent : null));
      exchange.send(reply.status, reply.contentType, reply.body, reply.headers);
    } catch (error) {
      this.#report(exchange, error);
    }
  }

  /** Exceptions are bugs: they are logged in full, and the answer hides their text. */
  #report(exchange: Exchange, error: unknown): void {
    this.#options.services.log.error({ err: error, operation: exchange.name }, 'request failed unexpectedly');
    exchange.fail({ code: 'INTERNAL', message: 'internal server error' });
  }
}

/** What a request brings besides its head. */
interface Given {
  readonly query: Query;
  readonly body: Buffer | null;
  readonly grant: TokenGrant | undefined;
}

/**
 * Why a route is not for a token; null where it is. Those of nodes take none, and those of the node itself, which tell of
 * all namespaces, one for all of them.
 */
function routeProblem(route: Route, { operations, within }: TokenGrant): Failure | null {
  if (route.kind === 'operation' || route.kind === 'mcp') return null;
  if (route.kind === 'peer') return failure('TOKEN_SCOPE', 'no token is for this route');
  return within === undefined && operations.includes('read')
    ? null
    : failure('TOKEN_SCOPE', 'this route needs a token that reads all namespaces');
}

/** How a client that is not let in can prove itself. */
function challengeOf({ code }: Failure): readonly string[] | undefined {
  if (code === 'UNAUTHORIZED') return CHALLENGE;
  return ERRORS[code].http === 401 ? TOKEN_CHALLENGE : undefined;
}

const MISSING_KEY = 'missing or invalid API key';
const CHALLENGE = ['www-authenticate', 'Bearer realm="mnemesh", ApiKey realm="mnemesh"'];
const TOKEN_CHALLENGE = ['www-authenticate', 'Bearer realm="mnemesh", error="invalid_token"'];
const SIGNATURE_CHALLENGE = ['www-authenticate', 'SVC-Signature realm="mnemesh"'];
const EMPTY = new Uint8Array(0);

/** A header that is sent once. */
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** The path and query of a request target; proxies send the absolute form. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const scheme = target.indexOf('://');
  const path = scheme === -1 ? -1 : target.indexOf('/', scheme + 3);
  return path === -1 ? target : target.slice(path);
}

/** The JSON object of a body; null when none was sent and none is needed. */
function bodyOf(route: OperationRoute, bytes: Buffer | null): Result<Body | null> {
  if (bytes !== null && bytes.length > 0) return parseJsonBody(bytes, route.binding.arrayBody);
  return route.bodyRequired ? fail('MALFORMED_BODY', 'a JSON body is required') : ok(null);
}

function render(
  exchange: Exchange,
  route: OperationRoute,
  answer: Answered,
  input: Readonly<Record<string, unknown>>,
  crypto: Crypto,
): void {
  const { operation, binding } = route;
  const { value, waits } = answer;
  const { status: declared = 200 } = binding;
  const ordinary = typeof declared === 'number' ? declared : declared.of(value);
  // Accepted, but on fewer nodes than required (interface §4.13), or to be approved first.
  const status = value['quorum_met'] === false || waits === true ? 202 : ordinary;
  const text = formattedText(operation, value, input);
  const body = text ?? JSON.stringify(shapedAnswer(binding.shape, answer));
  const tag = status === 200 ? entityTag(binding, value, body, crypto) : null;
  if (tag !== null && isKnown(exchange.request.headers['if-none-match'], tag)) {
    exchange.send(NOT_MODIFIED, '', '', ['etag', tag]);
    return;
  }
  exchange.send(
    status,
    text === null ? JSON_TYPE : TEXT_TYPE,
    body,
    tag === null ? undefined : ['etag', tag],
  );
}
