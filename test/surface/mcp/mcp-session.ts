import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { serveSession } from '../../../cli/mcp-session.js';
import { loadSettings } from '../../../node/config/load-settings.js';
import { cleanEnvironment, temporaryFolder } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';
import { asking } from './every-tool.js';
import { McpLines } from './mcp-lines.js';

interface SessionOptions {
  /** As after `--profile`. */
  readonly profile?: string;
  readonly env?: Record<string, string>;
  readonly home?: string;
  /** The program; the project's own when absent. */
  readonly program?: {
    readonly serveSession: typeof serveSession;
    readonly loadSettings: typeof loadSettings;
  };
}

const OWN = { serveSession, loadSettings };

/** An MCP server in this process, over a pair of streams: what `mnemesh mcp` serves, without a process around it. */
export class McpSession extends McpLines {
  readonly #over: Promise<number>;

  constructor({ profile, env, home = temporaryFolder('mcp'), program = OWN }: SessionOptions = {}) {
    const input = new PassThrough();
    const output = new PassThrough();
    super(input, output);
    const flags = profile === undefined ? {} : { profile };
    const report = ({ message }: { message: string }) => {
      this.errors += `${message}\n`;
    };
    const settings = program.loadSettings(flags, { env: cleanEnvironment(home, env), report });
    const { pid, ppid } = process;
    const around = { input, output, pid, parentPid: () => ppid, stop: new AbortController().signal };
    this.#over = program.serveSession(settings, around).then(async () => {
      const read = once(output, 'close');
      output.end();
      await read;
      this.wake();
      return 0;
    });
  }

  get ended(): Promise<number> {
    return within('the MCP session ends', this.#over, { seen: () => this.errors });
  }
}

/** The library's client over a session. */
class SessionTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>;
  onclose?: () => void;

  constructor(private readonly session: McpSession) {
    session.onmessage = (message) => this.onmessage?.(message as never);
  }

  async start(): Promise<void> {}

  async send(message: object): Promise<void> {
    this.session.raw(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    await this.session.end();
    this.onclose?.();
  }
}

/** Connects the library's client to a session of its own. */
export async function connectClient(options: SessionOptions, version: string): Promise<Client> {
  const client = new Client({ name: 'a test', version: '1.0' });
  await client.connect(asking(new SessionTransport(new McpSession(options)), version));
  return client;
}
