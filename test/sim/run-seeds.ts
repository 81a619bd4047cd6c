import { Worker } from 'node:worker_threads';
import { runSeed, type SeedOptions, type SeedReport } from './run-seed.js';

/** The whole numbers from one to another. */
export const seedsFrom = (first: number, last: number): readonly number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);

interface Runner {
  run(seed: number): Promise<SeedReport>;
  end(): Promise<unknown>;
}

function inAThread(options: SeedOptions): Runner {
  const thread = new Worker(new URL('./seed-thread.js', import.meta.url));
  return { run: (seed) => ask(thread, seed, options), end: () => thread.terminate() };
}

const here = (options: SeedOptions): Runner => ({
  run: (seed) => runSeed(seed, options, false),
  end: () => Promise.resolve(),
});

/**
 * Runs seeds on several threads, or in this one; calls back for each in the order of the list. Stops early when told to.
 */
export async function runSeeds(
  seeds: readonly number[],
  workers: number,
  options: SeedOptions,
  onReport: (report: SeedReport) => 'go on' | 'enough',
): Promise<void> {
  const done = new Map<number, SeedReport>();
  let next = 0;
  let shown = 0;
  let enough = false;
  const work = async (): Promise<void> => {
    const runner = (workers === 1 ? here : inAThread)(options);
    try {
      while (next < seeds.length && !enough) {
        const at = next;
        next += 1;
        done.set(at, await runner.run(seeds[at]!));
        for (let report = done.get(shown); report !== undefined && !enough; report = done.get(shown)) {
          done.delete(shown);
          shown += 1;
          enough = onReport(report) === 'enough';
        }
      }
    } finally {
      await runner.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, seeds.length) }, work));
}

function ask(thread: Worker, seed: number, options: SeedOptions): Promise<SeedReport> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('message', ({ report }: { report: SeedReport }) => {
      thread.off('error', reject);
      resolve(report);
    });
    thread.postMessage({ seed, options });
  });
}
