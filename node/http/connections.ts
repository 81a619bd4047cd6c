import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../protocol/base/seams.js';
import { sourceOf } from './auth-backoff.js';

/** How many connections a listener keeps. */
export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Of one source, without a request. */
  readonly silentPerSourceMax: number;
  /** A connection is not closed for that number before it has had this time to send its first request. */
  readonly silentGraceMs: number;
}

interface Connection {
  socket: Socket;
  /** Remote address and port; a closed socket does not know them any more. */
  readonly end: string;
  readonly source: string;
  readonly openedMs: number;
  /** True until its first request. */
  silent: boolean;
}

/**
 * The open connections of a listener. Those without a request under way make way for new ones: first those that never
 * sent one, the oldest first, then those that rest longest. So idle connections cannot keep others out.
 */
export class Connections {
  /** By remote end; a TLS connection replaces the TCP connection below it. */
  readonly #open = new Map<string, Connection>();
  readonly #ofSocket = new WeakMap<Duplex, Connection>();
  /** Connections that never sent a request, oldest first. */
  readonly #silent = new Set<Connection>();
  /** Connections whose requests are all answered, the one that rests longest first. */
  readonly #resting = new Set<Connection>();
  readonly #silentOf = new Map<string, Set<Connection>>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly limits: ConnectionLimits,
  ) {}

  get size(): number {
    return this.#open.size;
  }

  /** A connection was opened; it is closed when all others have requests under way. */
  opened(socket: Socket): void {
    if (this.#open.size >= this.limits.connectionsMax) {
      const [idle] = this.#silent.size > 0 ? this.#silent : this.#resting;
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      this.#close(idle);
    }
    const source = sourceOf(socket.remoteAddress);
    const openedMs = this.clock.monotonicMs();
    const connection: Connection = { socket, end: endOf(socket), source, openedMs, silent: true };
    this.#add(connection);
    this.#follow(connection);
    this.#closeSurplus(source);
  }

  /** TLS was agreed on an open connection. */
  secured(socket: Socket): void {
    const connection = this.#open.get(endOf(socket));
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    connection.socket = socket;
    this.#follow(connection);
  }

  /** A request has come on a connection. */
  used(socket: Duplex): void {
    const connection = this.#ofSocket.get(socket);
    if (connection === undefined) return;
    this.#resting.delete(connection);
    if (connection.silent) this.#speaks(connection);
  }

  /** All requests of a connection are answered. */
  rested(socket: Duplex): void {
    const connection = this.#ofSocket.get(socket);
    if (connection !== undefined && this.#open.get(connection.end) === connection)
      this.#resting.add(connection);
  }

  closeSilent(): void {
    for (const connection of this.#silent) this.#close(connection);
  }

  closeAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }

  #add(connection: Connection): void {
    const { end, source } = connection;
    this.#open.set(end, connection);
    this.#silent.add(connection);
    const others = this.#silentOf.get(source);
    if (others === undefined) this.#silentOf.set(source, new Set([connection]));
    else others.add(connection);
  }

  /** Forgets a connection when the socket that it has then is closed. */
  #follow(connection: Connection): void {
    const { socket } = connection;
    this.#ofSocket.set(socket, connection);
    socket.once('close', () => {
      if (connection.socket !== socket) return;
      this.#forget(connection);
    });
  }

  #closeSurplus(source: string): void {
    const before = this.clock.monotonicMs() - this.limits.silentGraceMs;
    for (const connection of this.#silentOf.get(source) ?? []) {
      const count = this.#silentOf.get(source)?.size ?? 0;
      if (count <= this.limits.silentPerSourceMax || connection.openedMs > before) return;
      this.#close(connection);
    }
  }

  #close(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  #forget(connection: Connection): void {
    if (this.#open.get(connection.end) === connection) this.#open.delete(connection.end);
    this.#resting.delete(connection);
    this.#speaks(connection);
  }

  /** Counts a connection as silent no longer. */
  #speaks(connection: Connection): void {
    connection.silent = false;
    this.#silent.delete(connection);
    const others = this.#silentOf.get(connection.source);
    others?.delete(connection);
    if (others?.size === 0) this.#silentOf.delete(connection.source);
  }
}

const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
