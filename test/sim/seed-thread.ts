import { parentPort } from 'node:worker_threads';
import { runSeed, type SeedOptions } from './run-seed.js';

/** A thread that runs the seeds that it is sent, one after the other. */
parentPort!.on('message', ({ seed, options }: { seed: number; options: SeedOptions }) => {
  runSeed(seed, options, false).then(
    (report) => parentPort!.postMessage({ seed, report }),
    (error: unknown) => {
      throw error;
    },
  );
});
