import type { IncomingHttpHeaders } from 'node:http';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import * as limits from '../../protocol/base/mcp-limits.js';
import type { Failure } from '../../protocol/base/result.js';
import type { Clock, Random, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { McpRequest } from '../bindings/mcp-request.js';
import { permittedFamilies } from '../config/tool-allowlist.js';
import { type Profile, profileOf, profileProblem } from '../config/tool-profile.js';
import { type HttpCallers, httpCallers, type TokenGrant } from '../identity/http-caller.js';
import type { Services } from '../pipeline/call.js';
import { CaptureNag } from './capture-nag.js';
import { type EventBytes, EventMemory } from './event-memory.js';
import { httpAccess } from './http-access.js';
import { createMcpServer } from './mcp-server.js';
import { NodeTools } from './node-tools.js';
import { failureBody, INVALID_REQUEST } from './rpc-error.js';

export interface SessionParts {
  readonly services: Services;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly random: Random;
  readonly scheduler: Pick<Scheduler, 'after'>;
}

/** The code of the library for requests that name no session, or one that it does not know. */
const NO_SESSION = -32001;
const REFUSED = -32000;

const EVENT_BOUNDS = {
  messagesMax: limits.MCP_EVENTS_MAX,
  bytesMax: limits.MCP_EVENTS_BYTES_MAX,
  allBytesMax: limits.MCP_EVENTS_ALL_BYTES_MAX,
};

interface Session {
  readonly id: string;
  /** Who opened it; everybody else is told that there is no such session. */
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly events: EventMemory;
  readonly end: () => Promise<void>;
  /** Requests whose answers are not written yet, open streams among them. */
  underWay: number;
  /** The ids of the requests among them: the library answers only one of each. */
  readonly ids: Set<unknown>;
  /** When its last request ended, monotonic. */
  restedMs: number;
}

/** The MCP sessions of clients that cannot start a process of their own: streamable HTTP. */
export class HttpSessions {
  /** The session that rests longest is the first one. */
  private readonly sessions = new Map<string, Session>();
  private readonly callers: HttpCallers;
  private readonly events: EventBytes = { held: 0 };
  private timer: Timer | null = null;
  private closed = false;

  constructor(private readonly parts: SessionParts) {
    const { settings, random, log } = parts.services;
    this.callers = httpCallers(settings, random, log);
  }

  async answer(request: McpRequest): Promise<Response> {
    const { headers, method, message } = request;
    const named = headers['mcp-session-id'];
    if (named === undefined) {
      const opens = method === 'POST' && message?.['method'] === 'initialize';
      if (opens) return this.open(request);
      return refusal(400, REFUSED, 'name the session in Mcp-Session-Id, or begin one with initialize');
    }
    const session = typeof named === 'string' ? this.sessions.get(named) : undefined;
    if (session === undefined || session.owner !== ownerOf(request)) {
      return refusal(404, NO_SESSION, 'there is no such session: begin one with initialize');
    }
    const last = headers['last-event-id'];
    if (method === 'GET' && typeof last === 'string' && !session.events.has(last)) {
      return refusal(
        400,
        REFUSED,
        'the messages after that event are no longer kept: send the request again',
      );
    }
    return this.pass(session, request);
  }

  /** Ends every session; calls under way are finished first. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    await Promise.all([...this.sessions.values()].map((session) => session.end()));
  }

  private async open(request: McpRequest): Promise<Response> {
    const { settings } = this.parts.services;
    const { profile = null } = request;
    const problem = profileProblem(profile ?? '');
    if (problem !== null) return refusal(400, INVALID_REQUEST, `profile: ${problem}`);
    const agentId = agentOf(request.headers);
    const caller = this.callers(agentId, null, false, request.grant);
    if (!caller.ok) return refusal(400, INVALID_REQUEST, caller.error.message, caller.error);
    const owner = ownerOf(request);
    if (this.closed || !this.makeRoom(owner)) {
      const message = 'every MCP session of this node is in use: end one, or try again later';
      return refusal(503, REFUSED, message, { code: 'OVERLOADED', message });
    }
    const permitted = permittedFamilies(settings.toolAllowlist, caller.value.agentId);
    const asked = profileOf(profile ?? settings.profile);
    // A client on the network chooses its profile itself, so the allowlist bounds what it may choose.
    const offered = asked.filter((family) => permitted.includes(family));
    const session = await this.begin(owner, agentId, offered, request.grant);
    const response = await this.pass(session, { ...request, message: completed(request.message ?? {}) });
    // What the library refuses has no session.
    if (session.transport.sessionId === undefined) await session.end();
    return response;
  }

  private async begin(
    owner: string,
    agentId: string | undefined,
    profile: Profile,
    grant: TokenGrant | undefined,
  ): Promise<Session> {
    const { services, random, clock } = this.parts;
    const { settings } = services;
    const id = random.uuid();
    const events = new EventMemory(this.events, EVENT_BOUNDS);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      eventStore: events,
      onsessionclosed: () => this.sessions.get(id)?.end(),
    });
    const nag = new CaptureNag({
      first: settings.captureNagThreshold,
      second: settings.captureNagEscalateThreshold,
    });
    const tools = new NodeTools(profile, httpAccess(services, this.callers, agentId, grant), nag, settings);
    const server = createMcpServer(tools);
    await server.connect(transport);
    const end = async () => {
      this.sessions.delete(id);
      await tools.close();
      await server.close();
      events.clear();
    };
    const session = {
      id,
      owner,
      transport,
      events,
      end,
      underWay: 0,
      ids: new Set<unknown>(),
      restedMs: clock.monotonicMs(),
    };
    this.sessions.set(id, session);
    this.checkLater();
    return session;
  }

  private async pass(session: Session, request: McpRequest): Promise<Response> {
    const id = request.message?.['id'];
    if (id !== undefined && session.ids.has(id)) {
      const message = 'a request with this id is under way in the session: give each an id of its own';
      return refusal(400, INVALID_REQUEST, message);
    }
    session.underWay += 1;
    if (id !== undefined) session.ids.add(id);
    void request.answered.then(() => {
      session.underWay -= 1;
      session.ids.delete(id);
      session.restedMs = this.parts.clock.monotonicMs();
      if (this.sessions.delete(session.id)) this.sessions.set(session.id, session);
    });
    const { method, headers, message } = request;
    const asked = new Request('http://localhost/mcp', { method, headers: webHeaders(headers) });
    return session.transport.handleRequest(asked, message === null ? {} : { parsedBody: message });
  }

  /** Ends a session that rests where there are too many, first of the same owner; false where none rests. */
  private makeRoom(owner: string): boolean {
    const all = [...this.sessions.values()];
    const own = all.filter((session) => session.owner === owner);
    const full = all.length >= limits.MCP_SESSIONS_MAX;
    if (!full && own.length < limits.MCP_SESSIONS_PER_CALLER_MAX) return true;
    const rests = ({ underWay }: Session) => underWay === 0;
    const ends =
      own.find(rests) ?? (own.length < limits.MCP_SESSIONS_PER_CALLER_MAX ? all.find(rests) : undefined);
    void ends?.end();
    return ends !== undefined;
  }

  private checkLater(): void {
    if (this.timer !== null || this.closed) return;
    this.timer = this.parts.scheduler.after(limits.MCP_SESSIONS_CHECK_MS, () => {
      this.timer = null;
      const before = this.parts.clock.monotonicMs() - limits.MCP_SESSION_IDLE_MS;
      for (const session of this.sessions.values()) {
        if (session.underWay === 0 && session.restedMs <= before) void session.end();
      }
      if (this.sessions.size > 0) this.checkLater();
    });
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** An initialize with the members that the library demands, and a client may leave out, as over the other transport. */
function completed(message: Fields): Fields {
  const params = objectIn(message['params']);
  const { name, version } = objectIn(params['clientInfo']);
  return {
    ...message,
    params: {
      ...params,
      protocolVersion: textIn(params['protocolVersion']),
      capabilities: objectIn(params['capabilities']),
      clientInfo: { ...objectIn(params['clientInfo']), name: textIn(name), version: textIn(version) },
    },
  };
}

const objectIn = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

const agentOf = ({ 'x-agent-id': agent }: IncomingHttpHeaders): string | undefined =>
  typeof agent === 'string' ? agent : undefined;

/** The API key, of which a node has one, or the token was checked before. Another token has no part in a session. */
const ownerOf = ({ headers, client, grant }: Pick<McpRequest, 'headers' | 'client' | 'grant'>): string =>
  JSON.stringify([agentOf(headers) ?? null, client, grant?.tokenId ?? null]);

/** The headers of the protocol; the library needs no others, and keys must not reach it. */
const READ = [
  'accept',
  'content-type',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'traceparent',
];

const webHeaders = (headers: IncomingHttpHeaders): [string, string][] =>
  READ.flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });

function refusal(status: number, code: number, message: string, failure?: Failure): Response {
  const data = failure === undefined ? {} : { data: failureBody(failure) };
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message, ...data } }, { status });
}
