import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { MAIN, profiling, serviceEnvironment } from './servers.js';
import type { Workspace } from './workspace.js';

/** The folder for a profile, and the environment beside that of every process of a benchmark. */
interface McpAgentOptions {
  readonly cpuProf?: string | null;
  readonly env?: Readonly<Record<string, string>>;
}

/** One client with an MCP server of its own: raw lines and one request at a time, so that it costs next to nothing. */
export class McpAgent {
  readonly child: ChildProcessWithoutNullStreams;
  private rest = '';
  private next = 0;
  private answered: ((line: string | null) => void) | null = null;

  private constructor(
    private readonly workspace: Workspace,
    home: string,
    { cpuProf = null, env = {} }: McpAgentOptions,
  ) {
    this.child = workspace.adopt(
      spawn(process.execPath, [...profiling(cpuProf), MAIN, 'mcp'], {
        env: serviceEnvironment(home, env),
      }),
    );
    this.child.stdin.on('error', () => undefined);
    this.child.stderr.resume();
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.take(text));
    this.child.once('close', () => this.answered?.(null));
  }

  /** Starts a server and greets it. Rejects when it does not answer. */
  static async start(
    workspace: Workspace,
    home: string,
    name: string,
    options: McpAgentOptions = {},
  ): Promise<McpAgent> {
    const agent = new McpAgent(workspace, home, options);
    const clientInfo = { name, version: '1' };
    await agent.request('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo });
    agent.write({ method: 'notifications/initialized' });
    return agent;
  }

  /** Calls a tool; answers null when it succeeded, else a short name of what went wrong. */
  async failureOf(tool: string, args: object): Promise<string | null> {
    const line = await this.answerOf(tool, args);
    if (line.includes('"error"')) return 'protocol error';
    return line.includes('"isError":true') ? (/\\"code\\":\\"(\w+)/.exec(line)?.[1] ?? 'unknown') : null;
  }

  /** The line with which a tool answers. */
  answerOf(tool: string, args: object): Promise<string> {
    return this.request('tools/call', { name: tool, arguments: args });
  }

  stop(): Promise<void> {
    this.child.stdin.end();
    return this.workspace.end(this.child);
  }

  private write(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  private request(method: string, params: object): Promise<string> {
    this.next += 1;
    return new Promise((resolve, reject) => {
      this.answered = (line) => {
        this.answered = null;
        if (line === null) reject(new Error('the MCP server ended'));
        else resolve(line);
      };
      this.write({ id: this.next, method, params });
    });
  }

  private take(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) this.answered?.(line);
  }
}
