import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { RawAnswer } from './raw-http.js';

/** A whole request. */
export interface PipedRequest {
  readonly bytes: Buffer;
  /** Its answer has no body, whatever its head says. */
  readonly head: boolean;
}

export type Piped = RawAnswer | { readonly problem: string };

const TRIES = 3;

/**
 * A connection that stays: several whole requests are written at once and answered in their order. What the node leaves
 * unanswered by ending the connection is sent anew on another.
 */
export class Connection {
  #socket: Socket | null = null;

  constructor(
    private readonly open: () => Socket,
    private readonly withinMs: number,
  ) {}

  async send(requests: readonly PipedRequest[]): Promise<Piped[]> {
    const answers: Piped[] = [];
    let tries = 0;
    while (answers.length < requests.length) {
      const left = requests.slice(answers.length);
      const { taken, problem } = await this.#exchange(left);
      answers.push(...taken);
      tries = taken.length > 0 ? 0 : tries + 1;
      if (problem !== null) this.close();
      if (tries < TRIES && problem !== LATE) continue;
      if (taken.length < left.length) answers.push({ problem: problem ?? 'no answer' });
      tries = 0;
    }
    return answers;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #exchange(requests: readonly PipedRequest[]): Promise<{ taken: RawAnswer[]; problem: string | null }> {
    const fresh = this.#socket === null || this.#socket.destroyed || !this.#socket.writable;
    if (fresh) this.#socket = this.open().on('error', () => undefined);
    const socket = this.#socket!;
    return new Promise((resolve) => {
      const reader = new AnswerReader();
      const taken: RawAnswer[] = [];
      const finish = (problem: string | null) => {
        clearTimeout(deadline);
        for (const [event, listener] of listeners) socket.off(event, listener);
        resolve({ taken, problem });
      };
      const deadline = setTimeout(() => finish(LATE), this.withinMs);
      const ended = () => finish(reader.rest ?? 'the connection ended before the answer');
      const read = (chunk: Buffer) => {
        reader.add(chunk);
        while (taken.length < requests.length) {
          const answer = reader.next(requests[taken.length]!.head);
          if (answer === null) break;
          taken.push(answer);
          // Nothing comes behind an answer that never ends.
          if (isEndless(answer)) return finish('the connection is a stream now');
        }
        if (taken.length < requests.length) return;
        finish(taken.some(closes) ? 'the node ends the connection' : reader.rest);
      };
      const listeners = [
        ['data', read],
        ['end', ended],
        ['close', ended],
        ['error', ended],
      ] as const;
      for (const [event, listener] of listeners) socket.on(event, listener);
      socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
    });
  }
}

const LATE = 'no answer within the time';
const closes = ({ headers }: RawAnswer) => headers['connection']?.toLowerCase() === 'close';
const isEndless = ({ headers }: RawAnswer) =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** Reads answers from bytes as they come. */
class AnswerReader {
  #held: Buffer = Buffer.alloc(0);

  add(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
  }

  /** What is left, when something is. */
  get rest(): string | null {
    if (this.#held.length === 0) return null;
    return `no whole answer: ${JSON.stringify(this.#held.toString('latin1', 0, 200))}`;
  }

  next(noBody: boolean): RawAnswer | null {
    for (;;) {
      const end = this.#held.indexOf('\r\n\r\n');
      if (end === -1) return null;
      const [first = '', ...lines] = this.#held.toString('latin1', 0, end).split('\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0);
      if (status === 0) return null;
      const headers: Record<string, string> = {};
      for (const line of lines) {
        const colon = line.indexOf(':');
        headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
      }
      const bodiless = noBody || status < 200 || status === 204;
      const length = bodiless ? 0 : Number(headers['content-length'] ?? 0);
      if (end + 4 + length > this.#held.length) return null;
      const bytes = bodiless ? null : this.#held.subarray(end + 4, end + 4 + length);
      this.#held = this.#held.subarray(end + 4 + length);
      if (status < 200) continue;
      const packed = headers['content-encoding'] === 'gzip';
      return { status, headers, body: bytes === null ? null : packed ? gunzipSync(bytes) : bytes };
    }
  }
}
