import { createServer, type Server, type Socket } from 'node:net';
import * as limits from '../../protocol/base/limits.js';
import { fail } from '../../protocol/base/result.js';
import type { Log, Scheduler } from '../../protocol/base/seams.js';
import { databaseName } from '../config/store-url.js';
import type { Answer } from '../pipeline/answer.js';
import type { Services } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { runOperation } from '../pipeline/pipeline.js';
import { listenPrivately, SocketLines } from '../private-socket.js';
import { VERSION } from '../version.js';
import {
  type Greeting,
  type GreetingReply,
  greetingSchema,
  LOCAL_PROTOCOL,
  type LocalCall,
  type LocalReply,
  lineSchema,
} from './messages.js';

export interface LocalSurfaceParts {
  readonly services: Services;
  readonly operations: readonly Operation[];
  readonly log: Log;
  readonly scheduler: Pick<Scheduler, 'after'>;
}

/**
 * The daemon's surface for MCP servers and commands of the same user: their calls run through the daemon's pipeline, so
 * that one writer groups them and waits for the quorum. Only the user of the node can connect.
 */
export class LocalSurface {
  private readonly server: Server = createServer();
  private readonly sockets = new Set<Socket>();
  private readonly operations: ReadonlyMap<string, Operation>;
  /** Calls under way. */
  private readonly running = new Set<Promise<Answer>>();
  /** The same, and those whose answers were not read yet. */
  private readonly owed = new Set<Promise<void>>();
  private draining = false;

  private constructor(private readonly parts: LocalSurfaceParts) {
    this.operations = new Map(parts.operations.map((operation) => [operation.name, operation]));
  }

  /** Listens at `path`. Rejects when it cannot be bound. */
  static async listen(path: string, parts: LocalSurfaceParts): Promise<LocalSurface> {
    const surface = new LocalSurface(parts);
    const { server } = surface;
    server.maxConnections = limits.LOCAL_CONNECTIONS_MAX;
    server.on('connection', (socket) => surface.serve(socket));
    await listenPrivately(server, path);
    server.on('error', (error) => parts.log.warn({ err: error }, 'the local socket failed'));
    server.unref();
    return surface;
  }

  /** Refuses new calls and resolves when those under way are answered; a process that reads no answer cannot delay it. */
  async drain(): Promise<void> {
    this.draining = true;
    while (this.running.size > 0) await Promise.allSettled(this.running);
    await new Promise<void>((resolve) => {
      const timer = this.parts.scheduler.after(limits.LOCAL_UNREAD_MS, resolve);
      void Promise.allSettled(this.owed).then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** Closing removes the socket's file too. */
  async close(): Promise<void> {
    this.draining = true;
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.unref();
    // The first line is a greeting, the others are calls.
    let services: Services | null = null;
    let underWay = 0;
    const calls = new Map<number, AbortController>();
    const take = (line: string): void => {
      if (services === null) {
        silent.cancel();
        services = this.greeted(line, socket);
        if (services !== null) return;
        lines.stop();
        // Not `end`, after which a process that stays connected would keep its place.
        socket.destroySoon();
        return;
      }
      const said = lineSchema.parse(JSON.parse(line));
      if ('cancel' in said) {
        calls.get(said.cancel)?.abort();
        return;
      }
      const cancelled = new AbortController();
      calls.set(said.id, cancelled);
      const done = this.answer(said, services, socket, cancelled.signal).finally(() => {
        underWay -= 1;
        calls.delete(said.id);
        this.owed.delete(done);
        lines.resume();
      });
      this.owed.add(done);
      underWay += 1;
      if (underWay >= limits.LOCAL_CALLS_PER_CONNECTION_MAX) lines.pause();
    };
    const lines = new SocketLines(socket, limits.LOCAL_LINE_BYTES_MAX, take, (error) => {
      this.parts.log.debug({ err: error }, 'a process broke the form of the local socket');
      socket.destroy();
    });
    const silent = this.parts.scheduler.after(limits.LOCAL_SILENT_MS, () => socket.destroy());
    socket.on('close', () => {
      silent.cancel();
      this.sockets.delete(socket);
      for (const call of calls.values()) call.abort();
    });
    socket.on('error', () => socket.destroy());
  }

  /** Answers a greeting. The services for the calls of the process; null when it is refused. */
  private greeted(line: string, socket: Socket): Services | null {
    const greeting = greetingSchema.parse(JSON.parse(line)) as Greeting;
    const refused = this.refusal(greeting);
    void send(socket, refused === null ? { protocol: LOCAL_PROTOCOL } : { refused });
    if (refused !== null) return null;
    const { services } = this.parts;
    return { ...services, settings: { ...services.settings, ...greeting.settings } };
  }

  private refusal({ protocol, version, dbPath, keyDir }: Greeting): string | null {
    const { settings } = this.parts.services;
    if (this.draining) return 'the daemon is shutting down';
    if (protocol !== LOCAL_PROTOCOL || version !== VERSION) return `the daemon is release ${VERSION}`;
    if (dbPath !== databaseName(settings)) return 'the daemon has another database';
    return keyDir === settings.keyDir ? null : 'the daemon has other keys';
  }

  /** Runs a call and sends its answer. Never rejects. */
  private async answer(
    call: LocalCall,
    services: Services,
    socket: Socket,
    cancelled: AbortSignal,
  ): Promise<void> {
    const { id } = call;
    const reply = (line: LocalReply) => send(socket, line);
    const running = Promise.resolve(this.run(call, services, reply, cancelled));
    this.running.add(running);
    const answer = await running;
    this.running.delete(running);
    await reply({ id, answer });
  }

  private run(
    call: LocalCall,
    services: Services,
    reply: (line: LocalReply) => Promise<void>,
    cancelled: AbortSignal,
  ): Promise<Answer> | Answer {
    const { id, operation: name, profile, ...request } = call;
    if (this.draining) return fail('SHUTTING_DOWN', 'this node is shutting down');
    if (this.running.size >= limits.LOCAL_CALLS_MAX)
      return fail('OVERLOADED', 'too many calls of local processes are under way; try again');
    const operation = this.operations.get(name);
    if (operation === undefined)
      return fail('INVALID_REQUEST', `the daemon has no operation "${name}"`, { fields: ['operation'] });
    const progress = (done: number, of: number | null) => void reply({ id, progress: [done, of] });
    return runOperation(
      operation,
      { ...request, ...(profile === undefined ? {} : { profile }), progress, gone: () => cancelled },
      services,
    );
  }
}

/** Resolves when the line was taken, or when its connection is closed. */
function send(socket: Socket, line: GreetingReply | LocalReply): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.write(`${JSON.stringify(line)}\n`, () => resolve());
  });
}
