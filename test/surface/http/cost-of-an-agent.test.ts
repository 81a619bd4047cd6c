import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemCrypto } from '../../../node/seams.js';
import { openAs } from '../../../node/threads/open-database.js';
import { detailsOf, type Result } from '../../../protocol/base/result.js';
import { DEFAULT_NODE_POLICY } from '../../../protocol/decide/node-policy.js';
import type { Command, OutcomeOf } from '../../../protocol/release.js';
import { repairOf } from '../../../protocol/replication/repair-subjects.js';
import type { Connection } from '../../../storage/sql/connection.js';
import { Writer } from '../../../storage/sql/writer.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../../support/memories.js';
import { openBeside } from '../../support/test-store.js';

const STORAGE_BYTES = 20_000;
const WRITTEN_BYTES = 200_000;
const REGISTRATIONS = 5;
const TEXT = 'x'.repeat(15_000);

type Json = Record<string, unknown>;

describe('the cost of an agent over HTTP', () => {
  const home = temporaryFolder('m5');
  let daemon: DaemonProcess;
  const start = async () => {
    daemon = await startDaemonProcess(home, await freePort(), {
      SVC_MAX_STORAGE_BYTES: String(STORAGE_BYTES),
      SVC_MAX_REGISTRATIONS_PER_DAY: String(REGISTRATIONS),
    });
  };
  before(start);
  after(() => daemon.end('SIGKILL'));

  const send = async (agent: string, method: string, path: string, body?: object) => {
    const answer = await fetch(`${daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Json;
    return { status: answer.status, json, retryAfter: answer.headers.get('retry-after') };
  };
  const store = async (agent: string, namespace: string, content: string) => {
    const { status, json } = await send(agent, 'POST', '/memories', { title: 't', namespace, content });
    return { status, id: String(json['id']), json };
  };
  const register = (agent: string, capabilities: readonly string[] = []) =>
    send(agent, 'POST', '/agents', { agent_id: agent, agent_type: 'ai:coder', capabilities });
  const counts = () => {
    const db = openBeside({ home });
    try {
      const one = (sql: string) => db.prepare(sql).pluck().get() as number;
      return {
        operations: one('SELECT count(*) FROM operations'),
        audit: one('SELECT count(*) FROM signed_events'),
        bytes: one("SELECT sum(length(payload)) FROM operations WHERE namespace <> '_agents'"),
      };
    } finally {
      db.close();
    }
  };
  let id = '';

  it('ends updates at the written bytes of the day', async () => {
    id = (await store('ai:a', 'one', TEXT)).id;
    let taken = 0;
    let refused = await send('ai:a', 'PUT', `/memories/${id}`, { content: `${TEXT}0` });
    for (; refused.status === 200 && taken < 100; taken += 1) {
      refused = await send('ai:a', 'PUT', `/memories/${id}`, { content: `${TEXT}${taken % 10}` });
    }
    const { code, limit, current, max, agent_id, retry_after_secs } = refused.json;
    assert.deepEqual(
      [refused.status, code, limit, max, agent_id],
      [429, 'QUOTA_EXCEEDED', 'written_bytes_per_day', WRITTEN_BYTES, 'ai:a'],
    );
    assert.equal(refused.retryAfter, String(retry_after_secs));
    // Each payload is a little longer than its text, and the write that fills the day is still taken.
    assert.equal(taken + 1, Math.ceil(WRITTEN_BYTES / (TEXT.length + 1000)));
    assert.ok(Number(current) >= WRITTEN_BYTES && Number(current) < WRITTEN_BYTES + 2 * TEXT.length);
    assert.equal(counts().bytes, current);
  });

  it('refuses the agent everywhere, and no other agent; it may still remove', async () => {
    assert.equal((await store('ai:a', 'two', 'short')).status, 429);
    assert.equal((await store('ai:b', 'two', 'short')).status, 201);
    const status = await send('ai:a', 'POST', '/quota/status', {});
    assert.ok(Number(status.json['current_written_bytes_today']) >= WRITTEN_BYTES);
    assert.equal(status.json['max_written_bytes_per_day'], WRITTEN_BYTES);
  });

  it('keeps nothing of registrations that change nothing', async () => {
    assert.equal((await register('ai:r', ['one'])).status, 201);
    const registered = counts();
    for (let n = 0; n < 50; n += 1) assert.equal((await register('ai:r', ['one'])).status, 201);
    assert.deepEqual(counts(), registered);
  });

  it('ends new and changed registrations at their number of the day', async () => {
    const answers: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const one = n % 2 === 0 ? await register(`ai:made-${n}`) : await register('ai:r', [`${n}`]);
      answers.push(one.status);
    }
    assert.deepEqual(answers, [201, 201, 201, 201, 429, 429, 429, 429, 429, 429]);
    const { status, json, retryAfter } = await register('ai:late');
    const { code, limit, current, max, retry_after_secs } = json;
    assert.deepEqual(
      [status, code, limit, current, max],
      [429, 'QUOTA_EXCEEDED', 'registrations_per_day', REGISTRATIONS, REGISTRATIONS],
    );
    assert.equal(retryAfter, String(retry_after_secs));
    assert.equal(counts().audit, REGISTRATIONS);
  });

  it('refuses both after a restart', async () => {
    await daemon.end('SIGTERM');
    await start();
    const update = await send('ai:a', 'PUT', `/memories/${id}`, { content: 'short' });
    assert.deepEqual([update.status, update.json['limit']], [429, 'written_bytes_per_day']);
    const late = await register('ai:late');
    assert.deepEqual([late.status, late.json['limit']], [429, 'registrations_per_day']);
    assert.equal((await register('ai:made-0')).status, 201);
    assert.equal((await send('ai:a', 'DELETE', `/memories/${id}`)).status, 200);
  });
});

describe('the ledger of written bytes', () => {
  const NOON = Date.parse('2026-07-02T12:00:00.000Z');
  const HOUR = 3_600_000;
  const path = join(temporaryFolder('m5-ledger'), 'mnemesh.db');
  const viewer = { all: false, agentId: 'ai:writer', asNamespace: null };
  let connections: Connection[];
  let writers: Writer[];
  before(() => {
    connections = [1, 2].map(() =>
      openAs({ engine: 'sqlite', path, synchronous: 'OFF' }, 'peer-0000000000000001', {
        busyTimeoutMs: 1000,
      }),
    );
    const quota = {
      memoriesPerDay: 100,
      storageBytes: 2000,
      linksPerDay: 1,
      registrationsPerDay: 3,
      databaseBytes: null,
    };
    const policy = { ...DEFAULT_NODE_POLICY, quota };
    const reportBug = (error: unknown) => {
      throw error;
    };
    writers = connections.map(
      (db) => new Writer({ db, crypto: systemCrypto, reportBug, signer: null, policy }),
    );
  });
  after(() => {
    for (const db of connections) db.close();
  });

  const run = <C extends Command>(command: C, nowMs = NOON, writer = 0): Result<OutcomeOf<C>> =>
    writers[writer]!.run([{ command, nowMs }])[0] as Result<OutcomeOf<C>>;
  const sum = (sql: string) => connections[0]!.prepare(sql).pluck().get() as number;
  const logged = () =>
    sum("SELECT sum(length(payload)) FROM operations WHERE kind NOT IN ('delete', 'agent', 'epoch')");
  const written = () =>
    sum("SELECT sum(current_written_bytes_today) FROM agent_quotas WHERE agent_id = 'ai:writer'");

  it('counts stores, updates, links, imports and standards, from two processes', () => {
    for (const [writer, id] of ['a', 'b'].entries()) {
      assert.ok(run({ ...storing({ id, title: id, namespace: id }), viewer }, NOON, writer).ok);
    }
    assert.ok(run({ ...updating('a', { priority: 9 }), viewer }).ok);
    assert.ok(run({ ...linking('a', 'b'), viewer }, NOON, 1).ok);
    const memory = aMemory({
      id: 'c',
      title: 'c',
      namespace: 'a',
      content: 'c',
    });
    assert.ok(run({ kind: 'import-memory', memory, archive: true, viewer }).ok);
    const standard = { kind: 'set-standard', namespace: 'a', standardId: 'a', parent: null, viewer } as const;
    assert.ok(run(standard).ok);
    assert.equal(written(), logged());
  });

  it('counts nothing for what a peer sends and what is removed', () => {
    const before = written();
    const memory = aMemory({
      id: 'd',
      title: 'd',
      namespace: 'a',
      content: 'd',
    });
    assert.ok(run({ kind: 'import-memory', memory, archive: true }).ok);
    assert.ok(run({ ...deleting('c'), viewer: OPERATOR }).ok);
    assert.equal(written(), before);
  });

  it('keeps the count when the bytes are counted again', () => {
    const before = written();
    connections[0]!.exec('UPDATE agent_quotas SET current_storage_bytes = 1');
    const recount = [{ kind: 'memory', namespace: 'a' }];
    assert.ok(run({ ...repairOf({ subjects: [] }), recount, recountQuotas: true }).ok);
    assert.equal(written(), before);
    assert.notEqual(
      sum("SELECT current_storage_bytes FROM agent_quotas WHERE agent_id = 'ai:writer' AND namespace = 'a'"),
      1,
    );
  });

  it('sees what the other process wrote, and begins again the next day', () => {
    const change = (n: number, nowMs = NOON) =>
      run({ ...updating(n % 2 === 0 ? 'a' : 'b', { content: 'x'.repeat(1000 + n) }), viewer }, nowMs, n % 2);
    let n = 0;
    while (change(n).ok) n += 1;
    assert.ok(n > 5 && n < 20, `${n} updates`);
    const refused = change(n + 1);
    assert.deepEqual(
      refused.ok
        ? {}
        : { code: refused.error.code, limit: detailsOf(refused.error, 'QUOTA_EXCEEDED')?.limit },
      {
        code: 'QUOTA_EXCEEDED',
        limit: 'written_bytes_per_day',
      },
    );
    assert.ok(written() >= 20_000 && written() < 22_000, `${written()} bytes`);
    assert.ok(change(n, NOON + 12 * HOUR).ok);
    const today = "agent_id = 'ai:writer' AND day_started_at = '2026-07-03T00:00:00.000Z'";
    const begun = sum(`SELECT sum(current_written_bytes_today) FROM agent_quotas WHERE ${today}`);
    assert.ok(begun > 1000 && begun < 4000, `${begun} bytes`);
  });

  it('shows at most once an hour that an agent was there, without an audit row', () => {
    const record = (nowMs: number) => {
      const now = new Date(nowMs).toISOString();
      const metadata = { agent_id: 'ai:r', agent_type: 'ai:coder', capabilities: [], last_seen_at: now };
      const fields = { id: 'r', title: 'agent:ai:r', namespace: '_agents', content: 'ai:coder', metadata };
      const memory = aMemory(fields);
      return { kind: 'register-agent', memory, spareId: 's', viewer: OPERATOR, admin: false } as const;
    };
    const day = NOON + 24 * HOUR;
    const seen = (nowMs: number) => {
      const { version } = connections[0]!.prepare("SELECT version FROM memories WHERE id = 'r'").get() as {
        version: number;
      };
      assert.ok(run(record(nowMs), nowMs).ok);
      const after = connections[0]!
        .prepare("SELECT version, metadata ->> '$.last_seen_at' AS at FROM memories WHERE id = 'r'")
        .get() as { version: number; at: string };
      return [after.version - version, Date.parse(after.at)];
    };
    assert.ok(run(record(day), day).ok);
    assert.deepEqual(seen(day + HOUR - 1), [0, day]);
    assert.deepEqual(seen(day + HOUR), [1, day + HOUR]);
    assert.deepEqual(seen(day + HOUR + 1), [0, day + HOUR]);
    // A clock that was set back.
    assert.deepEqual(seen(day + 1000), [1, day + 1000]);
    assert.equal(sum('SELECT count(*) FROM signed_events'), 1);
  });
});
