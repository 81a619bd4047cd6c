// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { figuresOf, LoadGenerator, recalling, recallPath, storing } from './load.js';
import { startBareServer } from './servers.js';
import { interpolated, nearestRank } from './statistics.js';
import { Workspace } from './workspace.js';

const TIMES = { warmupMs: 20, durationMs: 200 };

test('keeps stores, recalls and their figures apart', async () => {
  const workspace = new Workspace(null);
  try {
    const server = await startBareServer(workspace, 150, 5000);
    const load = LoadGenerator.start(workspace);
    const reads = [{ label: 'recall', path: recallPath('one two', 'a/b', 5) }];
    const result = await load.run(server.port, TIMES, [
      recalling(2, reads, { storeEvery: 10, namespaces: ['a/b'], mark: 'filler' }),
    ]);
    const [recalls, stores] = [figuresOf(result, 'recall'), figuresOf(result, 'store')];
    assert.ok(stores.ok > 0);
    const share = stores.ok / (stores.ok + recalls.ok);
    assert.ok(share > 0.05 && share < 0.2, `one request in ten is a store, not ${share}`);
    assert.equal(recalls.marked, recalls.ok);
    assert.equal(recalls.bodyBytes, 5000);
    assert.equal(stores.bodyBytes, 150);
  } finally {
    await workspace.close();
  }
});

test('counts what was shed and what failed apart from throughput', async () => {
  let n = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      n += 1;
      response.writeHead([201, 503, 409][n % 3]!, { 'content-length': 2 }).end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const workspace = new Workspace(null);
  try {
    const { port } = server.address() as AddressInfo;
    const result = await LoadGenerator.start(workspace).run(port, TIMES, [storing(3, 'a')]);
    const { ok, shed, failed } = figuresOf(result, 'store');
    assert.ok(ok > 0);
    assert.ok(Math.abs(ok - shed) <= 6 && Math.abs(ok - failed[409]!) <= 6);
  } finally {
    await workspace.close();
    server.close();
  }
});

test('keeps to a rate', async () => {
  const workspace = new Workspace(null);
  try {
    const server = await startBareServer(workspace, 150, 150);
    const times = { warmupMs: 0, durationMs: 500 };
    const result = await LoadGenerator.start(workspace).run(server.port, times, [storing(4, 'a', 100)]);
    const { ok } = figuresOf(result, 'store');
    assert.ok(ok > 10 && ok <= 51, `${ok} of 50`);
  } finally {
    await workspace.close();
  }
});

test('takes percentiles by nearest rank over HTTP and by interpolation in process', () => {
  const samples = [1, 2, 3, 4];
  assert.equal(nearestRank(samples, 0.5), 2);
  assert.equal(nearestRank(samples, 0.99), 4);
  assert.equal(interpolated(samples, 0.5), 2.5);
  assert.equal(nearestRank([], 0.5), Number.NaN);
});
