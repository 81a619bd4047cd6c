import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';
import { McpLines } from './mcp-lines.js';

export { type Message, textOf } from './mcp-lines.js';

/**
 * An MCP server as its own process: for tests of the process itself, of its kill, and of what processes share. Other tests have
 * an `McpSession`.
 */
export class McpProcess extends McpLines {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<number | NodeJS.Signals | null>;

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
    const child = spawn(process.execPath, [options.main ?? MAIN, 'mcp', ...(options.args ?? [])], {
      env: cleanEnvironment(options.home ?? temporaryFolder('mcp'), options.env),
    });
    super(child.stdin, child.stdout, options.answerWithinMs);
    this.child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.#closed = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve(signal ?? code);
        this.wake();
      });
    });
  }

  get ended(): Promise<number | NodeJS.Signals | null> {
    return within('the MCP server ends', this.#closed, { seen: () => this.errors });
  }
}
