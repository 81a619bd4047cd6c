import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { GovernedNode, OPERATOR_ID } from '../node/governance/governed-pair.js';

type Fields = Readonly<Record<string, unknown>>;
const SAID = { title: 'what follows', content: 'both outages were on a Sunday' };

describe('a reflection that came from another node', { timeout: 60_000 }, () => {
  let here: GovernedNode;
  let there: GovernedNode;
  before(async () => {
    [here, there] = [await GovernedNode.open(), await GovernedNode.open()];
  });
  after(() => Promise.all([here.close(), there.close()]));

  const said = async (node: GovernedNode, name: string, input: Fields, by = 'ai:ann'): Promise<Fields> => {
    const answer = await node.call(by, name, input);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  const note = async (node: GovernedNode, title: string) =>
    String((await said(node, 'memory_store', { title, content: title, namespace: 'team' }))['id']);

  it('keeps its depth, is said to come from there, and is counted here', async () => {
    const source = await note(there, 'a source');
    const first = await said(there, 'memory_reflect', { source_ids: [source], ...SAID });
    await here.pull(there);
    const id = first['id'];
    const { peer_origin, ...origin } = await said(here, 'memory_reflection_origin', { memory_id: id });
    assert.equal(typeof peer_origin, 'string');
    assert.deepEqual(origin, {
      ...{ memory_id: id, signing_agent: null, original_depth: 1, local_depth_at_arrival: 1 },
      is_reflection: true,
    });
    const own = await said(there, 'memory_reflection_origin', { memory_id: id });
    assert.equal(own['peer_origin'], null);
    // An edit here is not where it comes from.
    await said(here, 'memory_update', { id, priority: 9 });
    const edited = await said(here, 'memory_reflection_origin', { memory_id: id });
    assert.equal(edited['peer_origin'], peer_origin);
    const deeper = await said(here, 'memory_reflect', { source_ids: [id], ...SAID, title: 'deeper' });
    assert.equal(deeper['reflection_depth'], 2);
  });

  it('is refused as a source beyond the cap of this node, which is recorded as such', async () => {
    const standard = { namespace: 'team', governance: { write: 'any', max_reflection_depth: 1 } };
    await said(here, 'memory_namespace_set_standard', standard, OPERATOR_ID);
    const source = await note(there, 'another source');
    const first = await said(there, 'memory_reflect', { source_ids: [source], ...SAID, title: 'first' });
    await here.pull(there);
    const input = { source_ids: [first['id']], ...SAID, title: 'second' };
    const refused = await here.call('ai:ann', 'memory_reflect', input);
    assert.deepEqual(!refused.ok && refused.error.code, 'REFLECTION_DEPTH_EXCEEDED');
    assert.equal(here.audited('reflection.depth_exceeded.cross_peer'), 1);
  });

  it('says what its sources give here, whatever depth was written with it', async () => {
    const source = await note(there, 'a third source');
    const id = '00000000-0000-4000-8000-000000000007';
    const row = { id, ...SAID, title: 'third', kind: 'reflection', reflection_depth: 7, namespace: 'team' };
    await said(there, 'memory_import', { memories: [row], trust_source: true }, OPERATOR_ID);
    const link = { source_id: id, target_id: source, relation: 'reflects_on' };
    await said(there, 'memory_link', link, OPERATOR_ID);
    const origin = await said(there, 'memory_reflection_origin', { memory_id: id });
    assert.deepEqual([origin['original_depth'], origin['local_depth_at_arrival']], [7, 1]);
  });
});
