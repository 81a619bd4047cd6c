import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchContext } from './bench.js';
import { databasePath, fill, openBenchDatabase } from './database.js';
import { FirstVectors } from './first-vector.js';
import { LoadGenerator, recalling, recallPath, storing } from './load.js';
import { clientOf } from './node-client.js';
import type { BenchResult } from './report.js';
import { type ServerProcess, startDaemonProcess } from './servers.js';
import { rounded } from './statistics.js';

const ROWS = 100_000;
const NAMESPACES = 20;
const WORDS = [
  'amber',
  'basalt',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'garnet',
  'harbour',
  'indigo',
  'jasper',
];
const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const EMBEDDER_WAIT_MS = 60_000;

/** Start-up times beside those of bare Node, and the memory of a daemon that has rows and work. */
export const startBench: Bench = {
  name: 'start',
  summary:
    'Time of a command, of the MCP handshake and of a daemon start; processor time to the first vector; memory of the daemon.',
  usage: '[--rows 100000] [--iterations 20] [--seconds 20] [--keyword]',
  run: runStart,
};

interface Memory {
  readonly total_mib: number;
  /** Without the pages of mapped files, which the system takes back when it needs them. */
  readonly own_mib: number;
}

async function runStart({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const iterations = options.quick ? 3 : Math.min(options.iterations, 20);
  const rows = options.rows?.[0] ?? (options.quick ? 2000 : ROWS);
  const seconds = options.seconds ?? (options.quick ? 1 : 20);
  const small = workspace.folder();
  const env = environment(small);
  await ended(['store', '--title', 'one', '--content', 'row'], env);

  const times: Record<string, Times> = {};
  const timed = async (name: string, act: () => Promise<number>) => {
    progress.step(`start: ${name}`);
    const taken: number[] = [];
    for (let n = 0; n < iterations; n += 1) taken.push(await act());
    times[name] = timesOf(taken);
  };
  await timed('node -e 0 (the limit)', () => ended(null, env));
  await timed('mnemesh stats --json', () => ended(['stats', '--json'], env));
  await timed('mnemesh recall', () => ended(['recall', 'row'], env));
  await timed('mnemesh --help', () => ended(['--help'], env));
  await timed('mnemesh mcp: initialize answered', () => handshake(env));

  const vectors = new FirstVectors(workspace, progress, iterations);
  if (!options.keyword) await vectors.measure();

  const home = workspace.folder();
  progress.step(`start: ${rows} rows`);
  const database = openBenchDatabase(databasePath(home), 'OFF');
  fill(database, rows, row, (done) => progress.at(done, rows));
  database.close();
  const memory: Record<string, Memory> = {};
  const load = LoadGenerator.start(workspace);
  for (const backend of options.keyword ? ['none'] : ['none', 'builtin']) {
    const mode = backend === 'none' ? 'keyword' : 'embedder';
    progress.step(`start: daemon, ${mode}`);
    const daemon = await startDaemonProcess(workspace, home, { SVC_EMBED_BACKEND: backend });
    times[`serve, ${rows} rows, ${mode}: health answered`] = timesOf([daemon.startMs]);
    memory[`${mode}, just started`] = memoryOf(daemon);
    if (backend === 'builtin') await embedderLoaded(daemon);
    const reads = WORDS.map((word, index) => ({
      label: 'recall',
      path: recallPath(`${word} ${WORDS[(index * 3 + 1) % WORDS.length]}`, null, 10),
    }));
    const streams = [recalling(8, reads), storing(4, 'bench/others', 100)];
    await load.run(daemon.port, { warmupMs: 200, durationMs: seconds * 1000 }, streams);
    memory[`${mode}, after ${seconds} s of recalls and writes`] = memoryOf(daemon);
    await daemon.stop();
  }
  await load.stop();
  return report(times, vectors, memory, rows);
}

interface Times {
  readonly fastest_ms: number;
  readonly median_ms: number;
}

function timesOf(taken: readonly number[]): Times {
  const sorted = taken.toSorted((a, b) => a - b);
  return { fastest_ms: rounded(sorted[0]!), median_ms: rounded(sorted[Math.floor(sorted.length / 2)]!) };
}

function row(index: number) {
  const word = (at: number) => WORDS[at % WORDS.length];
  const content = `${word(index)} ${word(index >> 3)} note number ${index}: ${word(index * 7)} lies near ${word(index * 3 + 1)}`;
  const namespace = `bench/n${index % NAMESPACES}`;
  return {
    title: `note ${index}`,
    content: content.padEnd(400, ' and so on'),
    namespace,
    tier: 'long' as const,
  };
}

function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    SVC_HOME: home,
    SVC_EMBED_BACKEND: 'none',
    SVC_LOG_LEVEL: 'warn',
  };
}

/** Milliseconds from the start of a command to its end; of Node with nothing to do for null. */
function ended(words: readonly string[] | null, env: NodeJS.ProcessEnv): Promise<number> {
  const start = performance.now();
  const args = words === null ? ['-e', '0'] : [MAIN, ...words];
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - start);
      else reject(new Error(`mnemesh ${words?.join(' ')} ended with ${code}`));
    });
  });
}

/** Milliseconds from the start of an MCP server to its answer to `initialize`. */
async function handshake(env: NodeJS.ProcessEnv): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [MAIN, 'mcp'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const params = {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  const takenMs = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', () => resolve(performance.now() - start));
    child.once('exit', () => reject(new Error('the MCP server ended')));
  });
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end();
  await gone;
  return takenMs;
}

/** Waits until the daemon has a model in memory. */
async function embedderLoaded({ port }: ServerProcess): Promise<void> {
  const client = clientOf(port, 'ai:bench');
  const start = performance.now();
  for (;;) {
    const { embedder_loaded: isLoaded } = await client.call('memory_capabilities');
    if (isLoaded === true) return;
    if (performance.now() - start > EMBEDDER_WAIT_MS) throw new Error('the embedder did not load');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function memoryOf({ child }: ServerProcess): Memory {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const mebibytes = (field: string) =>
    Math.round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
  return { total_mib: mebibytes('VmRSS'), own_mib: mebibytes('RssAnon') };
}

function report(
  times: Readonly<Record<string, Times>>,
  vectors: FirstVectors,
  memory: Readonly<Record<string, Memory>>,
  rows: number,
): BenchResult {
  return {
    json: { rows, times, first_vector: vectors.json, memory },
    tables: [
      {
        title: 'From the start of the process, in milliseconds',
        columns: ['what', 'fastest', 'median'],
        rows: Object.entries(times).map(([name, { fastest_ms, median_ms }]) => [name, fastest_ms, median_ms]),
        notes: ['Goals: a command 150, initialize 300, serve with 100,000 rows 1000.'],
      },
      ...(vectors.json['node -e 0'] === undefined ? [] : [vectors.table]),
      {
        title: `Memory of the daemon with ${rows} rows, in MiB`,
        columns: ['when', 'resident', 'without mapped files'],
        rows: Object.entries(memory).map(([name, { total_mib, own_mib }]) => [name, total_mib, own_mib]),
        notes: ['Goals: 150 resident in keyword mode, 400 with the embedder, which unloads when idle.'],
      },
    ],
  };
}
