import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandTree } from '../../../cli/completions/command-tree.js';
import { everyCommand } from '../../../cli/every-command.js';
import { NATIVE_COMMANDS } from '../../../cli/native-commands.js';
import { completed } from '../../../cli/shell/shell-command.js';
import { wordsOf } from '../../../cli/shell/split-line.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { runAlone } from './cli-process.js';

describe('the shell', { timeout: 120_000 }, () => {
  it('runs one line after another, by short names too, and goes on after a failure', async () => {
    const home = temporaryFolder('shell');
    const lines = [
      'store --title "first note" --content \'it is said\' --json',
      'nonsense',
      'store --title "open',
      'ls --json',
      's said --json',
      'serve',
      'stats --json',
      'quit',
      'store --title never --content never',
    ];
    const { code, out, err } = await runAlone(home, ['shell'], { stdin: `${lines.join('\n')}\n` });
    const answers = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(answers[0]!['title'], 'first note');
    assert.equal((answers[1]!['memories'] as unknown[]).length, 1);
    assert.equal((answers[2]!['results'] as unknown[]).length, 1);
    assert.equal(answers.length, 4);
    assert.match(err, /unknown command "nonsense"/);
    assert.match(err, /a " is not closed/);
    assert.match(err, /run mnemesh serve outside of the shell/);
    assert.equal(code, 0, 'that of the last line');
  });

  it('updates with name=value, and ends with the code of its last line', async () => {
    const home = temporaryFolder('shell-update');
    const made = await runAlone(home, ['store', '--title', 'a', '--content', 'b', '--json']);
    const { id } = JSON.parse(made.out) as { id: string };
    const stdin = `u ${id} title="a new title" priority=7 --json\nget ${id} --json\nget nobody\n`;
    const { code, out } = await runAlone(home, ['shell'], { stdin });
    const { memory } = JSON.parse(out.trimEnd().split('\n')[1]!) as {
      memory: { title: string; priority: number };
    };
    assert.deepEqual([memory.title, memory.priority], ['a new title', 7]);
    assert.equal(code, 1);
  });

  it('splits words as a shell does', () => {
    const split = (line: string) => (wordsOf(line).ok ? (wordsOf(line) as { value: unknown }).value : null);
    assert.deepEqual(split('a  "b c" d\\ e \'f "g\' ""'), ['a', 'b c', 'd e', 'f "g', '']);
    assert.equal(split('a "b'), null);
  });

  it('completes commands, members of groups, and flags', async () => {
    const tree = commandTree(await everyCommand(NATIVE_COMMANDS));
    assert.deepEqual(completed('namespac', tree)[0].includes('namespaces '), true);
    assert.deepEqual(completed('logs t', tree)[0], ['tail ']);
    assert.deepEqual(completed('store --tit', tree)[0], ['--title ']);
    assert.deepEqual(completed('logs tail --foll', tree)[0], ['--follow ', '--follow-interval-ms ']);
    assert.equal(completed('ser', tree)[0].includes('serve '), false);
  });
});
