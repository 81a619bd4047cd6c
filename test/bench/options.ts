import { parseArgs } from 'node:util';

/** The command line cannot be used; the message says why. */
export class UsageError extends Error {}

/** Which benchmarks to run and how; the same options go to all of them. */
export interface BenchOptions {
  /** One JSON document on standard output, nothing else anywhere. */
  readonly json: boolean;
  /** Seconds instead of tens of seconds: for CI, which looks at the output and at no threshold. */
  readonly quick: boolean;
  /** Without embeddings. */
  readonly keyword: boolean;
  /** Stores carry the signature of their agent, and the daemon requires it. */
  readonly signed: boolean;
  /** Ordinary notes instead of rows that share all words. */
  readonly notes: boolean;
  /** Sizes of corpora; null for each benchmark's own. */
  readonly rows: readonly number[] | null;
  /** Clients at a time; null for each benchmark's own. */
  readonly clients: readonly number[] | null;
  /** Sizes of meshes; null for the benchmark's own. */
  readonly nodes: readonly number[] | null;
  /** Length of one measurement; null for each benchmark's own. */
  readonly seconds: number | null;
  readonly iterations: number;
  readonly warmup: number;
  /** Rows that are there before the steps of `inprocess` begin. */
  readonly scale: number;
  /** Retrieval tasks. */
  readonly tasks: readonly ('session' | 'turn')[];
  /** At most this many questions of each conversation. */
  readonly questionsMax: number | null;
  /** Built databases are kept here and used again. */
  readonly dbCache: string | null;
  /** Parent of the temporary folders; decides which disk is measured. */
  readonly folder: string | null;
  /** The address of a server of PostgreSQL on which databases may be made; null for files of SQLite. */
  readonly storeUrl: string | null;
  /** Profiles of daemons and MCP servers are written here. */
  readonly cpuProf: string | null;
  /** Writes what a benchmark fitted into the source. */
  readonly write: boolean;
  /** Runs of each build that `compare` makes. */
  readonly pairs: number;
}

/** A benchmark by name, with the arguments that followed it. */
export interface Chosen {
  readonly name: string;
  readonly args: readonly string[];
}

const COUNT = /^\d{1,9}$/;

function count(flag: string, text: string): number {
  if (!COUNT.test(text)) throw new UsageError(`--${flag} takes whole numbers, not "${text}"`);
  return Number(text);
}

function pairsOf(text: string): number {
  const pairs = count('pairs', text);
  if (pairs === 0) throw new UsageError('--pairs takes 1 or more');
  return pairs;
}

const counts = (flag: string, text: string | undefined) =>
  text === undefined ? null : text.split(',').map((part) => count(flag, part));

/** Reads the command line. Positionals that name no benchmark are arguments of the one before them. */
export function parseOptions(
  argv: readonly string[],
  names: ReadonlySet<string>,
): { chosen: Chosen[]; options: BenchOptions } {
  const { values, positionals } = parse(argv);
  const chosen: { name: string; args: string[] }[] = [];
  for (const word of positionals) {
    if (names.has(word)) chosen.push({ name: word, args: [] });
    else if (chosen.length > 0) chosen.at(-1)!.args.push(word);
    else throw new UsageError(`there is no benchmark "${word}"; there are ${[...names].join(', ')}`);
  }
  const tasks = (values.tasks ?? 'session,turn').split(',');
  for (const task of tasks) {
    if (task !== 'session' && task !== 'turn') throw new UsageError(`--tasks takes session, turn or both`);
  }
  return {
    chosen,
    options: {
      json: values.json ?? false,
      quick: values.quick ?? false,
      keyword: values.keyword ?? false,
      signed: values.signed ?? false,
      notes: values.notes ?? false,
      rows: counts('rows', values.rows),
      clients: counts('clients', values.clients),
      nodes: counts('nodes', values.nodes),
      seconds: values.seconds === undefined ? null : count('seconds', values.seconds),
      iterations: count('iterations', values.iterations ?? '200'),
      warmup: count('warmup', values.warmup ?? '20'),
      scale: count('scale', values.scale ?? '0'),
      tasks: tasks as ('session' | 'turn')[],
      questionsMax: values.questions === undefined ? null : count('questions', values.questions),
      dbCache: values['db-cache'] ?? null,
      folder: values.folder ?? null,
      storeUrl: values['store-url'] ?? null,
      cpuProf: values['cpu-prof'] ?? null,
      write: values.write ?? false,
      pairs: pairsOf(values.pairs ?? '3'),
    },
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        quick: { type: 'boolean' },
        keyword: { type: 'boolean' },
        signed: { type: 'boolean' },
        notes: { type: 'boolean' },
        rows: { type: 'string' },
        clients: { type: 'string' },
        nodes: { type: 'string' },
        seconds: { type: 'string' },
        iterations: { type: 'string' },
        warmup: { type: 'string' },
        scale: { type: 'string' },
        tasks: { type: 'string' },
        questions: { type: 'string' },
        'db-cache': { type: 'string' },
        folder: { type: 'string' },
        'store-url': { type: 'string' },
        'cpu-prof': { type: 'string' },
        write: { type: 'boolean' },
        pairs: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
