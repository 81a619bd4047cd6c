import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { onlyOnSqlite } from '../../support/test-store.js';
import { untilAnswer } from '../../support/wait.js';
import { run } from '../cli/cli-process.js';

/** A database that may hold so much and no more. */

type Json = Record<string, unknown>;
const TEXT = 'so much text that a few hundred of them fill the room. '.repeat(500);

describe('a daemon with little room', {
  timeout: 240_000,
  skip: onlyOnSqlite('a server finds free pages by itself'),
}, () => {
  const home = temporaryFolder('room');
  const max = 3_000_000;
  let daemon: DaemonProcess;
  before(async () => {
    writeFileSync(join(home, 'config.toml'), `[storage]\nmax_bytes = ${max}\n`, { mode: 0o600 });
    const settings = { SVC_EMBED_BACKEND: 'none' };
    daemon = await startDaemonProcess(home, await freePort(), {
      ...settings,
      SVC_ADMIN_AGENT_IDS: 'ai:a',
      SVC_ADMIN_HEADER_TRUST: '1',
    });
  });
  after(() => daemon.end('SIGTERM'));
  const send = async (method: string, path: string, body?: unknown, by = 'ai:a') => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': by };
    const response = await fetch(`${daemon.base}${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json };
  };
  let stored = 0;
  const store = async (more: Json = {}) => {
    stored += 1;
    const body = {
      title: `memory ${stored}`,
      content: TEXT,
      detect_conflicts: false,
      namespace: 'room',
      ...more,
    };
    return send('POST', '/memories', body);
  };
  const id = ({ json }: { json: Json }) => String(json['id']);
  const isThere = async (memory: string) => (await send('GET', `/memories/${memory}`)).status === 200;
  const room = async () => (await send('GET', '/room')).json;

  it('lets go memories of the short tier, the longest unused first, and never what is named', async () => {
    const linked = [id(await store({ tier: 'short' })), id(await store({ tier: 'short' }))];
    const link = { source_id: linked[0], target_id: linked[1], relation: 'related_to' };
    assert.equal((await send('POST', '/links', link)).status, 201);
    const standard = id(await store({ tier: 'short', namespace: 'room/standard' }));
    const path = '/namespaces/room%2Fstandard/standard';
    assert.equal((await send('POST', path, { id: standard })).status, 201);
    const guarded = { tier: 'short', namespace: 'room/guarded' };
    const [waiting, rules] = [id(await store(guarded)), id(await store(guarded))];
    const governance = { write: 'approve', promote: 'any', delete: 'owner', read: 'any', approver: 'human' };
    const policy = { id: rules, governance };
    assert.equal((await send('POST', path.replace('standard', 'guarded'), policy)).status, 201);
    assert.equal((await send('PUT', `/memories/${waiting}`, { priority: 7 })).status, 202);
    const mid = id(await store({ tier: 'mid' }));
    const first = id(await store({ tier: 'short' }));
    let refused = 0;
    let newest = '';
    for (let written = 0; written < 120; written += 1) {
      const answer = await store({ tier: 'short' });
      if (answer.status === 201) newest = id(answer);
      else {
        assert.deepEqual([answer.status, answer.json['code']], [507, 'STORAGE_FULL']);
        refused += 1;
        // Room is made beside the writes.
        await untilAnswer('room is made', room, ({ state }) => state !== 'full');
      }
    }
    assert.ok(refused < 30, `${refused} refused`);
    const made = await untilAnswer('room is made', room, ({ state }) => state !== 'full');
    const { removed } = (made['last'] as { facts: Json })['facts'] as unknown as {
      removed: Record<string, number>;
    };
    assert.ok(removed['short']! > 0, JSON.stringify(made));
    const kept = await Promise.all([...linked, standard, waiting, mid, newest].map(isThere));
    assert.ok(kept.every(Boolean), String(kept));
    assert.equal(await isThere(first), false);
    assert.ok(Number(made['used_bytes']) < max);
    assert.ok(statSync(join(home, 'mnemesh.db')).size < max * 1.3);
    assert.match(daemon.errors(), /memories went to make room in the database/);
    const { json: audit } = await send('GET', '/audit?limit=50');
    assert.ok((audit['rows'] as Json[]).some(({ payload }) => String(payload).includes('"reason":"room"')));
  });

  it('refuses new texts where nothing may go, on the command line too, and takes removals', async () => {
    let last = '';
    for (;;) {
      const answer = await store({ tier: 'long' });
      if (answer.status === 201) last = id(answer);
      else if (
        (await room())['state'] === 'full' &&
        ((await room())['plan'] as Json[]).every(({ memories }) => memories === 0)
      )
        break;
      assert.ok(stored < 1500, 'it is never full');
    }
    const cli = await run(home, ['store', 'more', '--title', 'more', '--json']);
    assert.deepEqual([cli.code, (JSON.parse(cli.err) as Json)['code']], [74, 'STORAGE_FULL']);
    assert.equal((await send('DELETE', `/memories/${last}`)).status, 200);
    const shown = await run(home, ['room']);
    assert.match(shown.out, /state +(full|low)/, shown.err);
    assert.match((await run(home, ['doctor'])).out, /ROOM_(LOW|FULL)|max_bytes/);
    const metrics = await (await fetch(`${daemon.base.replace('/api/v1', '')}/metrics`)).text();
    assert.match(metrics, /svc_database_used_bytes [1-9]/);
  });
});
