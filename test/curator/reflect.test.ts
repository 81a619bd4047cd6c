import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CuratorNode, WINDOW } from '../support/curator-node.js';
import { HOSTILE_ANSWER, ModelServer } from '../support/model-server.js';

describe('a cycle that reflects', { timeout: 60_000 }, () => {
  it('writes one reflection on what was recalled, once, and none on private memories', async () => {
    const model = await ModelServer.start();
    model.says = 'Deploys of billing are bound to the backup.';
    const node = await CuratorNode.open(model);
    try {
      const at = ['on call', 'on leave', 'on duty'];
      const ids: string[] = [];
      for (const who of at)
        ids.push(await node.store('ai:ann', who, `${WINDOW} ${who}`, { namespace: 'team' }));
      for (const who of at)
        await node.store('ai:ann', who, `${WINDOW} ${who}`, {
          namespace: 'own',
          metadata: { scope: 'private' },
        });
      const none = await node.cycle({ mode: 'reflect' });
      assert.deepEqual(
        [none.reflections_written, none.autonomy.clusters_formed],
        [0, 0],
        'nothing was recalled',
      );
      node.db
        .prepare('UPDATE memories SET access_count = 1, last_accessed_at = ?')
        .run(new Date().toISOString());
      const said = await node.preview({ mode: 'reflect' });
      const report = await node.cycle({ mode: 'reflect' });
      assert.deepEqual(
        [report.reflections_written, said.reflections_written],
        [1, 1],
        JSON.stringify(report),
      );
      const [reflection] = node.rows("memory_kind = 'reflection'");
      assert.deepEqual(
        [
          reflection!['content'],
          reflection!['owner_id'],
          reflection!['reflection_depth'],
          reflection!['source'],
        ],
        ['Deploys of billing are bound to the backup.', 'ai:curator', 1, 'system'],
      );
      assert.match(String(reflection!['title']), /^\[reflection\] on /);
      const linked = node.db
        .prepare("SELECT target_id FROM memory_links WHERE source_id = ? AND relation = 'reflects_on'")
        .pluck()
        .all(reflection!['id']);
      assert.deepEqual(new Set(linked), new Set(ids));
      assert.equal((await node.cycle({ mode: 'reflect' })).autonomy.clusters_formed, 0, 'not twice');
    } finally {
      await node.close();
      await model.close();
    }
  });

  it('links only what it was asked about, whatever the model answers', async () => {
    const model = await ModelServer.start();
    model.says = HOSTILE_ANSWER;
    const node = await CuratorNode.open(model);
    try {
      for (const who of ['a', 'b', 'c']) await node.store('ai:ann', who, `${WINDOW} ${who}`);
      node.db
        .prepare('UPDATE memories SET access_count = 1, last_accessed_at = ?')
        .run(new Date().toISOString());
      const report = await node.cycle({ mode: 'reflect' });
      assert.equal(report.reflections_written, 0, JSON.stringify(report));
      assert.match(report.errors[0] ?? '', /LLM_FAILED/);
      assert.equal(node.rows('1').length, 4, 'three memories and the report');
    } finally {
      await node.close();
      await model.close();
    }
  });
});
