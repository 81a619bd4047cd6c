import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type aMemory, linking, OPERATOR, storing } from '../support/memories.js';
import { BOB, type Fields, openSkillNode, ROOT, type SkillNode, skillText } from './skill-node.js';

const NOW = new Date().toISOString();

async function store(node: SkillNode, fields: Parameters<typeof aMemory>[0]) {
  const done = await node.services.store.execute({
    ...storing({ created_at: NOW, updated_at: NOW, ...fields }),
    viewer: OPERATOR,
  });
  assert.ok(done.ok, JSON.stringify(done));
}

const reflection = (id: string, more: Parameters<typeof aMemory>[0] = {}) => ({
  ...{
    id,
    title: `reflection ${id}`,
    content: `what ${id} says`,
    namespace: 'team',
    kind: 'reflection' as const,
  },
  ...{ reflection_depth: 1, metadata: { agent_id: 'ai:alice' }, ...more },
});

async function reflects(node: SkillNode, from: string, to: string) {
  const { link } = linking(from, to);
  const made = await node.services.store.execute({
    ...linking(from, to),
    link: { ...link, relation: 'reflects_on' },
  } as never);
  assert.ok(made.ok, JSON.stringify(made));
}

const named = (reflection_id: string, name = 'learned') => ({
  reflection_id,
  skill_name: name,
  skill_description: 'What was learned',
});

describe('a reflection', () => {
  it('becomes a skill with what it reflects on, for those who see all of it', async () => {
    const node = await openSkillNode();
    await store(node, reflection('r1', { content: '\n\nDo this.', reflection_depth: 2 }));
    await store(node, { id: 's1', title: 'open source', content: 'one', namespace: 'team' });
    await store(node, {
      id: 's2',
      title: 'private source',
      content: 'hidden',
      namespace: 'team',
      metadata: { agent_id: 'ai:alice', scope: 'private' },
    });
    await store(node, {
      id: 's3',
      title: 'of bob',
      content: 'secret',
      namespace: 'team',
      metadata: { agent_id: 'ai:bob', scope: 'private' },
    });
    for (const id of ['s1', 's2', 's3']) await reflects(node, 'r1', id);
    const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
    const promoted = await node.run('skill_promote_from_reflection', {
      ...named('r1'),
      parameters_schema: schema,
    });
    assert.deepEqual(
      [
        promoted['derived_from_reflection_id'],
        promoted['original_reflection_depth'],
        promoted['sources_attached'],
        promoted['namespace'],
      ],
      ['r1', 2, 1, 'team'],
    );
    const skill = await node.run('skill_get', { skill_id: promoted['skill_id'] }, BOB);
    assert.deepEqual([skill['body'], skill['license']], ['Do this.', 'Apache-2.0']);
    assert.deepEqual(skill['metadata'], {
      derived_from_reflection_id: 'r1',
      original_reflection_depth: 2,
      parameters_schema: schema,
    });
    assert.deepEqual(
      (skill['resources'] as Fields[]).map(({ path, kind }) => [path, kind]),
      [['references/source_0.md', 'reference']],
    );
    const file = await node.run('skill_resource', {
      skill_id: promoted['skill_id'],
      resource_path: 'references/source_0.md',
    });
    assert.equal(file['content'], '# open source\n\none\n');
    // A later one supersedes it, and it comes back from a folder with its metadata.
    await node.run('skill_export', { skill_id: promoted['skill_id'], target_folder: 'learned' });
    const again = await node.run('skill_register', { folder_path: 'learned' });
    assert.deepEqual([again['digest'], again['superseded_id']], [promoted['digest'], promoted['skill_id']]);
    assert.deepEqual((await node.run('skill_get', { skill_id: again['id'] }))['metadata'], skill['metadata']);
  });

  it('that is private becomes a skill that is private, with its private sources', async () => {
    const node = await openSkillNode();
    const metadata = { agent_id: 'ai:alice', scope: 'private' };
    await store(node, reflection('r1', { metadata }));
    await store(node, { id: 's1', title: 'mine', content: 'hidden', namespace: 'team', metadata });
    await reflects(node, 'r1', 's1');
    assert.equal((await node.refused('skill_promote_from_reflection', named('r1'), BOB)).code, 'NOT_FOUND');
    const { skill_id, sources_attached } = await node.run('skill_promote_from_reflection', named('r1'));
    assert.equal(sources_attached, 1);
    assert.equal((await node.refused('skill_get', { skill_id }, BOB)).code, 'NOT_FOUND');
  });

  it('is refused where it is none, not deep enough, or has a name or schema that is none', async () => {
    const node = await openSkillNode();
    await store(node, { id: 'm1', title: 'an observation', content: 'x', namespace: 'team' });
    await store(node, reflection('r0', { reflection_depth: 0 }));
    await store(node, reflection('r1'));
    const message = async (input: Fields) => {
      const refused = await node.refused('skill_promote_from_reflection', input);
      assert.equal(refused.code, 'VALIDATION_FAILED');
      return refused.message;
    };
    assert.match(await message(named('m1')), /of kind observation/);
    assert.match(await message(named('r0')), /depth 0; skills in "team" need 1/);
    assert.match(await message(named('r1', 'Not A Name')), /name: must be/);
    assert.match(
      await message({ ...named('r1'), parameters_schema: { type: 'array' } }),
      /parameters_schema/,
    );
    const governance = { write: 'any', skill_promotion_min_depth: 2 };
    await node.run('namespace_set_standard', { namespace: 'team', id: 'm1', governance }, ROOT);
    assert.match(await message(named('r1')), /need 2/);
    assert.equal((await node.records('skill')).length, 0);
  });
});

describe('the context of a skill', () => {
  it('is the best reflections that the caller sees and that fit', async () => {
    const node = await openSkillNode();
    const year = new Date(Date.now() - 400 * 86_400_000).toISOString();
    await store(node, reflection('new'));
    await store(node, reflection('read', { created_at: year, access_count: 60, reflection_depth: 3 }));
    await store(node, reflection('old', { created_at: year }));
    await store(node, reflection('long', { content: 'many words '.repeat(3000), access_count: 100 }));
    await store(node, reflection('deep', { reflection_depth: 4 }));
    await store(node, reflection('flat', { reflection_depth: 0 }));
    await store(node, reflection('hidden', { metadata: { agent_id: 'ai:bob', scope: 'private' } }));
    await store(node, reflection('elsewhere', { namespace: 'other' }));
    await store(node, { id: 'plain', title: 'no reflection', content: 'x', namespace: 'team' });
    const composes = [
      { namespace: 'team', min_depth: 2 },
      { namespace: 'team', min_depth: 1 },
      { namespace: 'none' },
    ];
    const { id: skill_id } = await node.register(skillText({ composes_with_reflections: composes }));
    const context = await node.run('skill_compositional_context', { skill_id });
    const found = context['reflections'] as readonly Fields[];
    assert.deepEqual(
      found.map(({ id }) => id),
      ['read', 'new', 'old'],
    );
    assert.deepEqual([found[0]!['score'], found[2]!['score']], [1, 0]);
    assert.ok(Math.abs(Number(found[1]!['score']) - 1) < 0.01);
    assert.equal(context['memories_dropped'], 1);
    assert.deepEqual(context['compositional_namespaces'], [
      { namespace: 'team', min_depth: 1, max_reflection_depth: 3 },
      { namespace: 'none', min_depth: 0, max_reflection_depth: 3 },
    ]);
    assert.ok(Number(context['tokens_used']) > 0 && Number(context['tokens_used']) <= 4000);
    const all = await node.run('skill_compositional_context', { skill_id, budget_tokens: 99_999 });
    assert.deepEqual([all['budget_tokens'], (all['reflections'] as Fields[]).length], [32_000, 4]);
    const none = await node.run('skill_compositional_context', { skill_id, budget_tokens: 0 });
    assert.deepEqual([none['reflections'], none['tokens_used'], none['memories_dropped']], [[], 0, 4]);
    const bobs = await node.run('skill_compositional_context', { skill_id }, BOB);
    assert.ok((bobs['reflections'] as Fields[]).some(({ id }) => id === 'hidden'));
    await node.run(
      'namespace_set_standard',
      { namespace: 'team', id: 'plain', governance: { write: 'any', max_reflection_depth: 1 } },
      ROOT,
    );
    const capped = await node.run('skill_compositional_context', { skill_id });
    assert.deepEqual(
      (capped['reflections'] as Fields[]).map(({ id }) => id),
      ['new', 'old'],
    );
  });
});
