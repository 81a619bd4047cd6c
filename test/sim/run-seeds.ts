import { Worker } from 'node:worker_threads';
import type { SeedOptions, SeedReport } from './run-seed.js';

/** Runs seeds on several threads; calls back for each in the order of the seeds. Stops early when told to. */
export async function runSeeds(
  first: number,
  last: number,
  workers: number,
  options: SeedOptions,
  onReport: (report: SeedReport) => 'go on' | 'enough',
): Promise<void> {
  const done = new Map<number, SeedReport>();
  let next = first;
  let shown = first;
  let enough = false;
  const work = async (): Promise<void> => {
    const thread = new Worker(new URL('./seed-thread.js', import.meta.url));
    try {
      while (next <= last && !enough) {
        const seed = next;
        next += 1;
        done.set(seed, await ask(thread, seed, options));
        for (let report = done.get(shown); report !== undefined && !enough; report = done.get(shown)) {
          done.delete(shown);
          shown += 1;
          enough = onReport(report) === 'enough';
        }
      }
    } finally {
      await thread.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, last - first + 1) }, work));
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
