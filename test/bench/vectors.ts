import { pathToFileURL } from 'node:url';
import { BuiltinEmbedder } from '../../node/semantics/encoder/builtin-embedder.js';
import { VectorIndex } from '../../storage/vectors/vector-index.js';
import { webAssembly } from '../../storage/vectors/web-assembly.js';
import { assemble } from '../storage/vectors/kernel-source.js';
import { generator, randomVectors } from '../storage/vectors/random-vectors.js';
import { realClock, realScheduler, recordingLog } from '../storage/vectors/real-seams.js';

const DIM = 512;
const NAMESPACES = 50;
const OWNERS = 8;

/** What to measure. */
export interface VectorBenchOptions {
  /** Sizes of the index, in rows. */
  readonly rows?: readonly number[];
  /** Searches for each figure. */
  readonly queries?: number;
  /** Also measure the built-in embedder. */
  readonly embedder?: boolean;
  /** Where lines go as they are known. */
  readonly print?: (line: string) => void;
}

/** Searches of one kind on one index. */
export interface SearchFigure {
  readonly name: string;
  readonly rows: number;
  readonly scanned: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Time to read the scanned rows' bytes once, at the rate of a plain sequential read of the same memory. */
  readonly limitMs: number;
}

export interface VectorBenchResult {
  readonly loads: readonly { readonly rows: number; readonly ms: number; readonly rssMiB: number }[];
  readonly searches: readonly SearchFigure[];
  readonly embedder: Readonly<Record<string, number>> | null;
}

const READER = `(module
  (import "env" "memory" (memory 1 65536))
  (func (export "read") (param $at i32) (param $end i32) (result i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (loop $next
      (local.set $a (v128.xor (local.get $a) (v128.load (local.get $at))))
      (local.set $b (v128.xor (local.get $b) (v128.load offset=16 (local.get $at))))
      (local.set $c (v128.xor (local.get $c) (v128.load offset=32 (local.get $at))))
      (local.set $d (v128.xor (local.get $d) (v128.load offset=48 (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (i32x4.extract_lane 0
      (v128.xor (v128.xor (local.get $a) (local.get $b)) (v128.xor (local.get $c) (local.get $d))))))`;

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

function timesOf(count: number, act: (turn: number) => void): number[] {
  const times: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const start = performance.now();
    act(turn);
    times.push(performance.now() - start);
  }
  return times.sort((left, right) => left - right);
}

const rssMiB = () => Math.round(process.memoryUsage.rss() / 2 ** 20);

/** Made rows: sums of two of 2,000 random directions, one in ten private, spread over the namespaces by turns. */
function fill(index: VectorIndex, rows: number): void {
  const random = generator(7);
  const pool = randomVectors(2000, DIM, random);
  const vectors = new Float32Array(DIM);
  for (let rid = 1; rid <= rows; rid += 1) {
    const one = Math.floor(random() * 2000) * DIM;
    const two = Math.floor(random() * 2000) * DIM;
    const share = random();
    for (let at = 0; at < DIM; at += 1) vectors[at] = pool[one + at]! + share * pool[two + at]!;
    const firstOwner = rid % 10 === 0 ? 1 + (rid % OWNERS) : 0;
    const outcome = index.put({ rid, nsId: rid % NAMESPACES, firstOwner, secondOwner: 0, vectors });
    if (!outcome.ok) throw new Error(outcome.error.message);
  }
}

async function readRate(index: VectorIndex): Promise<number> {
  const module = new webAssembly.Module(await assemble('reader.wat', READER));
  const { memory } = index;
  const { read } = new webAssembly.Instance(module, { env: { memory } }).exports as {
    read(from: number, to: number): number;
  };
  const bytes = memory.buffer.byteLength - 65_536;
  return (
    bytes /
    quantile(
      timesOf(30, () => read(65_536, 65_536 + bytes)),
      0.5,
    )
  );
}

async function searchFigures(rows: number, queries: number, print: (line: string) => void) {
  const index = new VectorIndex(DIM);
  const start = performance.now();
  fill(index, rows);
  const load = { rows, ms: Math.round(performance.now() - start), rssMiB: rssMiB() };
  print(`${rows} rows x ${DIM}: made and inserted in ${load.ms} ms, ${load.rssMiB} MiB resident`);
  const bytesPerMs = await readRate(index);
  print(`  plain sequential read of the same memory: ${(bytesPerMs / 1e6).toFixed(1)} GB/s`);
  const random = generator(23);
  const vectors = randomVectors(queries, DIM, random);
  const namespaces = Array.from({ length: NAMESPACES }, (_, nsId) => nsId);
  const kinds: [string, number[] | null, number[] | null][] = [
    ['all rows, sees all', null, null],
    ['all rows, one owner', null, [3]],
    ['25 namespaces, one owner', namespaces.slice(0, 25), [3]],
    ['3 namespaces, one owner', [4, 11, 30], [3]],
    ['1 namespace, one owner', [17], [3]],
  ];
  const searches: SearchFigure[] = [];
  for (const [name, nsIds, ownerSlots] of kinds) {
    let scanned = 0;
    const search = (turn: number) => {
      const queryVector = vectors.subarray(turn * DIM, (turn + 1) * DIM);
      scanned = index.search({ queryVector, nsIds, ownerSlots, k: 10 }).scanned;
    };
    for (let turn = 0; turn < 5; turn += 1) search(turn);
    const times = timesOf(queries, search);
    // Rows hidden from the viewer stand in the blocks that are read.
    const limitMs = ((nsIds?.length ?? NAMESPACES) * (rows / NAMESPACES) * (DIM + 12)) / bytesPerMs;
    const figure = {
      name,
      rows,
      scanned,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      limitMs,
    };
    searches.push(figure);
    print(
      `  ${name.padEnd(26)} p50 ${figure.p50Ms.toFixed(2)} ms  p99 ${figure.p99Ms.toFixed(2)} ms  ` +
        `limit ${limitMs.toFixed(2)} ms  scanned ${scanned}`,
    );
  }
  return { load, searches };
}

async function embedderFigures(print: (line: string) => void): Promise<Record<string, number>> {
  const random = generator(31);
  const vocabulary =
    'the a server memory agent quick red deploys fails restarts tomorrow cluster report key of and'.split(
      ' ',
    );
  const text = (words: number) =>
    Array.from({ length: words }, () => vocabulary[Math.floor(random() * vocabulary.length)]).join(' ');
  const before = rssMiB();
  const embedder = new BuiltinEmbedder({ clock: realClock, scheduler: realScheduler, log: recordingLog() });
  const timed = async (act: () => Promise<{ ok: boolean }>): Promise<number> => {
    const start = performance.now();
    if (!(await act()).ok) throw new Error('the embedder failed');
    return performance.now() - start;
  };
  const far = () => performance.now() + 600_000;
  const figures: Record<string, number> = { firstTextMs: await timed(() => embedder.embed(['warm up'])) };
  const queries: number[] = [];
  for (let turn = 0; turn < 60; turn += 1) {
    queries.push(await timed(() => embedder.embedQuery(text(10), far())));
  }
  queries.sort((left, right) => left - right);
  figures.query10WordsP50Ms = quantile(queries, 0.5);
  figures.query10WordsP99Ms = quantile(queries, 0.99);
  for (const [words, count] of [
    [20, 160],
    [90, 40],
  ] as const) {
    const texts = Array.from({ length: count }, () => text(words));
    figures[`texts${words}WordsPerSecond`] = (count / (await timed(() => embedder.embed(texts)))) * 1000;
  }
  const background = embedder.embed(Array.from({ length: 60 }, (_, at) => text(at % 2 === 0 ? 90 : 20)));
  const overtaking: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    overtaking.push(await timed(() => embedder.embedQuery(text(10), far())));
  }
  overtaking.sort((left, right) => left - right);
  figures.queryAmongBackgroundP50Ms = quantile(overtaking, 0.5);
  figures.queryAmongBackgroundMaxMs = overtaking.at(-1)!;
  figures.residentMiBLoaded = rssMiB() - before;
  await background;
  await embedder.close();
  for (const [name, value] of Object.entries(figures)) print(`  ${name.padEnd(26)} ${value.toFixed(1)}`);
  return figures;
}

/** Vector search on made rows beside the memory's own speed, and the built-in embedder. */
export async function run(options: VectorBenchOptions = {}): Promise<VectorBenchResult> {
  const print = options.print ?? console.log;
  const loads: { rows: number; ms: number; rssMiB: number }[] = [];
  const searches: SearchFigure[] = [];
  let embedder: Record<string, number> | null = null;
  if (options.embedder ?? true) {
    print('built-in embedder:');
    embedder = await embedderFigures(print);
  }
  for (const rows of options.rows ?? [100_000, 1_000_000]) {
    const figures = await searchFigures(rows, options.queries ?? 100, print);
    loads.push(figures.load);
    searches.push(...figures.searches);
  }
  return { loads, searches, embedder };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
