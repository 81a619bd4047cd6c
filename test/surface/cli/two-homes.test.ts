import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onlyOnSqlite, onPostgres } from '../../support/test-store.js';
import { run } from './cli-process.js';

const VERIFY = ['verify-signed-events-chain', '--json'];

describe('two homes with one database', () => {
  const top = temporaryFolder('two-homes');
  const own = { SVC_DB: join(top, 'shared.db') };
  // All daemons of a database on a server have one key.
  const env = onPostgres ? { ...own, SVC_KEY_DIR: join(top, 'keys') } : own;
  const [one, two, three] = ['one', 'two', 'three'].map((name) => join(top, name)) as [
    string,
    string,
    string,
  ];
  const register = async (home: string, agent: string) => {
    const words = ['agents', 'register', '--agent-id', agent, '--agent-type', 'human'];
    const { code, err } = await run(home, words, { env });
    assert.equal(code, 0, err);
  };

  it('both verify the audit chain, also where a daemon was killed and started again', async (t) => {
    const first = await startDaemonProcess(one, await freePort(), env);
    const second = await startDaemonProcess(two, await freePort(), env);
    t.after(() => second.end('SIGTERM'));
    await register(one, 'ai:a');
    await register(two, 'ai:b');
    await first.end('SIGKILL');
    await register(two, 'ai:c');
    const again = await startDaemonProcess(one, await freePort(), env);
    t.after(() => again.end('SIGTERM'));
    await register(two, 'ai:d');
    for (const home of [one, two]) {
      const { code, out, err } = await run(home, VERIFY, { env });
      assert.equal(code, 0, err);
      assert.equal((JSON.parse(out) as Record<string, unknown>)['head'], 'sound', out);
    }
    if (onPostgres) return;
    const said = await run(one, VERIFY.slice(0, 1), { env });
    const key = (await run(two, ['identity', 'export-pub', '--agent-id', 'daemon'])).out.trim();
    assert.match(said.out, /for the last \d of them only /);
    assert.ok(said.out.includes(key), said.out);
  });

  it('a third with a key of its own is refused by a server, and told what to do', {
    skip: !onPostgres && 'a file takes the keys of several nodes',
  }, async () => {
    const { code, err } = await run(three, ['list'], { env: own });
    assert.equal(code, 78, err);
    assert.match(err, /belongs to the node peer-\w+.*SVC_KEY_DIR/);
  });

  it('a third names the keys that it wants, with a code of its own, and takes one', {
    skip: onlyOnSqlite('a server refuses a node with another key'),
  }, async () => {
    const unknown = await run(three, VERIFY, { env });
    assert.equal(unknown.code, 5, unknown.err);
    assert.match(unknown.err, /AUDIT_KEY_WANTED/);
    const key = (await run(two, ['identity', 'export-pub', '--agent-id', 'daemon'])).out.trim();
    const known = await run(three, [...VERIFY, '--keys', key], { env });
    assert.equal(known.code, 0, known.err);
    const { out } = await run(three, ['doctor', '--json'], { env });
    assert.match(out, /AUDIT_KEY_WANTED/);
    assert.doesNotMatch(out, /AUDIT_CHAIN_BROKEN/);
  });

  it('both verify the chain of a backup that one of them put back', {
    skip: onlyOnSqlite('a backup is a copy of the file'),
  }, async () => {
    const made = await run(two, ['backup', '--to', join(top, 'backups'), '--json'], { env });
    assert.equal(made.code, 0, made.err);
    await register(two, 'ai:e');
    const { path } = JSON.parse(made.out) as { readonly path: string };
    const restored = await run(two, ['restore', '--from', path, '--json'], { env });
    assert.equal(restored.code, 0, restored.err);
    for (const home of [one, two]) {
      const { code, err } = await run(home, VERIFY, { env });
      assert.equal(code, 0, err);
    }
  });
});
