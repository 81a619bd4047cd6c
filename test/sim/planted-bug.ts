import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { MUTANTS } from './mutants.js';
import { runSeeds, seedsFrom } from './run-seeds.js';

/** Asks the simulator to notice a bug that a node has. */
export async function catches(
  { name, seeds }: (typeof MUTANTS)[number],
  context: TestContext,
): Promise<void> {
  let ran = 0;
  let caught: string | null = null;
  await runSeeds(
    seedsFrom(1, seeds),
    1,
    { mutant: name, faults: null, nodes: 4, twice: false, plain: false },
    ({ outcome }) => {
      ran += 1;
      // What is left after a stop would be no sign of any of these.
      const first = outcome.violations.find(({ check }) => check !== 'left after stop');
      if (first === undefined) return 'go on';
      caught = `${first.check}: ${first.message.slice(0, 120)}`;
      return 'enough';
    },
  );
  assert.notEqual(caught, null, `not caught within ${seeds} seeds`);
  context.diagnostic(`caught at seed ${ran} by ${caught}`);
}
