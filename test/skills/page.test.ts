import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';
import { pageBlocks, pageShell } from '../support/page-shell.js';

it('the commands of docs/skills.md register, show and export its skill', { timeout: 60_000 }, async () => {
  const home = temporaryFolder('skills-page');
  const blocks = pageBlocks('skills.md');
  const [skill] = blocks('SKILL.md', '');
  mkdirSync(join(home, 'skills/deploy/resources/scripts'), { recursive: true });
  writeFileSync(join(home, 'skills/deploy/SKILL.md'), skill!);
  writeFileSync(join(home, 'skills/deploy/resources/scripts/deploy.sh'), 'true\n');
  const [commands] = blocks('From the folder to the agent', 'sh');
  const out = await pageShell(home).done(commands!);
  for (const shown of [/registered +true/, /scripts\/deploy\.sh +script/, /compositional namespaces/])
    assert.match(out, shown);
  const copy = join(home, 'skills/copy-of-deploy');
  assert.ok(existsSync(join(copy, 'resources/scripts/deploy.sh')));
  assert.match(readFileSync(join(copy, 'SKILL.md'), 'utf8'), /look at the health of the service/);
});

it('the commands of skills say what is missing by the names of their options', {
  timeout: 60_000,
}, async () => {
  const { run } = pageShell(temporaryFolder('skills-missing'));
  for (const [command, says] of [
    [
      'register',
      /^error: give either a folder \(folder_path, --manifest\) or a text \(inline_skill, --inline\)\n/,
    ],
    ['register --inline deploy', /^error: SKILL\.md: must begin with a line of three dashes\n/],
    ['get --id 3f2a', /^error: --id: must be the whole id of a skill\n/],
  ] as const) {
    const { code, err } = await run(`mnemesh skill ${command}`);
    assert.equal(code, 2, command);
    assert.match(err, says);
  }
});
