import type { WebSocket } from 'ws';
import { formatHint, type Hint, parseHint } from '../../../protocol/wire/hint.js';

export interface HintLineOptions {
  readonly peerId: string;
  /** This node opened it. */
  readonly dialled: boolean;
  readonly hinted: (hint: Hint) => void;
  readonly closed: (line: HintLine) => void;
}

const NOT_UNDERSTOOD = 1003;
const NORMAL = 1000;
/** A line with more unsent bytes than this counts as dead; hints are a few bytes. */
const BUFFERED_BYTES_MAX = 16 * 1024;

/** An open WebSocket to one peer. */
export class HintLine {
  readonly peerId: string;
  readonly dialled: boolean;
  readonly #socket: WebSocket;
  #answered = true;

  constructor(socket: WebSocket, { peerId, dialled, hinted, closed }: HintLineOptions) {
    this.peerId = peerId;
    this.dialled = dialled;
    this.#socket = socket;
    socket.on('message', (data, isBinary) => {
      const hint = isBinary ? null : parseHint(String(data));
      if (hint === null) socket.close(NOT_UNDERSTOOD);
      else hinted(hint);
    });
    socket.on('pong', () => {
      this.#answered = true;
    });
    // A close event follows every error.
    socket.on('error', () => undefined);
    socket.on('close', () => closed(this));
  }

  say(hint: Hint): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > BUFFERED_BYTES_MAX) this.#socket.terminate();
    else this.#socket.send(formatHint(hint));
  }

  /** Ends a line whose other end has not answered since the last beat. */
  beat(): void {
    if (!this.#answered) {
      this.#socket.terminate();
      return;
    }
    this.#answered = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  close(): void {
    this.#socket.close(NORMAL);
  }

  cut(): void {
    this.#socket.terminate();
  }
}
