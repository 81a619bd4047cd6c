import type { SeedReport } from './run-seed.js';

/** One line that says how a seed went. */
export function lineOf({ outcome, cpuMs }: SeedReport): string {
  const { seed, digest, nodes, virtualMs, events, messages, calls, operations, quorumAnswers } = outcome;
  const figures = `${nodes} nodes ${(virtualMs / 1000).toFixed(0)} s ${events} events ${messages} messages ${calls} calls ${operations} operations ${quorumAnswers} quorum ${cpuMs.toFixed(0)} ms`;
  const verdict = outcome.violations.length === 0 ? 'ok' : 'FAILED';
  return `seed ${seed} ${digest} ${verdict} ${figures} [${outcome.faults.join(' ')}]`;
}

/** What went wrong, one line each. */
export function failuresOf({ outcome }: SeedReport): string[] {
  return outcome.violations.map(
    ({ atMs, place, check, message }) => `  at ${atMs.toFixed(3)} ms ${place ?? '-'} ${check}: ${message}`,
  );
}

/** How to see a failing seed again. */
export function replayOf({ outcome }: SeedReport): string {
  return `npm run sim -- --seed ${outcome.seed}`;
}
