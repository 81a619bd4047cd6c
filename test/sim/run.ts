import { appendFileSync } from 'node:fs';
import { MUTANTS } from './mutants.js';
import { readOptions, USAGE } from './options.js';
import { failuresOf, lineOf, replayOf } from './report.js';
import { runSeed } from './run-seed.js';
import { runSeeds, seedsFrom } from './run-seeds.js';

/** Failing seeds are kept here, each with the command that shows it. */
const KEPT = new URL('../../../fixtures/seeds.txt', import.meta.url);

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  const known =
    options === null || options.mutant === null || MUTANTS.some(({ name }) => name === options.mutant);
  if (options === null || !known) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  let failed = 0;
  if (options.first === options.last) {
    const report = await runSeed(options.first, options, true);
    failed = report.outcome.violations.length;
    const notes = options.trace ? report.outcome.notes : failed > 0 ? report.outcome.notes.slice(-80) : [];
    for (const note of notes) say(note);
    say(lineOf(report));
    for (const failure of failuresOf(report)) say(failure);
    return failed === 0 ? 0 : 1;
  }
  await runSeeds(seedsFrom(options.first, options.last), options.workers, options, (report) => {
    say(lineOf(report));
    if (report.outcome.violations.length > 0) {
      failed += 1;
      for (const failure of failuresOf(report)) say(failure);
      if (options.mutant === null && !options.plain && options.faults === null && options.nodes === null) {
        appendFileSync(
          KEPT,
          `${report.outcome.seed}\t${report.outcome.violations[0]!.check}\t${replayOf(report)}\n`,
        );
      }
    }
    return 'go on';
  });
  say(`${options.last - options.first + 1} seeds, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
