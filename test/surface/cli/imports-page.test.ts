import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { PROJECT } from '../../architecture/source-files.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { pageBlocks, pageShell } from '../../support/page-shell.js';

it('the commands of docs/imports.md import their sources', { timeout: 120_000 }, async () => {
  const home = temporaryFolder('imports-page');
  cpSync(join(PROJECT, 'fixtures/import'), join(home, 'fixtures/import'), { recursive: true });
  const shell = pageShell(home);
  const blocks = pageBlocks('imports.md');
  const [first] = blocks('', 'sh');
  assert.match(
    await shell.done(first!),
    /would import 3 memories[\s\S]*imported 3 memories and 2 links from markdown/,
  );
  const page = readFileSync(join(PROJECT, 'docs/imports.md'), 'utf8');
  const commands = [...page.matchAll(/\| `(mnemesh (?:import|export) [^`]*)` \|$/gm)].map(
    ([, command]) => command!,
  );
  assert.equal(commands.length, 9);
  await shell.done('mnemesh export --out backup.json');
  for (const command of commands) {
    const { code, out, err } = await shell.run(command);
    // The table and the lines have rows without a text, to show that they are named.
    const isWhole = !/table\.csv|rows\.jsonl/.test(command);
    assert.equal(code, isWhole ? 0 : 1, `${command}\n${out}${err}`);
    assert.match(out, /imported \d+ memor/, command);
  }
  assert.match(await shell.done(blocks('What becomes of it', 'sh')[0]!), /3 unchanged/);
  const runs = await shell.done(blocks('Again, and back', 'sh')[0]!);
  const run = /^\S+(?= {2}mem0)/m.exec(runs)![0];
  assert.match(await shell.done(`mnemesh import --undo ${run}`), /removed 3 memories of import /);
});
