import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Failure } from '../../protocol/base/result.js';

/** Starts a request whose turn has come. */
type Start = () => void;

/** The requests of one connection. */
interface Line {
  readonly waiting: Start[];
  /** What came after the last request and is not HTTP. */
  problem: Failure | null;
}

/**
 * Lets the requests of each connection run one after the other: a request begins when the answer before it has left.
 * Node itself starts every request of a chunk at once, so one small chunk could ask for a gigabyte of answers.
 */
export class Turns {
  /** Connections with a request under way. */
  readonly #lines = new Map<Duplex, Line>();
  #waiting = 0;

  constructor(private readonly waitingMax: number) {}

  /** Starts a request now or in its turn; false when too many requests of all connections wait already. */
  enter(socket: Duplex, start: Start): boolean {
    const line = this.#lines.get(socket);
    if (line === undefined) {
      this.#lines.set(socket, { waiting: [], problem: null });
      start();
      return true;
    }
    // Nothing more is read meanwhile; what has been read already still arrives.
    socket.pause();
    if (this.#waiting >= this.waitingMax) return false;
    this.#waiting += 1;
    line.waiting.push(start);
    return true;
  }

  /**
   * The answer of the request under way has left, or its connection is closed. True when no request of the connection
   * waits.
   */
  leave(socket: Socket): boolean {
    const line = this.#lines.get(socket);
    if (line === undefined) return false;
    const next = socket.destroyed ? undefined : line.waiting.shift();
    if (next === undefined) {
      this.#waiting -= line.waiting.length;
      this.#lines.delete(socket);
      return true;
    }
    this.#waiting -= 1;
    // The wait for the client to read the answer before is over.
    socket.setTimeout(0);
    if (line.waiting.length === 0) socket.resume();
    next();
    return false;
  }

  /** True when no request waits for the one that is under way. */
  isLast(socket: Duplex): boolean {
    return (this.#lines.get(socket)?.waiting.length ?? 0) === 0;
  }

  /** Remembers what is wrong behind the requests that wait; false when none waits. */
  breakAfter(socket: Duplex, problem: Failure): boolean {
    const line = this.#lines.get(socket);
    if (line === undefined || line.waiting.length === 0) return false;
    line.problem = problem;
    return true;
  }

  /** What came behind the request under way and is not HTTP, when no other request waits. */
  problemBehind(socket: Duplex): Failure | null {
    return this.isLast(socket) ? (this.#lines.get(socket)?.problem ?? null) : null;
  }
}
