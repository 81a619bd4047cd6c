import { MUTANTS } from './mutants.js';
import type { SimOptions } from './options.js';
import { plainMesh } from './plain-mesh.js';
import { product } from './product.js';
import { type Outcome, runScenario } from './scenario.js';

/** What a seed is run with, as it crosses to a thread. */
export type SeedOptions = Pick<SimOptions, 'mutant' | 'faults' | 'nodes' | 'twice' | 'plain'>;

export interface SeedReport {
  readonly outcome: Outcome;
  readonly cpuMs: number;
}

/** Runs one seed of the product. Only one at a time in a thread: a rejection that nobody handles is the seed's. */
export async function runSeed(seed: number, options: SeedOptions, keepNotes: boolean): Promise<SeedReport> {
  const mutant = options.mutant === null ? null : MUTANTS.find(({ name }) => name === options.mutant)!;
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', listen);
  const began = process.cpuUsage();
  const run = () =>
    runScenario({
      seed,
      join: options.plain ? plainMesh : product,
      mutant,
      keepNotes,
      ...(options.faults === null ? {} : { faults: options.faults }),
      ...(options.nodes === null ? {} : { nodes: options.nodes }),
    });
  try {
    const outcome = await run();
    const violations = [...outcome.violations];
    if (options.twice) {
      const again = await run();
      if (again.digest !== outcome.digest)
        violations.push(failure('digest', `${outcome.digest} ${again.digest}`));
    }
    await new Promise((resolve) => setImmediate(resolve));
    for (const reason of unhandled) violations.push(failure('unhandled rejection', textOf(reason)));
    const used = process.cpuUsage(began);
    return { outcome: { ...outcome, violations }, cpuMs: (used.user + used.system) / 1000 };
  } finally {
    process.off('unhandledRejection', listen);
  }
}

const failure = (check: string, message: string) => ({ atMs: 0, place: null, check, message });

const textOf = (reason: unknown): string =>
  reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
