import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TRAVERSAL_LINKS_MAX } from '../../../protocol/base/limits.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { addLinks, addMemories, graphDatabase } from '../../support/graph.js';
import { run } from '../cli/cli-process.js';

const LEAVES = 26_000;

/** A crowd of links to memories that only their owner sees: a walk must look at all of them to find none. */
describe('a walk that is too large', { timeout: 300_000 }, () => {
  const home = temporaryFolder('kg-budget');
  let daemon: RunningDaemon;
  before(async () => {
    const db = graphDatabase(home);
    const leaves = Array.from({ length: LEAVES }, (_, index) => `leaf-${index}`);
    addMemories(db, ['start', 'crowd']);
    addMemories(db, leaves, 'ai:alice');
    addLinks(db, [['start', 'crowd', 'related_to']]);
    for (const relation of ['related_to', 'depends_on', 'advances', 'supersedes'])
      addLinks(
        db,
        leaves.map((leaf) => ['crowd', leaf, relation] as const),
      );
    db.close();
    daemon = await startDaemonHere(home, await freePort(), {});
  });
  after(() => daemon.end('SIGTERM'));

  const ask = (path: string, body: object) =>
    fetch(`${daemon.base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:bob' },
      body: JSON.stringify(body),
    });

  it('answers 422 with the part that was found, and other reads go on', async () => {
    const walk = ask('/kg/query', { source_id: 'start', max_depth: 3 });
    const other = await fetch(`${daemon.base}/memories/start`, { headers: { 'x-agent-id': 'ai:bob' } });
    assert.equal(other.status, 200);
    const answer = await walk;
    const body = (await answer.json()) as Record<string, unknown>;
    assert.equal(answer.status, 422, JSON.stringify(body));
    assert.equal(body['code'], 'TRAVERSAL_BUDGET_EXCEEDED');
    assert.match(String(body['error']), /ask for fewer hops/);
    // A machine with other work may run out of time first.
    assert.ok(body['stopped_by'] === 'time' || body['links_read'] === TRAVERSAL_LINKS_MAX);
    assert.deepEqual([body['source_id'], body['count'], body['paths']], ['start', 1, ['start->crowd']]);
  });

  it('is no trouble for those who see what is there', async () => {
    const walk = await fetch(`${daemon.base}/kg/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
      body: JSON.stringify({ source_id: 'start', max_depth: 3, limit: 1000 }),
    });
    assert.equal(walk.status, 200);
    assert.equal(((await walk.json()) as { count: number }).count, 1000);
  });

  it('prints the part on the command line, and fails', async () => {
    const shown = await run(home, ['kg-query', 'start', '--max-depth', '3'], {
      env: { SVC_AGENT_ID: 'ai:bob' },
    });
    assert.equal(shown.code, 1);
    assert.equal(shown.out, 'start\n└─ - related_to -> crowd\n');
    assert.match(shown.err, /^error: the walk was stopped after/);
    assert.doesNotMatch(shown.err, /memories: \[/);
  });
});
