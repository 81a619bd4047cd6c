import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { McpAgent } from './mcp-agent.js';
import { clientOf } from './node-client.js';
import type { Progress } from './progress.js';
import type { Table } from './report.js';
import { cpuSeconds, cpuSecondsOf, MAIN, serviceEnvironment, startDaemonProcess } from './servers.js';
import { rounded } from './statistics.js';
import type { Workspace } from './workspace.js';

const NOTES = 20;
const QUESTION = 'when may we deploy to production?';
const LIMIT_MS = 300;

const BY_WORDS = { SVC_EMBED_BACKEND: 'none' };
const BY_MEANING = { SVC_EMBED_BACKEND: 'builtin' };

/** Processor milliseconds of one start. */
type Start = (env: Readonly<Record<string, string>>) => Promise<number>;

/** Processor time of new processes until their first answer by meaning, beside their first answer by words only. */
export class FirstVectors {
  readonly #taken = new Map<string, number[]>();

  constructor(
    private readonly workspace: Workspace,
    private readonly progress: Progress,
    private readonly iterations: number,
  ) {}

  async measure(): Promise<void> {
    const home = await this.#home();
    const starts: readonly (readonly [string, Start])[] = [
      ['mnemesh recall, to its end', (env) => command(['recall', QUESTION, '--json'], home, env)],
      ['mnemesh mcp', (env) => this.#mcp(home, env)],
      ['mnemesh serve', (env) => this.#daemon(home, env)],
    ];
    // One after the other in turns, so that what else the machine does meets all alike.
    for (let n = 0; n < this.iterations; n += 1) {
      this.progress.step(`start: first vectors, ${n + 1} of ${this.iterations}`);
      this.#note('node -e 0', await ended(['-e', '0'], {}));
      for (const [name, start] of starts) {
        this.#note(`${name}: by words`, await start(BY_WORDS));
        this.#note(`${name}: by meaning`, await start(BY_MEANING));
      }
    }
  }

  get json(): Readonly<Record<string, { fastest_ms: number; median_ms: number }>> {
    return Object.fromEntries(
      [...this.#taken].map(([name, taken]) => {
        const sorted = taken.toSorted((a, b) => a - b);
        return [
          name,
          { fastest_ms: rounded(sorted[0]!), median_ms: rounded(sorted[Math.floor(sorted.length / 2)]!) },
        ];
      }),
    );
  }

  get table(): Table {
    return {
      title: 'Processor time of a new process until its first answer, in milliseconds',
      columns: ['what', 'fastest', 'median'],
      rows: Object.entries(this.json).map(([name, { fastest_ms, median_ms }]) => [
        name,
        fastest_ms,
        median_ms,
      ]),
      notes: [`Goal: ${LIMIT_MS} by meaning. All threads count; the system says it in steps of 10.`],
    };
  }

  #note(name: string, ms: number): void {
    const taken = this.#taken.get(name) ?? [];
    taken.push(ms);
    this.#taken.set(name, taken);
  }

  /** A home with some notes that have their vectors. */
  async #home(): Promise<string> {
    const home = this.workspace.folder();
    for (let n = 0; n < NOTES; n += 1) {
      const content = `Deploy window ${n}: production deployments of team ${n} happen on Sundays.`;
      await command(['store', '--title', `window ${n}`, '--content', content], home, BY_WORDS);
    }
    await command(['reembed'], home, BY_MEANING);
    return home;
  }

  async #mcp(home: string, env: Readonly<Record<string, string>>): Promise<number> {
    const agent = await McpAgent.start(this.workspace, home, 'ai:bench', { env });
    const answer = await agent.answerOf('memory_recall', { context: QUESTION, format: 'json' });
    const ms = 1000 * (cpuSeconds(agent.child) ?? Number.NaN);
    await agent.stop();
    requireMode(/\\"mode\\":\\"(\w+)/.exec(answer)?.[1], env);
    return ms;
  }

  async #daemon(home: string, env: Readonly<Record<string, string>>): Promise<number> {
    const daemon = await startDaemonProcess(this.workspace, home, env);
    const { mode } = await clientOf(daemon.port, 'ai:bench').call('memory_recall', { context: QUESTION });
    const ms = 1000 * (cpuSeconds(daemon.child) ?? Number.NaN);
    await daemon.stop();
    requireMode(mode, env);
    return ms;
  }
}

/** A process that answered by words has not made a vector. */
function requireMode(mode: unknown, env: Readonly<Record<string, string>>): void {
  const expected = env === BY_MEANING ? 'hybrid' : 'keyword';
  if (mode !== expected)
    throw new Error(`the first recall was answered in the mode ${mode}, not ${expected}`);
}

const command = (words: readonly string[], home: string, env: Readonly<Record<string, string>>) =>
  ended([MAIN, ...words], serviceEnvironment(home, env), words[0] === 'recall' ? env : undefined);

/** Processor milliseconds of a process that runs Node to its end. */
async function ended(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  asked?: Readonly<Record<string, string>>,
): Promise<number> {
  const before = endedChildrenSeconds();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`node ${args.join(' ')} ended with ${code}`)),
    );
  });
  const ms = 1000 * (endedChildrenSeconds() - before);
  if (asked !== undefined) requireMode(JSON.parse(output).mode, asked);
  return ms;
}

/** Processor seconds of the processes that this one started and that have ended. */
const endedChildrenSeconds = () => cpuSecondsOf(readFileSync('/proc/self/stat', 'utf8'), 'ended children');
