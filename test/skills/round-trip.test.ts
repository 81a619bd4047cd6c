import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PIECE_BYTES_MAX } from '../../protocol/skills/limits.js';
import { aRule } from '../support/rules.js';
import { ALICE, BOB, type Fields, NO_SKILL, openSkillNode, ROOT, skillText } from './skill-node.js';

const idOf = (answer: Fields) => String(answer['id'] ?? answer['skill_id']);
const listed = ({ skills }: Fields) => (skills as readonly Fields[]).map(({ id }) => id);

describe('a skill', () => {
  it('comes back the same from a folder, with all that its front matter says', async () => {
    const node = await openSkillNode();
    const big = randomBytes(2 * PIECE_BYTES_MAX + 7);
    const files = {
      'resources/scripts/run.sh': '#!/bin/sh\n',
      'resources/references/a/b.md': 'text with ünïcode\n',
      'resources/reference.txt': '',
      'resources/big.bin': big,
      ...Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [`resources/many/${at}.txt`, `file ${at}`]),
      ),
    };
    const metadata = {
      composes_with_reflections: [{ namespace: 'team', min_depth: 2 }],
      parameters_schema: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
      version: 2,
      tags: ['a', { b: null }],
      scope: 'private',
    };
    const text = skillText(
      { license: 'MIT', compatibility: 'any', allowed_tools: ['Read'], ...metadata },
      '\n\n# Body\n\n---\nmore',
    );
    node.folder('one', { 'SKILL.md': text, 'README.md': 'no part of it', ...files });
    const first = await node.run('skill_register', { folder_path: 'one' });
    assert.deepEqual(
      [first['signed'], first['superseded_id'], first['ignored']],
      [true, undefined, ['README.md']],
    );
    const exported = await node.run('skill_export', { skill_id: first['id'], target_folder: 'out/two' });
    assert.equal(exported['resources_exported'], 104);
    for (const [path, content] of Object.entries(files))
      assert.deepEqual(readFileSync(join(node.root, 'out/two', path)), Buffer.from(content));
    const second = await node.run('skill_register', { folder_path: 'out/two/SKILL.md' });
    assert.deepEqual([second['digest'], second['superseded_id']], [first['digest'], first['id']]);
    const [before, after] = [
      await node.run('skill_get', { skill_id: first['id'] }),
      await node.run('skill_get', { skill_id: second['id'] }),
    ];
    assert.deepEqual(
      [before['current'], before['superseded_by'], after['current'], after['superseded_by']],
      [false, second['id'], true, undefined],
    );
    assert.deepEqual(after['metadata'], metadata);
    const { id: _a, created_at: _b, current: _c, superseded_by: _d, ...same } = before;
    const { id: _e, created_at: _f, current: _g, ...other } = after;
    assert.deepEqual(other, same);
    assert.equal(after['body'], '# Body\n\n---\nmore');
    const kinds = (after['resources'] as readonly Fields[]).filter(
      ({ path }) => !String(path).startsWith('many/'),
    );
    assert.deepEqual(
      kinds.map(({ path, kind }) => [path, kind]),
      [
        ['big.bin', 'asset'],
        ['reference.txt', 'asset'],
        ['references/a/b.md', 'reference'],
        ['scripts/run.sh', 'script'],
      ],
    );
    const shown = await node.run('skill_resource', { skill_id: first['id'], resource_path: 'big.bin' });
    assert.deepEqual([shown['encoding'], shown['digest_verified']], ['base64', true]);
    assert.deepEqual(Buffer.from(String(shown['content']), 'base64'), big);
    const words = await node.run('skill_resource', {
      skill_id: second['id'],
      resource_path: 'references/a/b.md',
    });
    assert.deepEqual([words['encoding'], words['content']], ['utf-8', 'text with ünïcode\n']);
    // Equal contents are stored once.
    const contents = await node.records('skill_content');
    assert.equal(new Set(contents.map(({ id }) => id)).size, contents.length);
    assert.equal(contents.length, 1 + 3 + 3 + 100);
    assert.equal((await node.records('skill_resource')).length, 2 * (2 + 1 + 3 + 100));
  });

  it('is written to a new folder only, and a failure leaves nothing there', async () => {
    const node = await openSkillNode();
    const { id } = await node.register(skillText());
    node.folder('full', { 'x.txt': '1' });
    assert.equal(
      (await node.refused('skill_export', { skill_id: id, target_folder: 'full' })).code,
      'CONFLICT',
    );
    assert.equal(
      (await node.refused('skill_export', { skill_id: id, target_folder: '.' })).code,
      'VALIDATION_FAILED',
    );
    assert.equal(
      (await node.refused('skill_export', { skill_id: NO_SKILL, target_folder: 'x' })).code,
      'NOT_FOUND',
    );
    await node.run('skill_export', { skill_id: id, target_folder: join(node.root, 'new') });
    assert.deepEqual(readdirSync(node.root).sort(), ['full', 'new']);
  });

  it('is found by namespace and words, each name once in its newest version, page by page', async () => {
    const node = await openSkillNode();
    const ids = [];
    for (const [namespace, name] of [
      ['team/a', 'one'],
      ['team/a', 'two'],
      ['team_b', 'one'],
      ['other', 'zed'],
    ])
      ids.push(idOf(await node.register(skillText({ namespace, name, description: `About ${name}` }))));
    const newer = idOf(
      await node.register(skillText({ namespace: 'team/a', name: 'one', description: 'Better' })),
    );
    const all = await node.run('skill_list', {});
    assert.deepEqual(listed(all), [ids[3], newer, ids[1], ids[2]]);
    assert.equal(all['count'], 4);
    assert.deepEqual(listed(await node.run('skill_list', { namespace: 'team/%' })), [newer, ids[1]]);
    assert.deepEqual(listed(await node.run('skill_list', { namespace: 'TEAM_b' })), [ids[2]]);
    assert.deepEqual(listed(await node.run('skill_list', { namespace: 'team' })), []);
    assert.deepEqual(listed(await node.run('skill_list', { filter: 'bett' })), [newer]);
    assert.deepEqual(listed(await node.run('skill_list', { filter: 'two' })), [ids[1]]);
    const first = await node.run('skill_list', { limit: 3 });
    const second = await node.run('skill_list', { limit: 3, after: first['next'] });
    assert.deepEqual([...listed(first), ...listed(second)], listed(all));
    assert.equal(second['next'], undefined);
  });

  it('shows to those who see memories of its scope, and gives its name to its owner alone', async () => {
    const node = await openSkillNode();
    const mine = idOf(await node.register(skillText({ scope: 'private' })));
    const open = idOf(await node.register(skillText({ name: 'open' })));
    for (const name of ['skill_get', 'skill_compositional_context'])
      assert.equal((await node.refused(name, { skill_id: mine }, BOB)).code, 'NOT_FOUND');
    const file = { skill_id: mine, resource_path: 'x' };
    assert.match((await node.refused('skill_resource', file, BOB)).message, /skill not found/);
    const folder = { skill_id: mine, target_folder: 'x' };
    assert.equal((await node.refused('skill_export', folder, BOB)).code, 'NOT_FOUND');
    assert.deepEqual(listed(await node.run('skill_list', {}, BOB)), [open]);
    for (const text of [skillText(), skillText({ name: 'open' })]) {
      const refused = await node.refused('skill_register', { inline_skill: text }, BOB);
      assert.equal(refused.code, 'FORBIDDEN');
      assert.doesNotMatch(refused.message, new RegExp(`${mine}|${open}|alice`));
    }
    assert.equal((await node.run('skill_get', { skill_id: mine }))['current'], true);
    const operators = await node.register(skillText({ name: 'open' }), ROOT);
    assert.equal(operators['superseded_id'], open);
    assert.equal(
      (await node.refused('skill_register', { inline_skill: skillText({ name: 'open' }) })).code,
      'FORBIDDEN',
    );
    assert.equal((await node.run('skill_get', { skill_id: open }, BOB))['superseded_by'], operators['id']);
  });

  it('is registered once by a call that is sent again', async () => {
    const node = await openSkillNode();
    node.folder('one', {
      'SKILL.md': skillText(),
      ...Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`resources/${at}`, `${at}`])),
    });
    await node.register(skillText());
    const first = await node.run('skill_register', { folder_path: 'one' }, ALICE, { key: 'k1' });
    const again = await node.run('skill_register', { folder_path: 'one' }, ALICE, { key: 'k1', again: true });
    assert.deepEqual(again, first);
    assert.equal((await node.records('skill')).length, 2);
  });

  it('is refused as a whole where a quota or a policy does not allow it', async () => {
    const node = await openSkillNode({ maxStorageBytes: 400_000 });
    const files = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`resources/${at}.bin`, randomBytes(90_000)]),
    );
    node.folder('one', { 'SKILL.md': skillText(), ...files });
    const refused = await node.refused('skill_register', { folder_path: 'one' });
    assert.deepEqual(
      [refused.code, (refused.details as unknown as Fields)['limit']],
      ['QUOTA_EXCEEDED', 'storage_bytes'],
    );
    for (const kind of ['skill', 'skill_resource', 'skill_content'])
      assert.deepEqual(await node.records(kind), []);
    await node.register(skillText());
    assert.ok((await node.run('skill_list', {}))['count'] === 1);

    const governed = await openSkillNode();
    const { id } = await governed.run(
      'store',
      { title: 'Rules', content: 'of the team', namespace: 'team' },
      ROOT,
    );
    for (const [write, code] of [
      ['owner', 'GOVERNANCE_REFUSED'],
      ['approve', 'GOVERNANCE_REFUSED'],
      ['any', null],
    ]) {
      await governed.run('namespace_set_standard', { namespace: 'team', id, governance: { write } }, ROOT);
      const answer = await governed.answer('skill_register', { inline_skill: skillText() }, BOB);
      assert.equal(answer.ok ? null : answer.error.code, code, `${write}: ${JSON.stringify(answer)}`);
    }
    assert.equal((await governed.records('skill')).length, 1);
  });

  it('is written to no place that a rule of the operator forbids, and every export is recorded', async () => {
    const node = await openSkillNode();
    const { id, digest } = await node.register(skillText());
    await node.run('skill_export', { skill_id: id, target_folder: 'fine' });
    const rule = aRule('R', { rule_kind: 'filesystem_write', matcher: { glob: '**/secret/**' } });
    const put = await node.services.store.execute({ kind: 'put-rule', rule, replaces: null, by: 'ai:root' });
    assert.ok(put.ok, JSON.stringify(put));
    const refused = await node.refused('skill_export', { skill_id: id, target_folder: 'secret/x' });
    assert.equal(refused.code, 'GOVERNANCE_REFUSED');
    assert.deepEqual(readdirSync(node.root), ['fine']);
    const rows = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 100 });
    assert.ok(rows.ok);
    const skills = rows.value.rows.filter(({ event_type }) => event_type.startsWith('skill.'));
    assert.deepEqual(
      skills.map(({ event_type }) => event_type),
      ['skill.registered', 'skill.exported'],
    );
    for (const { payload } of skills) assert.ok(payload?.includes(String(digest)));
  });
});
