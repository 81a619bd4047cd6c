import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { addLinks, addMemories, graphDatabase } from '../../support/graph.js';
import { commandsIn } from './cli-process.js';

const HOME = temporaryFolder('cli-kg');
const cli = commandsIn(HOME);
const shown = async (...args: string[]) => {
  const { code, out, err } = await cli(...args);
  assert.equal(code, 0, err);
  return out;
};

describe('the graph commands', { timeout: 200_000 }, () => {
  before(() => {
    const db = graphDatabase(HOME);
    addMemories(db, ['plan', 'task', 'step', 'hub']);
    addLinks(db, [
      ['plan', 'task', 'decomposes_into'],
      ['task', 'step', 'depends_on'],
      ['step', 'plan', 'reflects_on'],
    ]);
    const leaves = Array.from({ length: 500 }, (_, index) => `leaf-${index}`);
    addMemories(db, leaves);
    db.close();
  });

  it('draw a tree in the terminal', async () => {
    assert.equal(
      await shown('kg-query', 'plan', '--max-depth', '3'),
      'plan\n└─ - decomposes_into -> task\n   └─ - depends_on -> step\n',
    );
    assert.equal(
      await shown('kg-timeline', '--source-id', 'plan'),
      'plan\n└─ - 2026-01-01 00:00 decomposes_into -> task\n',
    );
    assert.equal(
      await shown('find-paths', 'task', 'plan', '--max-depth', '1'),
      'task\n└─ <- decomposes_into - plan\n',
    );
    assert.equal(await shown('lineage', 'step'), 'step\n└─ - reflects_on -> plan\n');
    assert.equal(await shown('lineage', 'plan', 'descendants', '1'), 'plan\n└─ <- reflects_on - step\n');
    assert.equal(await shown('dependents-of-invalidated', 'plan'), 'plan\n└─ <- reflects_on - step\n');
    assert.equal(await shown('kg-query', 'hub'), 'hub\n└─ nothing\n');
  });

  it('draw for other programs, and answer JSON', async () => {
    const walk = ['kg-query', 'plan', '--max-depth', '2'];
    assert.match(await shown(...walk, '--format', 'dot'), /^digraph knowledge \{\n[\s\S]+\}\n$/);
    assert.match(await shown(...walk, '--format', 'mermaid'), /^flowchart LR\n {2}n0\["plan"\]\n/);
    const json = await shown(...walk, '--format', 'json');
    assert.equal(json, await shown(...walk, '--json'));
    assert.deepEqual((JSON.parse(json) as { paths: string[] }).paths, ['plan->task', 'plan->task->step']);
    assert.equal((await cli(...walk, '--json', '--format', 'dot')).code, 2);
    assert.equal((await cli(...walk, '--format', 'svg')).code, 2);
    const none = JSON.parse(await shown(...walk, '--allowed-agents', '', '--json')) as { count: number };
    assert.equal(none.count, 0);
  });

  it('say what is missing or wrong', async () => {
    assert.equal((await cli('kg-query', 'nobody')).code, 1);
    assert.equal((await cli('find-paths', 'plan')).code, 2);
    const deep = await cli('kg-query', 'plan', '--max-depth', '9');
    assert.equal(deep.code, 2);
    assert.match(deep.err, /--max-depth/);
  });
});
