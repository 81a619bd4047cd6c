import { spawn } from 'node:child_process';
import type { Bench, BenchContext } from './bench.js';
import { chainRate } from './chain-rate.js';
import { groupCommitRate, syncsPerSecond } from './limits.js';
import { titlePrefix } from './load.js';
import { McpAgent } from './mcp-agent.js';
import type { BenchResult } from './report.js';
import { MAIN, type ServerProcess, serviceEnvironment, startDaemonProcess, withCpu } from './servers.js';
import { type Percentiles, percentiles, rounded } from './statistics.js';
import { EVERYDAY_WORDS } from './words.js';

const AGENTS = [1, 4, 16];
const NOTE_BYTES = 300;
const COMMANDS = 15;

/** Agents of one machine as they are used: an MCP server each on one database, and commands one after the other. */
export const agentsBench: Bench = {
  name: 'agents',
  summary: 'Notes of MCP servers and commands on one database, with a daemon and without one.',
  usage: '[--clients 1,4,16] [--seconds 4] [--iterations 15]',
  run: runAgents,
};

type Serving = 'daemon' | 'no daemon';

interface AgentsRow {
  readonly agents: number;
  readonly serving: Serving;
  readonly perSecond: number;
  readonly times: Percentiles;
  readonly stored: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly daemonCpu: number | null;
  readonly commits: number;
  /** Null without a daemon: an agent then commits by itself. */
  readonly chain: number | null;
}

interface CommandsRow {
  readonly serving: Serving;
  readonly fastest: number;
  readonly median: number;
  readonly errors: number;
}

async function runAgents({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const load = { warmupMs: options.quick ? 200 : 1000, durationMs };
  const limitMs = options.quick ? 200 : 1000;
  const iterations = options.quick ? 3 : Math.min(options.iterations, COMMANDS);
  const rows: AgentsRow[] = [];
  const commands: CommandsRow[] = [];
  for (const serving of ['daemon', 'no daemon'] as const) {
    const home = workspace.folder();
    const daemon =
      serving === 'daemon' ? await startDaemonProcess(workspace, home, {}, options.cpuProf) : null;
    for (const agents of options.clients ?? AGENTS) {
      progress.step(`agents: ${agents}, ${serving}`);
      // Only the daemon can put notes of several agents into one commit.
      const batch = daemon === null ? 1 : agents;
      const before = groupCommitRate(workspace.folder(), batch, limitMs);
      const running = await Promise.all(
        Array.from({ length: agents }, (_, n) =>
          McpAgent.start(workspace, home, `bench-${n}`, { cpuProf: options.cpuProf }),
        ),
      );
      const result = await measured(daemon, () => store(running, load));
      await Promise.all(running.map((agent) => agent.stop()));
      const after = groupCommitRate(workspace.folder(), batch, limitMs);
      const chain = daemon === null ? null : await chainRate(workspace, agents, limitMs);
      rows.push({ agents, serving, ...result, commits: Math.max(before, after), chain });
    }
    progress.step(`agents: commands, ${serving}`);
    commands.push({ serving, ...(await storeByCommands(home, iterations)) });
    await daemon?.stop();
  }
  const empty = await timesOf(iterations, () => ended(null, {}));
  return report(rows, commands, empty.median, syncsPerSecond(workspace.folder(), limitMs));
}

interface Stored {
  readonly perSecond: number;
  readonly times: Percentiles;
  readonly stored: number;
  readonly failed: Readonly<Record<string, number>>;
}

async function measured(
  daemon: ServerProcess | null,
  act: () => Promise<Stored>,
): Promise<Stored & { daemonCpu: number | null }> {
  if (daemon === null) return { ...(await act()), daemonCpu: null };
  const { value, cpu } = await withCpu(daemon.child, act);
  return { ...value, daemonCpu: cpu };
}

/** Lets each agent store one note after the other. */
async function store(
  agents: readonly McpAgent[],
  { warmupMs, durationMs }: { readonly warmupMs: number; readonly durationMs: number },
): Promise<Stored> {
  const prefix = titlePrefix();
  const countedFrom = performance.now() + warmupMs;
  const endMs = countedFrom + durationMs;
  const taken: number[] = [];
  const failed: Record<string, number> = {};
  await Promise.all(
    agents.map(async (agent, worker) => {
      for (let n = 0; ; n += 1) {
        const start = performance.now();
        if (start >= endMs) return;
        const failure = await agent.failureOf('memory_store', note(prefix, worker, n));
        const now = performance.now();
        if (start < countedFrom || now > endMs) continue;
        if (failure === null) taken.push(now - start);
        else failed[failure] = (failed[failure] ?? 0) + 1;
      }
    }),
  );
  const stored = taken.length;
  return { perSecond: (stored * 1000) / durationMs, times: percentiles(taken), stored, failed };
}

/** A note as an agent would take it: no two have a title in common, some share words. */
function note(prefix: string, worker: number, n: number) {
  const word = (at: number) => EVERYDAY_WORDS[(at * 31 + worker * 17) % EVERYDAY_WORDS.length]!;
  let content = `${word(n)}:`;
  for (let at = 0; content.length < NOTE_BYTES; at += 1) content += ` ${word(n * 7 + at * at)}`;
  return {
    title: `${word(n)} ${word(n * 3 + 1)} ${prefix} ${worker} ${n}`,
    content,
    namespace: 'bench/agents',
  };
}

async function storeByCommands(home: string, iterations: number): Promise<Omit<CommandsRow, 'serving'>> {
  const prefix = titlePrefix();
  const env = serviceEnvironment(home);
  let n = 0;
  return timesOf(iterations, () => {
    n += 1;
    const { title, content, namespace } = note(prefix, 0, n);
    return ended(['store', '--title', title, '--content', content, '--namespace', namespace], env);
  });
}

/** Times of whole processes, one after the other. */
async function timesOf(iterations: number, act: () => Promise<{ ms: number; code: number | null }>) {
  const taken: number[] = [];
  let errors = 0;
  for (let n = 0; n < iterations; n += 1) {
    const { ms, code } = await act();
    if (code === 0) taken.push(ms);
    else errors += 1;
  }
  const sorted = taken.toSorted((a, b) => a - b);
  return {
    fastest: sorted[0] ?? Number.NaN,
    median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    errors,
  };
}

/** Runs a command to its end; Node with nothing to do for null. */
function ended(
  words: readonly string[] | null,
  env: NodeJS.ProcessEnv,
): Promise<{ ms: number; code: number | null }> {
  const start = performance.now();
  const args = words === null ? ['-e', '0'] : [MAIN, ...words];
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve({ ms: performance.now() - start, code }));
  });
}

function report(
  rows: readonly AgentsRow[],
  commands: readonly CommandsRow[],
  emptyProcess: number,
  syncs: number,
): BenchResult {
  const errorsOf = ({ failed }: AgentsRow) => Object.values(failed).reduce((sum, count) => sum + count, 0);
  return {
    tables: [
      {
        title: `agents: memory_store over MCP, notes of ${NOTE_BYTES} bytes, synchronous=FULL, keyword mode`,
        columns: [
          ...['agents', 'with', 'notes/s', 'p50 ms', 'p99 ms', 'errors'],
          ...['limit: commit/s', 'limit: chain/s', 'daemon CPU'],
        ],
        rows: rows.map((row) => [
          row.agents,
          row.serving,
          Math.round(row.perSecond),
          row.times.p50,
          row.times.p99,
          errorsOf(row),
          Math.round(row.commits),
          row.chain === null ? null : Math.round(row.chain),
          row.daemonCpu === null ? null : `${Math.round(row.daemonCpu * 100)} %`,
        ]),
        notes: [
          `the disk takes ${Math.round(syncs)} appends with a sync per second`,
          "commit: the service's writer in a bare loop; with a daemon as many rows to a transaction as there are agents, else one",
          'chain: a line through the same processes, sockets and threads with nothing in them but one synced row',
          'SVC_EMBED_BACKEND=none; each agent is a process of its own and waits for each answer; CPU in shares of one core',
        ],
      },
      {
        title: 'commands: `store`, one process after the other, in milliseconds',
        columns: ['with', 'fastest', 'median', 'errors'],
        rows: commands.map((row) => [row.serving, row.fastest, row.median, row.errors]),
        notes: [`a process of Node with nothing to do: ${rounded(emptyProcess, 1)} ms`],
      },
    ],
    json: {
      syncs_per_second: Math.round(syncs),
      embed_backend: 'none',
      rows: rows.map((row) => ({
        agents: row.agents,
        daemon: row.serving === 'daemon',
        per_second: rounded(row.perSecond, 1),
        p50_ms: rounded(row.times.p50, 3),
        p99_ms: rounded(row.times.p99, 3),
        stored: row.stored,
        failed: row.failed,
        limit_commit_per_second: rounded(row.commits, 1),
        limit_chain_per_second: row.chain === null ? null : rounded(row.chain, 1),
      })),
      commands: commands.map(({ serving, fastest, median, errors }) => ({
        daemon: serving === 'daemon',
        fastest_ms: rounded(fastest),
        median_ms: rounded(median),
        errors,
      })),
      empty_process_ms: rounded(emptyProcess),
    },
  };
}
