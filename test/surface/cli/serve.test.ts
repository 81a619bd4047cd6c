import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cleanEnvironment, MAIN, temporaryFolder, withFile } from '../../support/daemon-process.js';
import { shownStore } from '../../support/test-store.js';
import { event } from '../../support/wait.js';
import { run } from './cli-process.js';

function serve(home: string, ...args: string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...args], { env: cleanEnvironment(home) });
}

async function printed(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let out = '';
  for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    out += chunk;
    if (pattern.test(out)) break;
  }
  return out;
}

describe('serve', () => {
  it('prints its address, where the data lives and commands that work, and ends with 0 at the first signal', async () => {
    const home = temporaryFolder('serve');
    const child = serve(home);
    const out = await printed(child, /recall .*\n/);
    const url = /listens on (http:\/\/127\.0\.0\.1:\d+)\n/.exec(out)?.[1];
    assert.ok(url !== undefined, out);
    assert.ok(out.includes(`data: ${shownStore(home)}\nmemories are kept 90 days after their last use; `));
    const commands = out.split('\n').filter((line) => line.startsWith('  '));
    assert.equal(commands.length, 3);
    assert.doesNotMatch(out, /another daemon/);
    const second = serve(home);
    assert.match(
      await printed(second, /recall .*\n/),
      /\nanother daemon serves this database already: both answer/,
    );
    second.kill('SIGTERM');
    assert.equal((await event('the second one ends', second, 'exit'))[0], 0);
    assert.equal((await fetch(`${url}/api/v1/health`)).status, 200);
    for (const [index, expected] of [
      [1, /^stored: /],
      [2, /We deploy on Sundays/],
    ] as const) {
      // The command stands as it is typed from this folder.
      const shell = spawn('sh', ['-c', commands[index]!], { env: cleanEnvironment(home) });
      let answer = '';
      shell.stdout.setEncoding('utf8').on('data', (text: string) => {
        answer += text;
      });
      await event('the command ends', shell, 'close');
      assert.match(answer, expected);
    }
    child.kill('SIGTERM');
    const [code] = await event('serve ends', child, 'exit');
    assert.equal(code, 0);
  });

  it('shows commands that reach this node from a terminal without its variables', async () => {
    const place = temporaryFolder('serve hints');
    const elsewhere = temporaryFolder('serve-elsewhere');
    const environment = cleanEnvironment(elsewhere, { SVC_STORE_URL: '' });
    for (const [home, variables, args] of [
      ['a', {}, []],
      ['b', { SVC_KEY_DIR: join(place, 'b keys'), SVC_DB: join(place, 'b.db') }, []],
      ['c', { SVC_NO_CONFIG: '1' }, ['--db', join(place, "c's.db")]],
    ] as const) {
      const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...args], {
        env: cleanEnvironment(join(place, home), withFile(args, variables)),
      });
      const out = await printed(child, /recall .*\n/);
      const commands = out.split('\n').filter((line) => line.startsWith('  '));
      const said = spawnSync('sh', ['-c', commands[1]!], { env: environment, encoding: 'utf8' });
      assert.match(said.stdout, /^stored: /, said.stderr);
      const found = spawnSync('sh', ['-c', commands[2]!], { env: environment, encoding: 'utf8' });
      assert.match(found.stdout, /We deploy on Sundays/, found.stderr);
      const url = /listens on (\S+)/.exec(out)![1]!;
      const listed = (await (await fetch(`${url}/api/v1/memories`)).json()) as { count: number };
      assert.equal(listed.count, 1, 'the node itself has it');
      child.kill('SIGTERM');
      assert.equal((await event('serve ends', child, 'exit'))[0], 0);
    }
    assert.deepEqual(readdirSync(elsewhere), [], 'no other home was touched');
  });

  it('takes two signals at once for one, as npm passes on what the terminal sent already', async () => {
    const child = serve(temporaryFolder('serve-twice'), '--json');
    const out = await printed(child, /\n/);
    assert.equal(JSON.parse(out).host, '127.0.0.1');
    child.kill('SIGINT');
    child.kill('SIGINT');
    const [code, signal] = await event('serve ends', child, 'exit');
    assert.deepEqual([code, signal], [0, null]);
  });

  it('names a port that is taken and ends with 75', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await event('the port is taken', taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, out, err } = await run(temporaryFolder('serve-taken'), ['serve', '--port', String(port)]);
    taken.close();
    assert.equal(code, 75, err);
    assert.equal(out, '');
    assert.match(err, new RegExp(`${port}.*choose another --port`));
  });
});
