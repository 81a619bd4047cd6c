import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../node/config/settings.js';
import { commandCaller, localIdentity } from '../../node/identity/local-caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryGet } from '../../node/operations/core/memory-get.js';
import { memoryList } from '../../node/operations/core/memory-list.js';
import { memoryRecall } from '../../node/operations/core/memory-recall.js';
import { memorySearch } from '../../node/operations/core/memory-search.js';
import { memoryStore } from '../../node/operations/core/memory-store.js';
import { memoryForget } from '../../node/operations/lifecycle/memory-forget.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { NO_CATALOGUE, openInlineNode } from '../../node/runtime/inline-node.js';
import { openRunner } from '../../node/runtime/open-runner.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { VERSION } from '../../node/version.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { numberFlag } from '../sessions/number-flag.js';

/** The 95th percentile that a call may take, in milliseconds, on a node of its own in one process. */
const LIMITS_MS = { store: 50, recall: 100, search: 50, get: 20, list: 50 } as const;
type Measured = keyof typeof LIMITS_MS;

const OVER_PERCENT = 10;
const EXIT_SLOW = 1;
const WORDS =
  'release plan budget coffee server backup meeting garden window report river engine ticket music harbour lamp'.split(
    ' ',
  );

interface Figures {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
  readonly limit_ms: number;
  readonly over: boolean;
  /** Against the baseline; absent without one. */
  readonly change_percent?: number;
}

type Bench = Readonly<Record<Measured, Figures>>;

/** Measures a temporary node, or the one that runs, with a bounded load. */
export const benchCommand = defineCommand({
  name: 'bench',
  summary:
    'Measure stores, recalls, searches and reads on a temporary node or the running one, beside their limits; exit code 1 when one is too slow.',
  flags: [
    {
      ...{ name: 'running', kind: 'switch' },
      doc: 'Measure the node that serves the database, in a namespace of its own that is forgotten afterwards',
    },
    {
      name: 'iterations',
      kind: 'value',
      value: 'number',
      doc: 'Calls of each kind, 1 to 100000 (default 200)',
    },
    {
      name: 'warmup',
      kind: 'value',
      value: 'number',
      doc: 'Calls of each kind before, 0 to 10000 (default 20)',
    },
    {
      name: 'scale',
      kind: 'value',
      value: 'number',
      doc: 'Memories that are there before, 0 to 100000 (default 0)',
    },
    {
      ...{ name: 'baseline', kind: 'value', value: 'file', path: 'file' },
      doc: 'Answer of an earlier bench --json to compare with',
    },
    {
      name: 'regression-threshold',
      kind: 'value',
      value: 'percent',
      doc: 'Percent by which a call may be slower than the baseline (default 10)',
    },
    {
      ...{ name: 'history', kind: 'value', value: 'file', path: 'file' },
      doc: 'File to which the answer is added as a line of JSON',
    },
  ],
  examples: [
    'bench',
    'bench --running --iterations 50',
    'bench --iterations 50 --json > base.json',
    'bench --baseline base.json --regression-threshold 25',
  ],
  run: async (parsed, terminal) => {
    const options = optionsOf(parsed);
    if (!options.ok) return failed(options.error);
    const measured = await measure(parsed, options.value);
    if (!measured.ok) return failed(measured.error);
    const { baseline, threshold, ...load } = options.value;
    const calls = comparedWith(baseline, measured.value);
    const regressed = names(calls).filter((name) => (calls[name].change_percent ?? 0) > threshold);
    const slow = names(calls).filter((name) => calls[name].over);
    const answer = {
      version: VERSION,
      at: instantFromMs(systemClock.nowMs()),
      ...load,
      calls,
      slow,
      regressed,
    };
    const history = flagValue(parsed, 'history');
    if (history !== undefined) appendFileSync(history, `${JSON.stringify(answer)}\n`);
    await terminal.print(
      isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : textOf(calls, slow, regressed),
    );
    return ok(slow.length + regressed.length === 0 ? 0 : EXIT_SLOW);
  },
});

const names = (calls: object) => Object.keys(calls) as Measured[];

interface Options {
  readonly iterations: number;
  readonly warmup: number;
  readonly scale: number;
  /** The node that serves the database is measured. */
  readonly running: boolean;
  readonly baseline: Partial<Bench> | null;
  readonly threshold: number;
}

function optionsOf(parsed: ParsedArguments): Result<Options> {
  const iterations = numberFlag(parsed, 'iterations', { usual: 200, min: 1, max: 100_000 });
  if (!iterations.ok) return failed(iterations.error);
  const warmup = numberFlag(parsed, 'warmup', { usual: 20, min: 0, max: 10_000 });
  if (!warmup.ok) return failed(warmup.error);
  const scale = numberFlag(parsed, 'scale', { usual: 0, min: 0, max: 100_000 });
  if (!scale.ok) return failed(scale.error);
  const running = isSet(parsed, 'running');
  if (running && scale.value > 0) {
    return fail('VALIDATION_FAILED', '--scale fills a temporary node; leave it out with --running', {
      fields: ['scale'],
    });
  }
  const threshold = Number(flagValue(parsed, 'regression-threshold') ?? OVER_PERCENT);
  if (!(threshold >= 0)) {
    return fail('VALIDATION_FAILED', '--regression-threshold must be a percentage, 0 or more', {
      fields: ['regression_threshold'],
    });
  }
  const path = flagValue(parsed, 'baseline');
  const baseline = path === undefined ? ok(null) : baselineIn(path);
  if (!baseline.ok) return failed(baseline.error);
  const load = { iterations: iterations.value, warmup: warmup.value, scale: scale.value, running };
  return ok({ ...load, baseline: baseline.value, threshold });
}

function baselineIn(path: string): Result<Partial<Bench>> {
  try {
    const { calls } = JSON.parse(readFileSync(path, 'utf8')) as { calls?: Partial<Bench> };
    if (typeof calls === 'object') return ok(calls);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined) return fail('NOT_FOUND', `--baseline: ${path} cannot be read (${code})`);
  }
  return fail('VALIDATION_FAILED', `--baseline: ${path} is no answer of bench --json`, {
    fields: ['baseline'],
  });
}

const measure = (parsed: ParsedArguments, options: Options): Promise<Result<Bench>> =>
  options.running ? measureRunning(parsed, options) : measureTemporary(parsed, options);

/** Runs the load on the node that serves the database, and forgets what it stored. Those memories are short, so they expire where this process is ended before. */
async function measureRunning(parsed: ParsedArguments, options: Options): Promise<Result<Bench>> {
  const settings = settingsFor(parsed);
  const runner = openRunner(settings, () => openInlineNode(settings, 'cli', NO_CATALOGUE));
  const namespace = `bench/${systemRandom.uuid()}`;
  try {
    await runner.open();
    if (!runner.runsElsewhere) {
      const message = 'no node serves this database: start one with serve, or leave --running out';
      return fail('UNAVAILABLE', message);
    }
    const call = callsOf(runner, settings, flagValue(parsed, 'agent-id') ?? null);
    if (!call.ok) return failed(call.error);
    const measured = await load(call.value, namespace, options);
    const forgotten = await call.value(memoryForget, { namespace });
    return forgotten.ok ? measured : failed(forgotten.error);
  } finally {
    await runner.close();
  }
}

/** Runs the load in a home that is removed afterwards. */
async function measureTemporary(parsed: ParsedArguments, options: Options): Promise<Result<Bench>> {
  const home = mkdtempSync(join(tmpdir(), 'mnemesh-bench-'));
  const settings = settingsFor(parsed, { home, logLevel: 'error' });
  const own: Settings = {
    ...settings,
    ...{ home, dbPath: join(home, 'bench.db'), keyDir: join(home, 'keys'), storeUrl: null, auditLog: false },
    ...{ maxMemoriesPerDay: 1_000_000_000, nearDuplicate: 'off' },
  };
  const runner = openRunner(own, () => openInlineNode(own, 'cli', NO_CATALOGUE));
  try {
    const call = callsOf(runner, own, null);
    return call.ok ? await load(call.value, 'bench', options) : failed(call.error);
  } finally {
    await runner.close();
    rmSync(home, { recursive: true, force: true });
  }
}

type Run = (operation: Operation, input: Readonly<Record<string, unknown>>) => Promise<Result<unknown>>;

/** How the load calls operations, and as whom. */
function callsOf(runner: LocalRunner, settings: Settings, agentId: string | null): Result<Run> {
  const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom);
  const caller = commandCaller(identity, agentId);
  if (!caller.ok) return failed(caller.error);
  const request = { surface: 'cli', caller: caller.value, unknownFields: 'refuse' } as const;
  return ok(async (operation, input) => {
    const answer = await runner.run(operation, { ...request, input });
    return answer.ok ? ok(answer.value) : failed(answer.error);
  });
}

async function load(
  call: Run,
  namespace: string,
  { iterations, warmup, scale, running }: Options,
): Promise<Result<Bench>> {
  let last = '';
  const store = async (number: number) => {
    const note = { title: `note ${number}`, content: phrase(number), namespace };
    const stored = await call(memoryStore, running ? { ...note, tier: 'short' } : note);
    if (stored.ok) last = (stored.value as { readonly id: string }).id;
    return stored;
  };
  for (let number = 0; number < scale; number += 1) {
    const filled = await store(number);
    if (!filled.ok) return failed(filled.error);
  }
  const kinds: Readonly<Record<Measured, (number: number) => Promise<Result<unknown>>>> = {
    store: (number) => store(scale + number),
    recall: (number) => call(memoryRecall, { context: phrase(number), namespace }),
    search: (number) => call(memorySearch, { query: WORDS[number % WORDS.length], namespace }),
    get: () => call(memoryGet, { id: last }),
    list: () => call(memoryList, { namespace }),
  };
  const figures: Partial<Record<Measured, Figures>> = {};
  for (const name of names(kinds)) {
    const times = await timesOf(kinds[name], iterations, warmup);
    if (!times.ok) return failed(times.error);
    figures[name] = figuresOf(times.value, LIMITS_MS[name]);
  }
  return ok(figures as Bench);
}

async function timesOf(
  run: (number: number) => Promise<Result<unknown>>,
  iterations: number,
  warmup: number,
): Promise<Result<readonly number[]>> {
  const times: number[] = [];
  for (let number = 0; number < warmup + iterations; number += 1) {
    const beganMs = systemClock.monotonicMs();
    const done = await run(number);
    if (!done.ok) return failed(done.error);
    if (number >= warmup) times.push(systemClock.monotonicMs() - beganMs);
  }
  return ok(times);
}

function figuresOf(times: readonly number[], limit: number): Figures {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
  const p95 = at(0.95);
  return {
    p50_ms: at(0.5),
    p95_ms: p95,
    max_ms: at(1),
    limit_ms: limit,
    over: p95 > limit * (1 + OVER_PERCENT / 100),
  };
}

const rounded = (ms: number) => Math.round(ms * 100) / 100;

function comparedWith(baseline: Partial<Bench> | null, calls: Bench): Bench {
  return Object.fromEntries(
    names(calls).map((name) => {
      const before = baseline?.[name]?.p95_ms;
      const change =
        before === undefined || !(before > 0)
          ? {}
          : { change_percent: rounded((calls[name].p95_ms / before - 1) * 100) };
      return [name, { ...calls[name], ...change }];
    }),
  ) as unknown as Bench;
}

/** Words that differ from call to call, always the same for a number. */
const phrase = (number: number) =>
  Array.from(
    { length: 12 },
    (_, index) => WORDS[(number * 7 + index * index * ((number % 5) + 1)) % WORDS.length],
  ).join(' ');

function textOf(calls: Bench, slow: readonly string[], regressed: readonly string[]): string {
  const row = (cells: readonly (string | number)[]) =>
    `${cells.map((cell) => String(cell).padStart(9)).join('')}\n`;
  const lines = names(calls).map((name) => {
    const { p50_ms, p95_ms, max_ms, limit_ms, change_percent } = calls[name];
    return row([
      name,
      p50_ms,
      p95_ms,
      max_ms,
      limit_ms,
      change_percent === undefined ? '' : `${change_percent} %`,
    ]);
  });
  const verdict = [
    ...(slow.length === 0 ? [] : [`above the limit: ${slow.join(', ')}\n`]),
    ...(regressed.length === 0 ? [] : [`slower than the baseline: ${regressed.join(', ')}\n`]),
  ];
  return [row(['ms', 'p50', 'p95', 'max', 'limit', 'change']), ...lines, ...verdict].join('');
}
