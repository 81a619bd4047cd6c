import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ERRORS } from '../../protocol/base/errors.js';
import * as limits from '../../protocol/base/limits.js';
import type { Failure } from '../../protocol/base/result.js';
import type { Compressor, Scheduler } from '../../protocol/base/seams.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import { operationRoutes } from '../bindings/operation-route.js';
import { httpCallers } from '../identity/http-caller.js';
import type { Metrics } from '../observability/metrics.js';
import type { Services } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { systemCompressor, systemScheduler } from '../seams.js';
import { Admission } from './admission.js';
import { approvalSignatures } from './approval-signature.js';
import { AuthBackoff } from './auth-backoff.js';
import { ByteSum } from './byte-sum.js';
import { Connections } from './connections.js';
import { type Cors, corsOf } from './cors.js';
import type { EventStream } from './event-stream.js';
import { Exchange, type ExchangeOwner } from './exchange.js';
import { hostGuard } from './host-guard.js';
import * as httpLimits from './http-limits.js';
import { keyGate } from './key-gate.js';
import { closeLingering } from './lingering-close.js';
import { createTlsServer, type ListenerTls, type TlsClient, type TlsServer } from './listener-tls.js';
import { MCP_PATH, type McpRoute } from './mcp-route.js';
import { messageFrom } from './peer-message.js';
import type { PeerRoute } from './peer-route.js';
import { RequestHandler, type Route } from './request-handler.js';
import { Router } from './router.js';
import { pathsOf } from './service-route.js';
import { serviceRoutes } from './service-routes.js';
import type { StreamRoute } from './stream-route.js';
import { TokenGate } from './token-gate.js';
import { Turns } from './turns.js';
import { type UpgradeRoute, upgradeProblem } from './upgrade.js';

export interface HttpSurfaceOptions {
  readonly services: Services;
  readonly operations: readonly Operation[];
  readonly metrics: Metrics;
  readonly scheduler?: Scheduler;
  readonly compressor?: Compressor;
  /** Maximum of concurrent requests; others are answered OVERLOADED. 0, the default, means no cap (interface §8). */
  readonly inflightMax?: number;
  /** Routes for messages between nodes, and about them. */
  readonly peerRoutes?: readonly PeerRoute[];
  readonly streamRoutes?: readonly StreamRoute[];
  /** MCP over HTTP; absent where the node does not offer it. */
  readonly mcp?: McpRoute | null;
  /** Serves only health and the routes of peers. */
  readonly peersOnly?: boolean;
  /** The route that becomes a WebSocket; without it a request to upgrade is answered as an ordinary one. */
  readonly upgrade?: UpgradeRoute | null;
  /** Speaks HTTPS; plain HTTP unless given. */
  readonly tls?: ListenerTls | null;
}

/** The HTTP surface of a node. */
export interface HttpSurface {
  /** Binds and returns the address; port 0 becomes a free port. Rejects when the address cannot be used. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Refuses new connections; open ones continue. */
  stopAccepting(): void;
  /**
   * Answers the current requests and closes their connections; requests that still arrive are answered SHUTTING_DOWN.
   * Resolves when every connection has ended, or after the grace.
   */
  drain(graceMs: number): Promise<void>;
  /** Closes every connection, answered or not. */
  close(): Promise<void>;
}

/** Serves the operations over HTTP; everything that differs between routes is in their declarations. */
export function createHttpSurface(options: HttpSurfaceOptions): HttpSurface {
  return new NodeHttpSurface(options);
}

class NodeHttpSurface implements HttpSurface, ExchangeOwner {
  readonly scheduler: Scheduler;
  readonly compressor: Compressor;
  readonly cors: Cors;
  readonly bodies = new ByteSum(limits.BODIES_HELD_BYTES_MAX);
  readonly answers = new ByteSum(limits.ANSWERS_UNSENT_BYTES_MAX);
  draining = false;
  readonly #options: HttpSurfaceOptions;
  readonly #admission: Admission;
  readonly #tls: TlsServer | null;
  readonly #head: httpLimits.HeadLimits;
  readonly #server: Server;
  /** Current requests, oldest first. */
  readonly #exchanges = new Set<Exchange>();
  /** Answers that go on. */
  readonly #streams = new Set<EventStream>();
  readonly #turns = new Turns(limits.REQUESTS_WAITING_MAX);
  readonly #connections: Connections;
  #handler: RequestHandler | null = null;
  #sweeping = false;
  #closed: Promise<void> | null = null;

  constructor(options: HttpSurfaceOptions) {
    this.#options = options;
    this.scheduler = options.scheduler ?? systemScheduler;
    this.compressor = options.compressor ?? systemCompressor;
    this.cors = corsOf(options.services.settings.corsOrigins);
    this.#admission = new Admission(options.inflightMax ?? 0);
    this.#connections = new Connections(options.services.clock, {
      connectionsMax: limits.CONNECTIONS_MAX,
      silentPerSourceMax: limits.SILENT_CONNECTIONS_PER_SOURCE_MAX,
      silentGraceMs: limits.SILENT_CONNECTION_GRACE_MS,
    });
    this.#head = this.#checksClients ? httpLimits.PEER_HEAD_LIMITS : httpLimits.HEAD_LIMITS;
    this.#tls = this.#createTls();
    this.#server = this.#prepare(this.#tls?.server ?? createServer(this.#serverOptions()));
  }

  listen(host: string, port: number): Promise<{ host: string; port: number }> {
    this.#handler = this.#createHandler(host);
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: httpLimits.LISTEN_BACKLOG }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => {
          this.#options.services.log.error({ err: error }, 'the HTTP listener failed');
        });
        const address = this.#server.address() as AddressInfo;
        resolve({ host: address.address, port: address.port });
      });
    });
  }

  stopAccepting(): void {
    this.#closed ??= new Promise((resolve) => {
      // The callback reports an error for a server that never listened, but the server is closed in any case.
      this.#server.close(() => resolve());
    });
  }

  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    for (const stream of this.#streams) stream.end();
    // Requests that are still arriving get this answer; closing at once would reset their connections.
    await this.#pause(httpLimits.DRAIN_NOTICE_MS);
    // A client that does not read must not delay the end.
    for (const stream of this.#streams) stream.destroy();
    this.stopAccepting();
    this.#server.closeIdleConnections();
    // Node does not count a connection as idle if it has never sent a request.
    this.#connections.closeSilent();
    await new Promise<void>((resolve) => {
      const timer = this.scheduler.after(graceMs, resolve, { keepAlive: true });
      void this.#closed?.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.scheduler.after(ms, resolve, { keepAlive: true });
    });
  }

  async close(): Promise<void> {
    this.draining = true;
    this.stopAccepting();
    this.#server.closeAllConnections();
    // Some connections have not reached HTTP yet.
    this.#connections.closeAll();
    this.#tls?.release();
    await this.#closed;
  }

  finished(exchange: Exchange, status: number): void {
    this.#exchanges.delete(exchange);
    this.#admission.leave(exchange);
    const { clock } = this.#options.services;
    this.#options.metrics.request(exchange.name, status, (clock.monotonicMs() - exchange.startedMs) / 1000);
    // A connection whose newest request was answered before the drain began is idle from now on.
    if (this.draining) this.scheduler.immediate(() => this.#server.closeIdleConnections());
  }

  /** The client whose certificate the connection presented; null when none was required. */
  clientOf(exchange: Exchange): TlsClient | null {
    return this.#tls?.clientOf(exchange.request.socket) ?? null;
  }

  /** True when an allowlist decides which clients may connect. */
  get #checksClients(): boolean {
    return (this.#options.tls?.clients ?? null) !== null;
  }

  #createTls(): TlsServer | null {
    const { tls, services } = this.#options;
    return tls == null ? null : createTlsServer(this.#serverOptions(), tls, services);
  }

  #serverOptions(): ServerOptions {
    const { requestTimeoutMs } = this.#options.services.settings;
    return {
      keepAlive: true,
      keepAliveTimeout: httpLimits.KEEP_ALIVE_IDLE_MS,
      maxHeaderSize: this.#head.headBytesMax,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, limits.REQUEST_HEAD_MS),
      connectionsCheckingInterval: limits.CONNECTIONS_CHECK_MS,
      // The handler answers a missing Host, in JSON.
      requireHostHeader: false,
    };
  }

  #prepare(server: Server): Server {
    // With a maximum count Node would silently drop headers; the size of the head limits them instead.
    server.maxHeadersCount = 0;
    server.on('request', (request, response) => {
      this.#take(request, response, (exchange) => this.#handle(exchange, null));
    });
    server.on('checkContinue', (request, response: ServerResponse) => {
      this.#take(request, response, (exchange) => this.#handle(exchange, () => response.writeContinue()));
    });
    server.on('checkExpectation', (request, response) => {
      this.#take(request, response, (exchange) => {
        exchange.fail({ code: 'INVALID_REQUEST', message: 'unknown Expect header' });
      });
    });
    server.on('connection', (socket: Socket) => this.#opened(socket));
    if (this.#tls !== null) server.on('secureConnection', (socket: Socket) => this.#secured(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error, socket));
    if (this.#options.upgrade != null) {
      server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    }
    server.on('connect', (_request, socket) => {
      answerRaw(socket, 405, { code: 'METHOD_NOT_ALLOWED', message: 'CONNECT is not allowed here' });
    });
    return server;
  }

  #opened(socket: Socket): void {
    if (this.#tls === null) this.#linger(socket);
    this.#connections.opened(socket);
  }

  #secured(socket: Socket): void {
    this.#linger(socket);
    this.#connections.secured(socket);
  }

  /** Node's HTTP server calls `destroySoon` when the last answer of a connection is written. */
  #linger(socket: Socket): void {
    socket.destroySoon = () => closeLingering(socket, this.scheduler);
  }

  /** A request to upgrade has no ordinary response object; an upgrade that is not taken is refused on the socket. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#connections.used(socket);
    const { upgrade, services } = this.#options;
    const client = this.#tls?.clientOf(request.socket) ?? null;
    const message = messageFrom(request, null, client);
    const known = upgrade != null && message.path === `${API_PREFIX}${upgrade.path}`;
    const problem: Failure | null = this.draining
      ? { code: 'SHUTTING_DOWN', message: 'this node is shutting down' }
      : upgradeProblem(message, known, client, services);
    if (problem !== null) answerRaw(socket, ERRORS[problem.code].http, problem);
    else upgrade?.take({ request, socket, head, message });
  }

  streams(stream: EventStream): void {
    this.#streams.add(stream);
    stream.onClose(() => this.#streams.delete(stream));
  }

  #showFigures(): void {
    const { metrics, services } = this.#options;
    metrics.setInflight(this.#exchanges.size);
    metrics.setStreams(this.#streams.size);
    metrics.showHooks(services.hooks);
    const { pendingEmbeddings } = services.condition();
    if (pendingEmbeddings !== null) metrics.setPendingEmbedding(pendingEmbeddings);
  }

  #createHandler(host: string): RequestHandler {
    const {
      services,
      operations,
      metrics,
      peerRoutes = [],
      streamRoutes = [],
      mcp = null,
      peersOnly = false,
    } = this.#options;
    if (!peersOnly) metrics.beforeReading(() => this.#showFigures());
    const mcpPath = mcp === null || peersOnly ? null : MCP_PATH;
    const router = new Router<Route>();
    for (const route of serviceRoutes({
      services,
      operations,
      metrics,
      peerRoutes,
      streamRoutes,
      mcp: mcpPath,
    })) {
      if (peersOnly && !route.open) continue;
      for (const path of pathsOf(route)) router.add('GET', path, route);
    }
    for (const route of peersOnly ? [] : streamRoutes) {
      for (const path of pathsOf(route)) router.add('GET', path, route);
    }
    for (const method of mcpPath === null ? [] : ['POST', 'GET', 'DELETE']) {
      router.add(method, mcpPath!, mcp!);
    }
    for (const route of peersOnly ? [] : operationRoutes(operations)) {
      router.add(route.binding.method, `${API_PREFIX}${route.binding.path}`, route);
    }
    for (const route of peerRoutes) {
      if (peersOnly && route.access === 'local') continue;
      router.add(route.method, `${API_PREFIX}${route.path}`, route);
    }
    return new RequestHandler({
      services,
      router,
      urlBytesMax: this.#head.urlBytesMax,
      // A page in a browser has no certificate of the mesh.
      hosts: this.#checksClients ? () => null : hostGuard(host, this.cors.allows),
      clientOf: (exchange) => this.clientOf(exchange),
      keys: keyGate(services.settings.apiKey, services.crypto, services.log),
      signatures: approvalSignatures(services.settings.webhookHmacSecret, services.clock, services.crypto),
      callers: httpCallers(services.settings, services.random, services.log),
      tokens: new TokenGate(services, this.scheduler),
      backoff: new AuthBackoff(services.clock),
      cors: this.cors,
      metrics,
      admission: this.#admission,
    });
  }

  /** Begins a request when its connection has been answered all earlier ones. */
  #take(request: IncomingMessage, response: ServerResponse, handle: (exchange: Exchange) => void): void {
    const { socket } = request;
    this.#connections.used(socket);
    const taken = this.#turns.enter(socket, () => {
      const exchange = this.#begin(request, response);
      const problem = this.#turns.problemBehind(socket);
      if (problem !== null) exchange.closes = true;
      if (problem !== null && !request.complete) exchange.fail(problem);
      else handle(exchange);
    });
    if (taken) return;
    this.#options.metrics.admissionShed();
    socket.destroy();
  }

  #handle(exchange: Exchange, proceed: (() => void) | null): void {
    // A client that was not told to proceed may or may not send its body, so the connection cannot be used again.
    let proceeding = proceed;
    if (proceed !== null) {
      exchange.closes = true;
      proceeding = () => {
        exchange.closes = false;
        proceed();
      };
    }
    if (this.draining) exchange.fail({ code: 'SHUTTING_DOWN', message: 'this node is shutting down' });
    else this.#handler!.handle(exchange, proceeding);
  }

  #begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(request, response, this.#options.services.clock.monotonicMs(), this);
    this.#exchanges.add(exchange);
    response.once('close', () => {
      exchange.left();
      if (this.#turns.leave(request.socket)) this.#connections.rested(request.socket);
    });
    if (!this.#sweeping) this.#sweepLater();
    return exchange;
  }

  isNewest(exchange: Exchange): boolean {
    return this.#turns.isLast(exchange.request.socket);
  }

  /** A client that takes no byte of its answer for this long loses its connection, so that its answer is let go. */
  unsent(exchange: Exchange): void {
    exchange.request.socket.setTimeout(this.#options.services.settings.requestTimeoutMs);
  }

  /** One timer checks the deadlines of all requests; a timer for each would cost more than most requests. */
  #sweepLater(): void {
    this.#sweeping = true;
    const { requestTimeoutMs } = this.#options.services.settings;
    const interval = Math.min(
      Math.max(requestTimeoutMs / 8, httpLimits.SWEEP_INTERVAL_MS_MIN),
      httpLimits.SWEEP_INTERVAL_MS_MAX,
    );
    this.scheduler.after(interval, () => {
      this.#sweep(requestTimeoutMs);
      this.#sweeping = false;
      if (this.#exchanges.size > 0) this.#sweepLater();
    });
  }

  #sweep(timeoutMs: number): void {
    const startedBefore = this.#options.services.clock.monotonicMs() - timeoutMs;
    for (const exchange of this.#exchanges) {
      if (exchange.startedMs > startedBefore) return;
      if (exchange.state === 'receiving') {
        exchange.closes = true;
        exchange.fail({
          code: 'REQUEST_TIMEOUT',
          message: `the body did not arrive within ${timeoutMs} ms`,
        });
      } else {
        exchange.fail({
          code: 'DEADLINE',
          message: `no answer within ${timeoutMs} ms; whether the request took effect is unknown`,
        });
      }
    }
  }

  /** Handles bytes that are not HTTP. Earlier requests on the connection are still answered, then it is closed. */
  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET') socket.destroy();
    // What comes on a connection that ends already is discarded.
    if (!socket.writable) return;
    const failure = { code: 'INVALID_REQUEST', message: problemOf(error, this.#head) } as const;
    let owed = this.#turns.breakAfter(socket, failure);
    for (const exchange of this.#exchanges) {
      if (exchange.request.socket !== socket) continue;
      if (owed) return;
      owed = true;
      exchange.closes = true;
      if (exchange.state === 'receiving') exchange.fail(failure);
    }
    if (!owed) answerRaw(socket, 400, failure, this.scheduler);
  }
}

function problemOf(error: NodeJS.ErrnoException, head: httpLimits.HeadLimits): string {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return `the request line and headers are longer than ${head.headBytesMax} bytes, the URL than ${head.urlBytesMax}`;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'the request did not arrive in time';
    default:
      return 'malformed HTTP request';
  }
}

/** Answers on a connection that has no response object, and closes it. */
export function answerRaw(
  socket: Duplex,
  status: number,
  { code, message }: Failure,
  scheduler: Scheduler = systemScheduler,
): void {
  const body = JSON.stringify({ error: message, code });
  const reason = STATUS_CODES[status] ?? 'Error';
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
  closeLingering(socket, scheduler);
}
