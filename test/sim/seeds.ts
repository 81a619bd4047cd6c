import { failuresOf, lineOf, replayOf } from './report.js';
import { runSeeds } from './run-seeds.js';

/** Runs seeds; answers what failed, with the command that shows it, and how much was simulated. */
export async function failingSeeds(
  seeds: readonly number[],
  workers: number,
): Promise<{ readonly failures: readonly string[]; readonly seconds: number; readonly operations: number }> {
  const failures: string[] = [];
  let seconds = 0;
  let operations = 0;
  await runSeeds(
    seeds,
    workers,
    { mutant: null, faults: null, nodes: null, twice: false, plain: false },
    (report) => {
      const { outcome } = report;
      seconds += outcome.virtualMs / 1000;
      operations += outcome.operations;
      if (outcome.violations.length > 0) {
        failures.push([lineOf(report), ...failuresOf(report), `  ${replayOf(report)}`].join('\n'));
      }
      return 'go on';
    },
  );
  return { failures, seconds, operations };
}
