import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from './options.js';
import type { Progress } from './progress.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';

/** What is compared where no benchmark is named: one client and many, agents, and the start. */
export const COMPARED: readonly string[] = ['start', 'store', 'recall', 'agents'];

const THIS = fileURLToPath(new URL('./main.js', import.meta.url));

export interface Comparison {
  /** The project with another build. */
  readonly folder: string;
  readonly benches: readonly string[];
  readonly pairs: number;
  /** Options for the benchmarks of both. */
  readonly options: readonly string[];
}

/** Figures of a run by their place in its document. */
export type Figures = ReadonlyMap<string, number>;

/** One figure in all pairs. */
export interface Compared {
  readonly figure: string;
  /** The middle one of each side. */
  readonly other: number;
  readonly present: number;
  /** This build by the other, in the middle pair and in the least and the most. */
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
}

/** Runs the benchmarks of two builds in turn, the first one first in every other pair, and answers their ratios. */
export async function compareBuilds(
  { folder, benches, pairs, options }: Comparison,
  progress: Progress,
  signal: AbortSignal,
): Promise<BenchResult> {
  const other = join(resolve(folder), 'dist/test/bench/main.js');
  if (!existsSync(other))
    throw new UsageError(`${folder} holds no build with benchmarks; run "npm run build" there`);
  const compared: [string, readonly Compared[]][] = [];
  for (const bench of benches) {
    const runs: { other: Figures; present: Figures }[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      progress.step(`compare: ${bench}, pair ${pair + 1} of ${pairs}`);
      const run = (main: string) => figuresOf(main, [bench, ...options], signal);
      if (pair % 2 === 0) runs.push({ other: await run(other), present: await run(THIS) });
      else {
        const present = await run(THIS);
        runs.push({ other: await run(other), present });
      }
    }
    compared.push([bench, comparedFigures(runs)]);
  }
  return report(folder, pairs, compared);
}

async function figuresOf(main: string, args: readonly string[], signal: AbortSignal): Promise<Figures> {
  const child = spawn(process.execPath, [main, ...args, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
  // A benchmark ends what it started when it is asked to end.
  const end = () => child.kill('SIGTERM');
  signal.addEventListener('abort', end);
  let out = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    said = (said + part).slice(-2000);
  });
  const code = await new Promise((done) => child.once('close', done));
  signal.removeEventListener('abort', end);
  if (code !== 0) throw new Error(`${main} ${args.join(' ')} ended with ${code}:\n${said}`);
  return numbersOf(JSON.parse(out));
}

/** The numbers of a document; an element of a list is named by its texts, and by its place where it has none. */
export function numbersOf(document: unknown): Figures {
  const found = new Map<string, number>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'number' && Number.isFinite(value)) found.set(path, value);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      const name = Array.isArray(value) ? `[${nameOf(member) ?? key}]` : key;
      let place = path === '' ? name : `${path}${Array.isArray(value) ? ' ' : ' / '}${name}`;
      if (found.has(place)) place = `${place} ${key}`;
      visit(member, place);
    }
  };
  visit(document, '');
  return found;
}

/** What tells a row of figures from the others. */
function nameOf(element: unknown): string | null {
  if (typeof element !== 'object' || element === null) return null;
  const telling = Object.entries(element).filter(
    ([key, value]) => typeof value === 'string' || /^(clients|nodes|rows|servers|processes)$/.test(key),
  );
  if (telling.length === 0) return null;
  return telling.map(([key, value]) => (typeof value === 'string' ? value : `${key} ${value}`)).join(', ');
}

/** The figures that both sides have in every pair; what never changes is no figure. */
export function comparedFigures(
  runs: readonly { readonly other: Figures; readonly present: Figures }[],
): readonly Compared[] {
  const names = [...(runs[0]?.present.keys() ?? [])].filter((name) =>
    runs.every(({ other, present }) => other.has(name) && present.has(name)),
  );
  return names.flatMap((figure) => {
    const others = runs.map(({ other }) => other.get(figure)!);
    const here = runs.map(({ present }) => present.get(figure)!);
    const isConstant = new Set([...others, ...here]).size === 1;
    if (isConstant || others.some((value) => value === 0)) return [];
    const ratios = here.map((value, pair) => value / others[pair]!);
    return [
      {
        ...{ figure, other: median(others), present: median(here), ratio: median(ratios) },
        ...{ least: Math.min(...ratios), most: Math.max(...ratios) },
      },
    ];
  });
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function report(
  folder: string,
  pairs: number,
  compared: readonly (readonly [bench: string, figures: readonly Compared[]])[],
): BenchResult {
  return {
    tables: compared.map(([bench, figures]) => ({
      title: `${bench}: this build beside ${folder}`,
      columns: ['figure', 'the other', 'this', 'this / other', 'least', 'most'],
      rows: figures.map(({ figure, other, present, ratio, least, most }) => [
        ...[figure, other, present],
        ...[ratio, least, most].map((each) => rounded(each, 3)),
      ]),
      notes: [
        `${pairs} pairs in turn; the figures are the middle ones, and the ratio is that of the middle pair`,
        'the limits that a run measures stand among its figures: where they move too, the machine moved',
      ],
    })),
    json: Object.fromEntries(compared),
  };
}
