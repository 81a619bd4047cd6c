import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

const HEAP = new URL('../../../node/runtime/heap.js', import.meta.url).href;

/** Makes objects that live for a while, and prints the MiB that the space for the young ones has come to. */
const PROGRAM = `
import { getHeapSpaceStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
const size = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 1048576;
if (process.argv[1] === 'small') (await import('${HEAP}')).keepYoungGenerationSmall();
for (let n = 0; n < 2; n += 1) {
  const worker = new Worker('setInterval(() => {}, 1e6)', { eval: true, resourceLimits: { maxYoungGenerationSizeMb: 6 } });
  await new Promise((resolve) => worker.once('online', resolve));
}
const kept = [];
for (let n = 0; n < 1_500_000; n += 1) {
  kept[n % 200_000] = { n, more: [n] };
  if (n % 5000 === 0) await new Promise(setImmediate);
}
console.log(size());
process.exit();
`;

const youngMiB = (mode: string) => {
  const args = ['--input-type=module', '--eval', PROGRAM, mode];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  return Number(stdout);
};

describe('the space for short-lived objects', () => {
  it('stays within bounds, also after threads have started, where it would have grown', () => {
    assert.ok(youngMiB('as it is') > 16, 'the load makes it grow');
    // The bound is set after a collection, which on a busy machine may be one collection late.
    const small = Math.min(...[1, 2, 3].map(() => youngMiB('small')));
    assert.ok(small >= 8 && small <= 16, `${small} MiB`);
  });
});
