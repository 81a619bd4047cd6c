import type { Readable, Writable } from 'node:stream';

export type Message = {
  readonly id?: number | string | null;
  readonly result?: Record<string, unknown>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Record<string, unknown>;
  };
};

const ANSWER_WITHIN_MS = 20_000;

/** A client of MCP that says and hears raw lines. */
export abstract class McpLines {
  readonly messages: Message[] = [];
  /** Hears each message. */
  onmessage: (message: Message) => void = () => undefined;
  errors = '';
  protected wake: () => void = () => undefined;
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #answerWithinMs: number;
  #rest = '';

  /** `input` is what the server reads; an answer may take `answerWithinMs`. */
  protected constructor(input: Writable, output: Readable, answerWithinMs = ANSWER_WITHIN_MS) {
    this.#input = input;
    this.#output = output;
    this.#answerWithinMs = answerWithinMs;
    input.on('error', () => undefined);
    output.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) {
        const message = JSON.parse(line) as Message;
        this.messages.push(message);
        this.onmessage(message);
      }
      this.wake();
    });
  }

  raw(line: string | Uint8Array): void {
    this.#input.write(line);
  }

  send(message: object): void {
    this.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** The first message that fits; fails when none comes. */
  async message(fits: (message: Message) => boolean): Promise<Message> {
    const until = Date.now() + this.#answerWithinMs;
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined) return found;
      const left = until - Date.now();
      if (left <= 0 || this.#output.destroyed) throw new Error(`no such message: ${this.errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  answer(id: number | string): Promise<Message> {
    return this.message((message) => message.id === id);
  }

  request(id: number | string, method: string, params?: object): Promise<Message> {
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return this.answer(id);
  }

  call(id: number | string, name: string, args: unknown = {}): Promise<Message> {
    return this.request(id, 'tools/call', { name, arguments: args });
  }

  /** What the server ends with, which must be soon. */
  abstract get ended(): Promise<number | NodeJS.Signals | null>;

  /** Ends the stream and waits for the server. */
  async end(): Promise<number | NodeJS.Signals | null> {
    this.#input.end();
    return this.ended;
  }
}

/** The text of a tool result. */
export function textOf(message: Message): string {
  const { content } = message.result as { content: { text: string }[] };
  return content[0]!.text;
}
