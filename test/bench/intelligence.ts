import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchContext } from './bench.js';
import { syncsPerSecond } from './limits.js';
import { failures, figuresOf, LoadGenerator, storing } from './load.js';
import type { LoadFigures } from './load-plan.js';
import type { BenchResult } from './report.js';
import { type ServerProcess, startDaemonProcess } from './servers.js';
import { interpolated, type Percentiles, percentiles, rounded } from './statistics.js';
import type { Workspace } from './workspace.js';

const NAMESPACE = 'bench/intelligence';
const CLIENTS = [1, 8];
const ROUNDS = 3;
/** How long tags are counted. */
const TAGS_MS = 5000;

/** What stores cost beside a chat model, and what a question costs beside the model itself. */
export const intelligenceBench: Bench = {
  name: 'intelligence',
  summary:
    'Stores without a chat model, with one, while it is asked, and tagged by it; questions beside the bare model.',
  usage: '[--clients 1,8] [--seconds 4] [--iterations 200]',
  run: runIntelligence,
};

/** A node under load, and whether its model is asked meanwhile. */
interface Side {
  readonly label: string;
  readonly daemon: ServerProcess;
  readonly asks: boolean;
}

interface Row {
  readonly label: string;
  readonly clients: number;
  /** One for each round; the rounds of the sides alternate. */
  readonly figures: readonly LoadFigures[];
}

async function runIntelligence({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const load = LoadGenerator.start(workspace);
  const model = await startModel(workspace);
  const asked = { SVC_LLM_BACKEND: 'local-native', SVC_LLM_BASE_URL: model, SVC_LLM_MODEL: 'scripted' };
  const homes = [workspace.folder(), workspace.folder(), workspace.folder()] as const;
  const bare = await startDaemonProcess(workspace, homes[0], {}, options.cpuProf);
  const smart = await startDaemonProcess(workspace, homes[1], asked, options.cpuProf);
  const sides: readonly Side[] = [
    { label: 'no chat model', daemon: bare, asks: false },
    { label: 'a chat model, not asked', daemon: smart, asks: false },
    { label: 'a chat model, asked by one client', daemon: smart, asks: true },
  ];
  const context = { options, progress, load };
  const rows = await measured(context, sides);
  progress.step('intelligence: questions');
  const samples = options.quick ? 20 : (options.iterations ?? 200);
  const questions = {
    bare: await timed(samples, () => askModel(model)),
    asked: await timed(samples, () => askTags(smart.port)),
  };
  for (const daemon of [bare, smart]) await daemon.stop();
  // Alone, as the jobs go on when the load has ended.
  const tagging = { ...asked, SVC_AUTONOMOUS_HOOKS: '1' };
  const tagger = await startDaemonProcess(workspace, homes[2], tagging, options.cpuProf);
  const label = 'a chat model, each memory tagged (SVC_AUTONOMOUS_HOOKS=1)';
  rows.push(...(await measured(context, [{ label, daemon: tagger, asks: false }])));
  progress.step('intelligence: tags');
  const tags = await tagsPerSecond(tagger.port, options.quick ? 500 : TAGS_MS);
  await tagger.stop();
  await load.stop();
  const syncs = syncsPerSecond(homes[0], options.quick ? 200 : 1000);
  return report(rows, { ...questions, tags }, syncs);
}

type Measuring = Pick<BenchContext, 'options' | 'progress'> & { readonly load: LoadGenerator };

/** Stores at each side, in rounds that alternate. */
async function measured({ options, progress, load }: Measuring, sides: readonly Side[]): Promise<Row[]> {
  const durationMs = (options.seconds ?? (options.quick ? 0.5 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 100 : 1000, durationMs };
  const rows: Row[] = [];
  for (const clients of options.clients ?? CLIENTS) {
    const figures = sides.map((): LoadFigures[] => []);
    for (let round = 1; round <= (options.quick ? 1 : ROUNDS); round += 1) {
      progress.step(`intelligence: ${clients} clients, round ${round}`);
      for (const [index, { daemon, asks }] of sides.entries()) {
        const asking = asks ? ask(daemon.port) : null;
        const value = await load.run(daemon.port, times, [storing(clients, NAMESPACE)]);
        await asking?.end();
        figures[index]!.push(figuresOf(value, 'store'));
      }
    }
    for (const [index, { label }] of sides.entries()) rows.push({ label, clients, figures: figures[index]! });
  }
  return rows;
}

/** How many memories a node tags in a second while jobs wait and nothing else goes on. */
async function tagsPerSecond(port: number, durationMs: number): Promise<number> {
  const done = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^svc_job_runs_total\{type="auto_tag",outcome="done"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const [start, before] = [performance.now(), await done()];
  await new Promise((resume) => setTimeout(resume, durationMs));
  return ((await done()) - before) / ((performance.now() - start) / 1000);
}

/** The address of the model. */
async function startModel(workspace: Workspace): Promise<string> {
  const entry = fileURLToPath(new URL('./model-process.js', import.meta.url));
  const child = workspace.adopt(fork(entry, [], { execArgv: [] }));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('exit', () => reject(new Error('the model did not start')));
  });
  return `http://127.0.0.1:${port}`;
}

async function post(url: string, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:bench' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${text}`);
}

const askTags = (port: number) =>
  post(`http://127.0.0.1:${port}/api/v1/auto_tag`, { title: 'Deploy window', content: 'Sundays at two' });

const askModel = (url: string) =>
  post(`${url}/api/chat`, { model: 'scripted', messages: [{ role: 'user', content: 'x' }], stream: false });

/** One client that asks for tags again and again, until it is ended. */
function ask(port: number): { end(): Promise<void> } {
  let isEnded = false;
  const asking = (async () => {
    while (!isEnded) await askTags(port);
  })();
  return {
    end: () => {
      isEnded = true;
      return asking;
    },
  };
}

async function timed(samples: number, act: () => Promise<void>): Promise<Percentiles> {
  for (let warmUp = 0; warmUp < 5; warmUp += 1) await act();
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const start = performance.now();
    await act();
    times.push(performance.now() - start);
  }
  return percentiles(times, interpolated);
}

interface Questions {
  readonly bare: Percentiles;
  readonly asked: Percentiles;
  /** Memories that jobs tagged in a second. */
  readonly tags: number;
}

/** The round in the middle; other work on the machine makes single rounds wrong. */
const middle = (figures: readonly LoadFigures[], of: 'perSecond' | 'p50' | 'p99'): number =>
  figures.map((round) => round[of]).sort((a, b) => a - b)[Math.floor(figures.length / 2)]!;

function report(rows: readonly Row[], { bare, asked, tags }: Questions, syncs: number): BenchResult {
  return {
    tables: [
      {
        title: 'intelligence: POST /memories, synchronous=FULL, keyword mode; the middle of the rounds',
        columns: ['node', 'clients', 'stores/s', 'p50 ms', 'p99 ms', 'failed'],
        rows: rows.map(({ label, clients, figures }) => [
          ...[label, clients, Math.round(middle(figures, 'perSecond'))],
          ...[middle(figures, 'p50'), middle(figures, 'p99'), failures(figures[0]!)],
        ]),
        notes: [`the disk takes ${Math.round(syncs)} appends with a sync per second`],
      },
      {
        title: 'intelligence: one question after the other',
        columns: ['asked', 'p50 ms', 'p95 ms'],
        rows: [
          ['POST /auto_tag', asked.p50, asked.p95],
          ['limit: the model itself', bare.p50, bare.p95],
        ],
        notes: [
          'a question is two commits: it is counted before it is sent, and with its outcome',
          `jobs tag ${Math.round(tags)} memories per second; the model answers ${Math.round(1000 / bare.p50)} questions one after the other`,
        ],
      },
    ],
    json: {
      syncs_per_second: Math.round(syncs),
      stores: rows.map(({ label, clients, figures }) => ({
        ...{ label, clients, per_second: rounded(middle(figures, 'perSecond'), 1) },
        ...{ p50_ms: rounded(middle(figures, 'p50'), 3), p99_ms: rounded(middle(figures, 'p99'), 3) },
      })),
      tags_per_second: rounded(tags, 1),
      questions: { asked_p50_ms: rounded(asked.p50, 3), model_p50_ms: rounded(bare.p50, 3) },
    },
  };
}
