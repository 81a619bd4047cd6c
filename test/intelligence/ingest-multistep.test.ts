import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type AskingNode, agent, OPERATOR, openAskingNode } from '../support/asking-node.js';
import { HOSTILE_ANSWER, ModelServer } from '../support/model-server.js';

type Fields = Readonly<Record<string, unknown>>;

const items = (...texts: string[]) => JSON.stringify({ items: texts });

describe('memory_ingest_multistep', { timeout: 60_000 }, () => {
  let server: ModelServer;
  let node: AskingNode;
  before(async () => {
    server = await ModelServer.start('compatible');
  });
  after(() => server.close());
  beforeEach(async () => {
    node = await openAskingNode(server, { llmBackend: 'compatible' });
    server.asked.length = 0;
    Object.assign(server, { mood: 'fine', moods: [], script: [], says: items('One.', 'Two.') });
  });
  afterEach(() => node.close());

  const ingest = (more: Fields = {}) =>
    node.run('memory_ingest_multistep', { content: 'One.  Two. One.', ...more });
  const stages = (answer: Fields) =>
    (answer['stages'] as Fields[]).map(({ name, kind, items: count }) => [name, kind, count]);

  it('sends the text through two phases, shows each stage, and stores nothing', async () => {
    server.script = [items('One.', 'Two.', 'One.'), items('One.', 'Two.')];
    const answer = await ingest();
    assert.deepEqual(stages(answer), [
      ['normalise', 'helper', 1],
      ['extract', 'model', 3],
      ['merge', 'model', 2],
    ]);
    const { variant, distinct_cache_keys, prompt_cache_consistent, final_output, ingested_memory_ids } =
      answer;
    assert.deepEqual(
      [variant, distinct_cache_keys, prompt_cache_consistent, final_output, ingested_memory_ids],
      ['two_phase', 1, true, ['One.', 'Two.'], []],
    );
    assert.match(server.asked[0]!.prompt, /^Task: .*\(item 1\)\nOne\. Two\. One\.\n/s);
    assert.match(server.asked[1]!.prompt, /\(item 3\)\nOne\.\n/);
    assert.equal(new Set(server.asked.map(({ system }) => system)).size, 1);
    const { memories } = await node.run('memory_list', {}, OPERATOR);
    assert.deepEqual(memories, []);
  });

  it('has a variant of four steps of the model', async () => {
    const answer = await ingest({ pipeline_variant: 'four_step' });
    assert.deepEqual(
      stages(answer).map(([name]) => name),
      ['normalise', 'extract', 'classify', 'distinct', 'merge', 'order'],
    );
    assert.equal(server.asked.length, 4);
  });

  it('runs the stages of the caller, and refuses those that it does not know', async () => {
    const shout = { name: 'shout', kind: 'model', instruction: 'Write each item in capitals.' };
    const own = { stages: [{ name: 'cut', kind: 'helper', helper: 'sentences' }, shout] };
    const answer = await ingest({ pipeline_override: own });
    assert.deepEqual([answer['variant'], stages(answer)[0]], ['override', ['cut', 'helper', 3]]);
    assert.match(server.asked[0]!.prompt, /^Task: Write each item in capitals\./);
    for (const wrong of [
      ...[
        {},
        { stages: [] },
        { stages: [shout, shout] },
        { stages: Array(9).fill(shout) },
        { ...own, run: 'x' },
      ],
      ...[{ stages: [{ ...shout, helper: 'x' }] }, { stages: [{ name: 'x', kind: 'shell', command: 'id' }] }],
      { stages: [{ ...shout, instruction: 'two\nlines' }] },
    ]) {
      const asked = { content: 'One.', pipeline_override: wrong };
      const { code } = await node.refused('memory_ingest_multistep', asked);
      assert.equal(code, 'VALIDATION_FAILED', JSON.stringify(wrong));
    }
  });

  it('names the stage at which the model fails', async () => {
    for (const says of [HOSTILE_ANSWER, '', items(), items('x'.repeat(2001)), JSON.stringify({ items: 7 })]) {
      server.says = says;
      const { code, message } = await node.refused('memory_ingest_multistep', { content: 'One.' });
      assert.deepEqual([code, /^stage extract: /.test(message)], ['LLM_FAILED', true], says);
    }
    server.mood = 500;
    assert.equal((await node.refused('memory_ingest_multistep', { content: 'One.' })).code, 'LLM_FAILED');
  });

  it('takes no longer text than the policy of the namespace and the model allow', async () => {
    const { id } = await node.run(
      'memory_store',
      { title: 'Rules', content: 'c', namespace: 'team' },
      OPERATOR,
    );
    const governance = { write: 'any', multistep_max_content_chars: 4 };
    await node.run('memory_namespace_set_standard', { namespace: 'team', id, governance }, OPERATOR);
    for (const more of [{ content: 'One. Two.', namespace: 'team/a' }, { content: 'x'.repeat(25 * 1024) }]) {
      const { code } = await node.refused('memory_ingest_multistep', more, agent('ai:alice'));
      assert.equal(code, 'VALIDATION_FAILED');
    }
    assert.equal(server.asked.length, 0);
    await ingest({ content: 'One.', namespace: 'team/a' });
  });

  it('needs a model', async () => {
    const bare = await openAskingNode(null);
    assert.equal((await bare.refused('memory_ingest_multistep', { content: 'One.' })).code, 'TIER_LOCKED');
    await bare.close();
  });
});
