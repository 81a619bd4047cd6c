import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { jailed, readJailed } from '../../node/operations/skills/jail.js';
import { writeFolder } from '../../node/operations/skills/write-folder.js';
import { systemRandom } from '../../node/seams.js';
import { ok } from '../../protocol/base/result.js';
import { SKILL_FILES_MAX } from '../../protocol/skills/limits.js';
import { resourcePathProblem } from '../../protocol/skills/resource-path.js';
import { openSkillNode, type SkillNode, skillText } from './skill-node.js';

async function prepared(): Promise<SkillNode & { readonly outside: string }> {
  const node = await openSkillNode();
  const outside = join(dirname(node.root), 'outside');
  mkdirSync(join(outside, 'skill'), { recursive: true });
  writeFileSync(join(outside, 'secret'), 'a secret');
  writeFileSync(join(outside, 'skill', 'SKILL.md'), skillText());
  return Object.assign(node, { outside });
}

const refusedFolder = async (node: SkillNode, folder_path: string) => {
  const { code, message } = await node.refused('skill_register', { folder_path });
  assert.equal(code, 'VALIDATION_FAILED', message);
  assert.doesNotMatch(message, /a secret/);
  return message;
};

describe('the folder of skills', () => {
  it('is the only one that is read and written', async () => {
    const node = await prepared();
    const { id } = await node.register(skillText());
    const paths = [
      '../outside/skill',
      join(node.outside, 'skill'),
      '/etc',
      'a/../../outside/skill',
      'a\\..\\x',
      'C:x',
      'C:/x',
      'x\0y',
    ];
    for (const path of paths) {
      await refusedFolder(node, path);
      const refused = await node.refused('skill_export', { skill_id: id, target_folder: path });
      assert.equal(refused.code, 'VALIDATION_FAILED', path);
    }
    // Another folder whose name begins as that of the root.
    mkdirSync(`${node.root}-more`, { recursive: true });
    await refusedFolder(node, `${node.root}-more`);
    assert.deepEqual(readdirSync(node.root), []);
  });

  it('holds no skill with a symbolic link anywhere, wherever it leads', async () => {
    const node = await prepared();
    node.folder('fine', { 'SKILL.md': skillText(), 'resources/a.txt': 'a' });
    symlinkSync(join(node.outside, 'skill'), join(node.root, 'linked'));
    assert.match(await refusedFolder(node, 'linked'), /symbolic link/);
    symlinkSync(join(node.root, 'fine'), join(node.root, 'alias'));
    assert.match(await refusedFolder(node, 'alias'), /symbolic link/);
    assert.match(await refusedFolder(node, 'alias/SKILL.md'), /symbolic link/);
    node.folder('text', { 'resources/a.txt': 'a' });
    symlinkSync(join(node.outside, 'secret'), join(node.root, 'text/SKILL.md'));
    assert.match(await refusedFolder(node, 'text'), /"text\/SKILL.md" is a symbolic link/);
    node.folder('file', { 'SKILL.md': skillText(), 'resources/a.txt': 'a' });
    symlinkSync(join(node.outside, 'secret'), join(node.root, 'file/resources/b.txt'));
    assert.match(await refusedFolder(node, 'file'), /"file\/resources\/b.txt" is a symbolic link/);
    node.folder('folder', { 'SKILL.md': skillText() });
    symlinkSync(node.outside, join(node.root, 'folder/resources'));
    assert.match(await refusedFolder(node, 'folder'), /symbolic link/);
    node.folder('deep', { 'SKILL.md': skillText(), 'resources/x/y.txt': 'a' });
    symlinkSync(node.outside, join(node.root, 'deep/resources/x/z'));
    assert.match(await refusedFolder(node, 'deep'), /symbolic link/);
    assert.equal((await node.run('skill_list', {}))['count'], 0);
  });

  it('holds no skill with a pipe, which would hold the call up, and none that is too large', async () => {
    const node = await prepared();
    node.folder('pipe', { 'SKILL.md': skillText(), 'resources/a.txt': 'a' });
    execFileSync('mkfifo', [join(node.root, 'pipe/resources/p')]);
    assert.match(await refusedFolder(node, 'pipe'), /"pipe\/resources\/p" is not a regular file/);
    mkdirSync(join(node.root, 'text'));
    execFileSync('mkfifo', [join(node.root, 'text/SKILL.md')]);
    assert.match(await refusedFolder(node, 'text'), /is not a regular file/);
    const many = Object.fromEntries(
      Array.from({ length: SKILL_FILES_MAX + 1 }, (_, at) => [`resources/${at % 40}/${at}`, '']),
    );
    node.folder('many', { 'SKILL.md': skillText(), ...many });
    assert.match(await refusedFolder(node, 'many'), /more than 4096 files and folders/);
    node.folder('big', { 'SKILL.md': skillText() });
    mkdirSync(join(node.root, 'big/resources'));
    for (const name of ['a', 'b'])
      execFileSync('truncate', ['-s', '40M', join(node.root, 'big/resources', name)]);
    assert.match(await refusedFolder(node, 'big'), /is longer than the \d+ bytes that are left/);
    for (const kind of ['skill', 'skill_resource', 'skill_content'])
      assert.deepEqual(await node.records(kind), []);
    node.folder('bytes', { 'SKILL.md': new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff]) });
    assert.match(await refusedFolder(node, 'bytes'), /not valid UTF-8/);
    assert.match(
      await refusedFolder(node, 'missing'),
      /"missing" is not there; a relative path begins in \//,
    );
  });

  it('gives a file only while nothing on its path is changed into a link', async () => {
    const node = await prepared();
    node.folder('swap', { 'resources/secret': 'fine' });
    const place = await jailed('swap/resources/secret', {
      root: node.root,
      field: 'folder_path',
      make: false,
    });
    assert.ok(place.ok);
    const fine = await readJailed(place.value, 100);
    assert.ok(fine.ok && fine.value.toString() === 'fine');
    renameSync(join(node.root, 'swap/resources'), join(node.root, 'swap/before'));
    symlinkSync(node.outside, join(node.root, 'swap/resources'));
    const swapped = await readJailed(place.value, 100);
    assert.ok(!swapped.ok);
    assert.match(swapped.error.message, /symbolic link/);
  });

  it('is left as it was by an export that fails, or whose folder is changed into a link meanwhile', async () => {
    const node = await prepared();
    const { id } = await node.register(skillText());
    symlinkSync(node.outside, join(node.root, 'linked'));
    for (const target_folder of ['linked', 'linked/x', 'linked/skill']) {
      const refused = await node.refused('skill_export', { skill_id: id, target_folder });
      assert.match(refused.message, /symbolic link|is not a folder/);
    }
    mkdirSync(join(node.root, 'parent'));
    const target = await jailed('parent/x', { root: node.root, field: 'target_folder', make: true });
    assert.ok(target.ok);
    const files = [{ path: 'SKILL.md', read: () => Promise.resolve(ok(Buffer.from('x'))) }];
    const commit = () => {
      renameSync(join(node.root, 'parent'), join(node.root, 'before'));
      symlinkSync(node.outside, join(node.root, 'parent'));
      return Promise.resolve(ok(null));
    };
    const written = await writeFolder(target.value, files, { random: systemRandom, commit });
    assert.ok(!written.ok);
    assert.match(written.error.message, /symbolic link/);
    assert.deepEqual(readdirSync(node.outside).sort(), ['secret', 'skill']);
    assert.ok(!existsSync(join(node.outside, 'x')));
    assert.deepEqual(readdirSync(node.root).sort(), ['before', 'linked', 'parent']);
  });

  it('gets no file of a skill whose path leads out of it', () => {
    for (const path of [
      '../x',
      'a/../../x',
      '/x',
      'a//b',
      './a',
      'C:x',
      'a\\b',
      'a\nb',
      '',
      'a/',
      'x'.repeat(300),
      `${'a/'.repeat(40)}b`,
    ])
      assert.notEqual(resourcePathProblem(path), null, path);
    for (const path of ['a', 'a/b.c', '...', 'ü/ñ', '.hidden'])
      assert.equal(resourcePathProblem(path), null, path);
  });
});
