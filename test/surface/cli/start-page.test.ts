import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { firstRun, keptFor } from '../../../cli/kept-data.js';
import { Terminal } from '../../../cli/terminal.js';
import { defaultsIn } from '../../../node/config/settings.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onPostgres, shownStore, unusableStore } from '../../support/test-store.js';
import { commandsIn, run } from './cli-process.js';

describe('the program without a command', () => {
  it('says what to do first, and makes nothing', async () => {
    const home = join(temporaryFolder('start'), 'none');
    const { code, out, err } = await run(home, []);
    assert.deepEqual([code, err], [0, '']);
    const made = `data ${shownStore(home)} (${onPostgres ? 'its tables are ' : ''}made by the first command) memories`;
    assert.ok(out.replace(/\s+/g, ' ').includes(made), out);
    assert.match(out, /\n {2}memories +none\n {2}kept +90 days after their last use; /);
    assert.match(out, /\n {2}daemon +does not run; /);
    assert.match(out, /\nNext:\n {2}store /);
    assert.match(out, /\n {2}install --help +Let an agent use this memory\n/);
    assert.ok(!existsSync(home));
    assert.deepEqual(JSON.parse((await run(home, ['--json'])).out), {
      ...{ version: JSON.parse((await run(home, ['--json'])).out).version, home, db: shownStore(home) },
      ...{ memories: 0, namespaces: 0, daemon: false },
    });
  });

  it('counts what the caller sees', async () => {
    const home = temporaryFolder('start-rows');
    const mnemesh = commandsIn(home);
    await mnemesh('store', 'One', '-n', 'a', '--scope', 'private', '--agent-id', 'ai:ann');
    await mnemesh('store', 'Two', '-n', 'b', '--agent-id', 'ai:ann');
    assert.match((await mnemesh()).out, /\n {2}memories +2, in 2 namespaces\n/);
    assert.match((await mnemesh()).out, /\nNext:\n {2}recall /);
    const other = await run(home, ['--json'], { env: { SVC_AGENT_ID: 'ai:ben' } });
    assert.equal(JSON.parse(other.out).memories, 1);
    const elsewhere = await mnemesh('--db', join(home, 'other.db'));
    assert.match(elsewhere.out, /\n {2}memories +none\n/);
  });

  it('knows whether the daemon runs', async () => {
    const daemon = await startDaemonProcess(temporaryFolder('start-daemon'), await freePort());
    assert.match((await run(daemon.home, [])).out, /\n {2}daemon +runs\n/);
    await daemon.end('SIGTERM');
    assert.match((await run(daemon.home, [])).out, /\n {2}daemon +does not run; /);
  });

  it('refuses a database that cannot be used, as every command does', async () => {
    const home = temporaryFolder('start-damaged');
    const { code, out, err } = await run(home, [], { env: unusableStore(home) });
    assert.deepEqual([code, out], [onPostgres ? 75 : 70, '']);
    assert.match(err, onPostgres ? /cannot be reached/ : /SQLITE_NOTADB/);
  });
});

describe('the first run', () => {
  const settings = defaultsIn(temporaryFolder('first-run'));

  async function toldAt(isTTY: boolean, act: () => void): Promise<string> {
    const errors = Object.assign(new PassThrough(), { isTTY });
    const first = firstRun(settings, new Terminal(new PassThrough(), errors));
    act();
    await first.told();
    return String(errors.read() ?? '');
  }

  it('tells a person at a terminal once where the data is and how long it is kept', async () => {
    const make = () => writeFileSync(settings.dbPath, '');
    assert.equal(await toldAt(true, () => undefined), '', 'nothing was made');
    assert.equal(
      await toldAt(true, make),
      `the memory is new: ${settings.dbPath}\n  memories are kept 90 days after their last use; with --tier short 6 hours, with --tier long for good\n`,
    );
    assert.equal(await toldAt(true, make), '', 'it was there before');
  });

  it('tells a program nothing', async () => {
    const elsewhere = { ...settings, dbPath: join(settings.home, 'second.db') };
    const errors = new PassThrough();
    const first = firstRun(elsewhere, new Terminal(new PassThrough(), errors));
    writeFileSync(elsewhere.dbPath, '');
    await first.told();
    assert.equal(errors.read(), null);
  });

  it('says what the settings say', () => {
    const kept = keptFor({ ...settings, midTtlSeconds: null, shortTtlSeconds: 90, longTtlSeconds: 86_400 });
    assert.equal(kept, 'for good; with --tier short 90 seconds, with --tier long 1 day');
  });
});
