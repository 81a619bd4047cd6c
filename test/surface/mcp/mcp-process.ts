import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';

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

/** An MCP server as its own process, spoken to line by line. */
export class McpProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly messages: Message[] = [];
  private readonly closed: Promise<number | NodeJS.Signals | null>;
  errors = '';
  private readonly answerWithinMs: number;
  private rest = '';
  private wake: () => void = () => undefined;

  constructor(
    options: {
      readonly args?: readonly string[];
      readonly env?: Record<string, string>;
      readonly home?: string;
      /** The program; the project's own when absent. */
      readonly main?: string;
      /** How long an answer may take. */
      readonly answerWithinMs?: number;
    } = {},
  ) {
    this.answerWithinMs = options.answerWithinMs ?? ANSWER_WITHIN_MS;
    this.child = spawn(process.execPath, [options.main ?? MAIN, 'mcp', ...(options.args ?? [])], {
      env: cleanEnvironment(options.home ?? temporaryFolder('mcp'), options.env),
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop()!;
      for (const line of lines) this.messages.push(JSON.parse(line) as Message);
      this.wake();
    });
    this.closed = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        resolve(signal ?? code);
        this.wake();
      });
    });
  }

  /** What the process ends with, which must be soon. */
  get ended(): Promise<number | NodeJS.Signals | null> {
    return within('the MCP server ends', this.closed, { seen: () => this.errors });
  }

  raw(line: string | Uint8Array): void {
    this.child.stdin.write(line);
  }

  send(message: object): void {
    this.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** The first message that fits; fails when none comes. */
  async message(fits: (message: Message) => boolean): Promise<Message> {
    const until = Date.now() + this.answerWithinMs;
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined) return found;
      const left = until - Date.now();
      if (left <= 0 || this.child.stdout.destroyed) throw new Error(`no such message: ${this.errors}`);
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

  /** Ends the stream and waits for the process. */
  async end(): Promise<number | NodeJS.Signals | null> {
    this.child.stdin.end();
    return this.ended;
  }
}

/** The text of a tool result. */
export function textOf(message: Message): string {
  const { content } = message.result as { content: { text: string }[] };
  return content[0]!.text;
}
