import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { Progress } from '../../../cli/progress.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { onPostgres } from '../../support/test-store.js';
import { event } from '../../support/wait.js';
import { run } from './cli-process.js';

const HAS_TERMINALS = spawnSync('script', ['--version']).status === 0;
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** Runs a command with a terminal as standard error, standard output in a file. */
async function onTerminal(home: string, args: readonly string[]) {
  const file = join(home, `out-${args[0]}`);
  const command = `${[process.execPath, MAIN, ...args].map(quoted).join(' ')} > ${quoted(file)}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: cleanEnvironment(home),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const [code] = await event('the command ends', child, 'close', { withinMs: 60_000 });
  return { code, screen, out: readFileSync(file, 'utf8') };
}

function fakeStream(isTTY: boolean) {
  let text = '';
  const stream = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    }),
    { isTTY },
  );
  return { stream, text: () => text };
}

/** Makes a backup, which shows its steps; answers where it is. */
async function backedUp(home: string): Promise<string> {
  const { code, screen, out } = await onTerminal(home, ['backup', '--to', join(home, 'b'), '--json']);
  assert.equal(code, 0, screen);
  for (const step of ['copying', 'reading the copy, 100 %', 'checking its pages']) {
    assert.ok(screen.includes(`\rbackup: ${step}`), screen);
  }
  assert.ok(screen.endsWith('\r\u001b[K'), JSON.stringify(screen));
  return (JSON.parse(out) as { path: string }).path;
}

describe('progress', { timeout: 120_000 }, () => {
  it('writes over its own line, and clears it at the end', () => {
    const { stream, text } = fakeStream(true);
    const progress = new Progress(stream, 'rows:');
    progress.end();
    assert.equal(text(), '');
    progress.update(500);
    progress.update(1000, 1200);
    progress.end();
    progress.end();
    assert.equal(text(), '\rrows: 500\u001b[K\rrows: 1000 of 1200\u001b[K\r\u001b[K');
  });

  it('is silent where nobody looks', () => {
    const { stream, text } = fakeStream(false);
    const progress = new Progress(stream, 'rows:');
    progress.update(1);
    progress.say('copying');
    progress.end();
    assert.equal(text(), '');
  });

  it('shows long work on a terminal, and leaves the answer alone', async (context) => {
    if (!HAS_TERMINALS) return context.skip('there is no script(1) here to make a terminal');
    const home = temporaryFolder('progress');
    const memories = Array.from({ length: 1100 }, (_, n) => ({
      title: `row ${n}`,
      content: 'x',
      tier: 'mid',
    }));
    const imported = await run(home, ['import', '--json'], {
      stdin: JSON.stringify({ memories, links: [] }),
    });
    assert.equal(imported.code, 0, imported.err);

    // A backup is a copy of the file.
    const path = onPostgres ? null : await backedUp(home);
    const forget = await onTerminal(home, ['forget', '--confirm-global', '--yes', '--json']);
    assert.equal(forget.code, 0, forget.screen);
    assert.equal((JSON.parse(forget.out) as { deleted: number }).deleted, 1100);
    assert.ok(forget.screen.includes('\rforgotten memories: 500 of 1100'), forget.screen);
    assert.ok(forget.screen.endsWith('\r\u001b[K'));

    const purge = await onTerminal(home, ['archive', 'purge', '--yes', '--json']);
    assert.ok(purge.screen.includes('\rpurged copies: 1000'), purge.screen);
    if (path === null) return;
    const restore = await onTerminal(home, ['restore', '--from', path, '--json']);
    assert.equal(restore.code, 0, restore.screen);
    assert.ok(restore.screen.includes('\rrestore: checking its pages'), restore.screen);
    assert.equal((JSON.parse(restore.out) as { restored: boolean }).restored, true);
  });

  it('shows nothing to programs', async () => {
    const home = temporaryFolder('progress-none');
    await run(home, ['store', '-T', 't', '-c', 'c']);
    const copied = onPostgres ? [] : [['backup', '--to', join(home, 'b')]];
    for (const args of [...copied, ['forget', '--confirm-global'], ['gc']]) {
      const { code, err } = await run(home, args);
      assert.deepEqual([code, err], [0, '']);
    }
  });
});
