import { createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import {
  OWNER_SOCKET_CONNECTIONS_MAX,
  OWNER_SOCKET_IDLE_MS,
  OWNER_SOCKET_LINE_BYTES_MAX,
  OWNER_SOCKET_TIMEOUT_MS,
} from '../../protocol/base/limits.js';
import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import { CONFIDENCE_TIERS } from '../../protocol/memory/confidence.js';
import { TIERS } from '../../protocol/memory/memory.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { Store } from '../../storage/port.js';
import { LineSplitter } from '../line-splitter.js';
import { connectTo, linesOf, listenPrivately, type SocketNames } from '../private-socket.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

/**
 * The owner of a database answers semantic questions of the other processes over a local socket (design: architecture,
 * "Several processes on one database"). A question is one JSON line, an answer too; vectors are sent as base64.
 */

const requestSchema = z.object({
  query: z.string().max(100_000),
  contextTokens: z.array(z.string()).max(256),
  namespace: z.string().nullable(),
  viewer: z.object({ all: z.boolean(), agentId: z.string().nullable(), asNamespace: z.string().nullable() }),
  filter: z
    .object({
      tags: z.array(z.string()),
      since: z.string().nullable(),
      until: z.string().nullable(),
      kinds: z.array(z.string()).nullable(),
      tier: z.enum(TIERS).nullable().default(null),
      hasCitations: z.boolean().default(false),
      sourceUriPrefix: z.string().nullable().default(null),
      confidence: z.enum(CONFIDENCE_TIERS).nullable().default(null),
      includeArchived: z.boolean().default(false),
    })
    .optional(),
});

const replySchema = z.union([
  z.object({ absence: z.enum(['disabled', 'busy', 'failing', 'empty', 'unreachable']) }),
  z.object({
    queryVector: z.string(),
    hits: z.array(z.tuple([z.number(), z.number()])),
    mean: z.number(),
    deviation: z.number(),
    scanned: z.number(),
    unrelated: z.object({ mean: z.number(), deviation: z.number(), rows: z.number() }).optional(),
  }),
]);

/** The listening end, for the owner. */
export class OwnerSocket {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  /** Listens at `path`. Rejects when it cannot be bound. */
  static async listen(path: string, semantic: SemanticIndex, log: Log): Promise<OwnerSocket> {
    const server = createServer();
    server.maxConnections = OWNER_SOCKET_CONNECTIONS_MAX;
    const owner = new OwnerSocket(server);
    server.on('connection', (socket) => void owner.serve(socket, semantic, log));
    await listenPrivately(server, path);
    server.on('error', (error) => log.warn({ err: error }, 'the owner socket failed'));
    server.unref();
    return owner;
  }

  /** Closing removes the socket's file too. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  /** Answers the questions of a connection one after the other; the next is read when the answer was taken. */
  private async serve(socket: Socket, semantic: SemanticIndex, log: Log): Promise<void> {
    this.sockets.add(socket);
    socket.unref();
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(OWNER_SOCKET_IDLE_MS, () => socket.destroy());
    try {
      for await (const line of linesOf(socket, OWNER_SOCKET_LINE_BYTES_MAX)) {
        const reply = await answer(line, semantic);
        await new Promise((resolve) => socket.write(`${reply}\n`, resolve));
      }
    } catch (error) {
      log.debug({ err: error }, 'a question on the owner socket could not be answered');
    } finally {
      socket.destroy();
    }
  }
}

async function answer(line: string, semantic: SemanticIndex): Promise<string> {
  const request = requestSchema.parse(JSON.parse(line));
  const { filter, ...rest } = request;
  const evidence = await semantic.evidence({
    ...rest,
    ...(filter === undefined ? {} : { filter }),
  });
  if (typeof evidence === 'string') return JSON.stringify({ absence: evidence });
  const { queryVector, hits, mean, deviation, scanned, unrelated } = evidence;
  return JSON.stringify({
    queryVector: Buffer.from(queryVector.buffer, queryVector.byteOffset, queryVector.byteLength).toString(
      'base64',
    ),
    hits: hits.map(({ rid, cosine }) => [rid, cosine]),
    mean,
    deviation,
    scanned,
    unrelated,
  });
}

/** The asking end, in every other process on the database. Without an answer in time, recall works by keyword. */
export class RemoteSemantics implements SemanticIndex {
  private reachable = true;

  constructor(
    private readonly names: SocketNames,
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly scheduler: Scheduler,
    private readonly options: { readonly timeoutMs: number } = { timeoutMs: OWNER_SOCKET_TIMEOUT_MS },
  ) {}

  async evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    const owner = await this.store.query({ kind: 'current-owner', nowMs: this.clock.nowMs() });
    const holder = owner.ok ? owner.value.holder : null;
    const line = holder === null ? null : await this.ask(this.names.pathOf(holder), JSON.stringify(request));
    this.reachable = line !== null;
    if (line === null) return 'unreachable';
    const reply = replySchema.safeParse(parseJson(line));
    if (!reply.success) return 'unreachable';
    if ('absence' in reply.data) return reply.data.absence;
    const bytes = Buffer.from(reply.data.queryVector, 'base64');
    if (bytes.length === 0 || bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0) return 'unreachable';
    return {
      // A copy, because a slice of the pool need not be aligned.
      queryVector: new Float32Array(new Uint8Array(bytes).buffer),
      hits: reply.data.hits.map(([rid, cosine]) => ({ rid, cosine })),
      mean: reply.data.mean,
      deviation: reply.data.deviation,
      scanned: reply.data.scanned,
      ...(reply.data.unrelated === undefined ? {} : { unrelated: reply.data.unrelated }),
    };
  }

  state(): SemanticState {
    return {
      enabled: true,
      loaded: this.reachable,
      failing: !this.reachable,
      lastError: this.reachable ? null : 'the process that owns the database does not answer',
      model: 'owner',
      dim: 0,
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private ask(path: string, request: string): Promise<string | null> {
    return new Promise((resolve) => {
      const socket = connectTo(path);
      const lines = new LineSplitter(OWNER_SOCKET_LINE_BYTES_MAX);
      const finish = (line: string | null) => {
        timer.cancel();
        socket.destroy();
        resolve(line);
      };
      const timer = this.scheduler.after(this.options.timeoutMs, () => finish(null), { keepAlive: true });
      socket.on('error', () => finish(null));
      socket.on('close', () => finish(null));
      socket.on('data', (chunk: Uint8Array) => {
        const [line] = lines.push(chunk);
        if (line !== undefined) finish(line === 'too-long' ? null : Buffer.from(line.bytes).toString());
      });
      socket.write(`${request}\n`);
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
