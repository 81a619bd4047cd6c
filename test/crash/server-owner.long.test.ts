// Runs alone: it measures how fast duties move.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { PostgresServer, withoutOwnServer } from '../support/postgres-server.js';
import { ServerDaemons } from '../support/server-daemons.js';
import { until } from '../support/wait.js';

/** The duties move within this time; more than the second that is promised, for a machine that is busy. */
const WITHIN_MS = 3000;

describe('the owner of a database on a server', { skip: withoutOwnServer }, () => {
  let server: PostgresServer;
  let daemons: ServerDaemons;
  before(async () => {
    server = await PostgresServer.startOwn();
  });
  after(() => server.stop());
  beforeEach(async () => {
    daemons = new ServerDaemons(server, await server.database());
    await daemons.start('a');
    await until('the first daemon owns the database', async () => (await daemons.owner()) === 'a');
    await daemons.start('b');
  });
  afterEach(() => daemons.stop());

  const owned = (name: string) =>
    until(`${name} owns the database`, async () => (await daemons.owner()) === name, { withinMs: WITHIN_MS });
  const fencing = async () =>
    Number((await daemons.ask('SELECT fencing FROM database_owner'))[0]?.['fencing']);

  it('is another daemon when it was killed', async (t) => {
    const before = await fencing();
    const beganMs = performance.now();
    await daemons.kill('a');
    await owned('b');
    t.diagnostic(`moved in ${Math.round(performance.now() - beganMs)} ms`);
    assert.equal(await fencing(), before + 1);
  });

  it('is another daemon when it stops without a word, and not both when it goes on', async (t) => {
    const { child } = daemons.running.get('a')!;
    const beganMs = performance.now();
    child.kill('SIGSTOP');
    await owned('b');
    t.diagnostic(`moved in ${Math.round(performance.now() - beganMs)} ms`);
    const moved = await fencing();
    child.kill('SIGCONT');
    // The one that was silent must take calls, and must not take the duties back.
    const { base } = daemons.running.get('a')!;
    await until('it answers again', async () => (await fetch(`${base}/health`)).ok);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.deepEqual([await daemons.owner(), await fencing()], ['b', moved]);
  });

  it('is whoever is back first after the server was lost, and nobody meanwhile', async () => {
    await server.kill();
    await server.restart();
    await until('one owns the database', async () => (await daemons.owner()) !== null, { withinMs: 10_000 });
    const name = (await daemons.owner())!;
    const other = name === 'a' ? 'b' : 'a';
    await daemons.kill(name);
    await owned(other);
  });

  it('leaves its duties at once when it ends in good order', async () => {
    await daemons.running.get('a')!.end('SIGTERM');
    daemons.running.delete('a');
    await owned('b');
  });
});
