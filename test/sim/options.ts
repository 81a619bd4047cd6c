import { parseArgs } from 'node:util';
import { FAULTS, type Fault } from './faults.js';

/** What `npm run sim` was asked for. */
export interface SimOptions {
  readonly first: number;
  readonly last: number;
  readonly workers: number;
  readonly mutant: string | null;
  readonly trace: boolean;
  readonly faults: readonly Fault[] | null;
  readonly nodes: number | null;
  /** Runs each seed twice and compares the digests. */
  readonly twice: boolean;
  /** The simulator's own replication instead of the product's. */
  readonly plain: boolean;
}

export const USAGE = `usage: npm run sim -- [--seed N | --seeds A..B] [options]
  --seed N        one seed; its trace is printed when it fails
  --seeds A..B    all of these, on several threads; failing ones go to fixtures/seeds.txt
  --workers N     threads (2)
  --trace         print the whole trace
  --twice         run each seed twice and compare the digests
  --faults a,b    these faults instead of the seed's choice (${FAULTS.join(', ')}; none)
  --nodes N       so many nodes instead of the seed's choice
  --mutant NAME   with a planted bug
  --plain         the simulator's own replication instead of the product's`;

/** Reads the command line; null when it cannot be understood. */
export function readOptions(args: readonly string[]): SimOptions | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        workers: { type: 'string', default: '2' },
        mutant: { type: 'string' },
        trace: { type: 'boolean', default: false },
        twice: { type: 'boolean', default: false },
        faults: { type: 'string' },
        nodes: { type: 'string' },
        plain: { type: 'boolean', default: false },
      },
    });
    const range = (values.seeds ?? `${values.seed ?? '1'}..${values.seed ?? '1'}`).split('..').map(Number);
    const [first, last] = range;
    const workers = Number(values.workers);
    const nodes = values.nodes === undefined ? null : Number(values.nodes);
    const faults = values.faults?.split(',').filter((name) => name !== 'none') ?? null;
    const known: readonly string[] = FAULTS;
    if (faults?.some((name) => !known.includes(name)) === true) return null;
    const whole = [first, last, workers, nodes ?? 1].every((each) => Number.isSafeInteger(each));
    if (!whole || range.length !== 2 || workers < 1) return null;
    return {
      first: first!,
      last: last!,
      workers,
      mutant: values.mutant ?? null,
      trace: values.trace,
      twice: values.twice,
      faults: faults as Fault[] | null,
      nodes,
      plain: values.plain,
    };
  } catch {
    return null;
  }
}
