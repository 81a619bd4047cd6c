import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { memoryStore } from '../../node/operations/core/memory-store.js';
import { verifySignedEventsChain } from '../../node/operations/governance/verify-signed-events-chain.js';
import { memoryForget } from '../../node/operations/lifecycle/memory-forget.js';
import { memoryAgentRegister } from '../../node/operations/meta/memory-agent-register.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { openTestNode } from '../support/test-node.js';
import { onlyOnSqlite, onPostgres, openBeside } from '../support/test-store.js';

const CALLER: Caller = {
  agentId: 'ai:operator',
  claimed: 'explicit',
  viewer: { all: true, agentId: null, asNamespace: null },
  admin: true,
  local: true,
};

let home: string;
let path: string;
const head = () =>
  join(home, readdirSync(home).find((name) => name.endsWith('.audit-head')) ?? 'mnemesh.db.audit-head');

beforeEach(() => {
  home = temporaryFolder('audit');
  path = join(home, 'mnemesh.db');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function withNode<T>(
  run: (call: (operation: Operation, input?: object) => Promise<Report>) => Promise<T>,
  keys = 'keys',
) {
  const node = await openTestNode({ home, dbPath: path, keyDir: join(home, keys) });
  try {
    return await run(async (operation, input = {}) => {
      const answer = await runOperation(
        operation,
        { surface: 'cli', caller: CALLER, input: { ...input }, unknownFields: 'refuse' },
        node.services,
      );
      return answer.ok
        ? { code: 'ok', ...answer.value }
        : { code: answer.error.code, message: answer.error.message, ...answer.error.details };
    });
  } finally {
    await node.close();
  }
}

type Report = Record<string, unknown> & { readonly code: string };

const register = (count: number, keys?: string) =>
  withNode(async (call) => {
    for (let n = 1; n <= count; n += 1) {
      const answer = await call(memoryAgentRegister, {
        agent_id: `ai:${keys ?? ''}${n}`,
        agent_type: 'human',
      });
      assert.equal(answer.code, 'ok');
    }
  }, keys);
const verify = (input = {}, keys?: string) => withNode((call) => call(verifySignedEventsChain, input), keys);
const keyIn = (keys: string) => readFileSync(join(home, keys, 'daemon.pub')).toString('base64url');

/** What somebody with the file in hands can do; the triggers only keep honest programs from it. */
function tamper(sql: string): void {
  const db = openBeside({ path });
  const ways = onPostgres
    ? ['ALTER TABLE signed_events DISABLE TRIGGER USER']
    : ['no_update', 'no_delete'].map((name) => `DROP TRIGGER IF EXISTS signed_events_${name}`);
  for (const way of ways) db.exec(way);
  db.exec(sql);
  db.close();
}

function auditedRows(): number {
  const db = openBeside({ path });
  try {
    return db.prepare('SELECT count(*) FROM signed_events').pluck().get() as number;
  } finally {
    db.close();
  }
}

describe('the audit chain', () => {
  it('holds, from its first row or from a later one, and without any row', async () => {
    assert.deepEqual(await verify(), {
      code: 'ok',
      rows_checked: 0,
      chain_break: null,
      signature_failures: [],
      chain_holds: true,
      unsigned: 0,
      foreign_signatures: 0,
      head: 'none',
      after_head: 0,
      other_keys: [],
    });
    await register(5);
    const whole = await verify();
    assert.deepEqual([whole.code, whole['rows_checked'], whole['head']], ['ok', 5, 'sound']);
    const part = await verify({ since: 3 });
    assert.deepEqual([part.code, part['rows_checked']], ['ok', 2]);
  });

  it('has the head of what was written, not of what was tried on a damaged row', async () => {
    await register(1);
    await withNode(async (call) => {
      assert.equal((await call(memoryStore, { title: 'to be forgotten', content: 'whole' })).code, 'ok');
      const db = openBeside({ path });
      db.exec("UPDATE memories SET content = 'damaged' WHERE namespace = 'global'");
      db.close();
      assert.equal((await call(memoryForget, { namespace: 'global' })).code, 'DATA_DAMAGED');
    });
    const report = await verify();
    assert.deepEqual([report['chain_holds'], report['head']], [true, 'sound']);
    assert.deepEqual(auditedRows(), report['rows_checked']);
  });

  it('takes no update and no delete', async () => {
    await register(1);
    const db = openBeside({ path });
    assert.throws(() => db.exec('DELETE FROM signed_events'), /append-only/);
    assert.throws(() => db.exec("UPDATE signed_events SET agent_id = 'x'"), /append-only/);
    db.close();
  });

  const CHANGES: readonly (readonly [what: string, sql: string, at: number])[] = [
    ['another agent', "UPDATE signed_events SET agent_id = 'ai:x' WHERE sequence = 2", 2],
    ['another payload', `UPDATE signed_events SET payload = '{"agent_id":"ai:9"}' WHERE sequence = 2`, 2],
    ['another time', "UPDATE signed_events SET timestamp = '2020-01-01T00:00:00.000Z' WHERE sequence = 4", 4],
    ['no signature', 'UPDATE signed_events SET signature = NULL WHERE sequence = 3', 3],
    ['a row less', 'DELETE FROM signed_events WHERE sequence = 3', 4],
    ['the first rows less', 'DELETE FROM signed_events WHERE sequence < 3', 3],
    [
      'two rows in each other’s place',
      'UPDATE signed_events SET sequence = CASE sequence WHEN 2 THEN 102 ELSE 103 END WHERE sequence IN (2, 3); UPDATE signed_events SET sequence = 105 - sequence WHERE sequence > 100',
      2,
    ],
  ];
  for (const [what, sql, at] of CHANGES) {
    it(`shows ${what}`, async () => {
      await register(5);
      tamper(sql);
      const report = await verify();
      assert.equal(report.code, 'AUDIT_CHAIN_BROKEN');
      assert.equal(report['chain_holds'], false);
      const places = [report['chain_break'], ...(report['signature_failures'] as number[])];
      assert.ok(places.includes(at), JSON.stringify(report));
    });
  }

  it('shows that its end was cut off', async () => {
    await register(5);
    tamper('DELETE FROM signed_events WHERE sequence > 3');
    const report = await verify();
    assert.deepEqual(
      [report.code, report['chain_break'], report['head']],
      ['AUDIT_CHAIN_BROKEN', null, 'beyond the end: rows were cut off'],
    );
  });

  it('shows that its end was cut off and written anew', async () => {
    await register(3);
    tamper('DELETE FROM signed_events WHERE sequence > 1');
    // As many rows as were cut off, and then more.
    for (const more of [2, 5]) {
      await register(more);
      assert.equal((await verify()).code, 'AUDIT_CHAIN_BROKEN');
    }
  });

  it('shows a head that is gone, damaged, or not this node’s', async () => {
    await register(2);
    const sound = readFileSync(head(), 'utf8');
    for (const text of ['', '{}', sound.replace('"sequence":2', '"sequence":1'), sound.slice(0, 40)]) {
      writeFileSync(head(), text);
      assert.equal((await verify()).code, 'AUDIT_CHAIN_BROKEN', text);
    }
    rmSync(head());
    assert.equal((await verify())['head'], 'missing');
    writeFileSync(head(), sound);
    assert.equal((await verify()).code, 'ok');
  });

  it('goes on when its head lags behind or cannot be written', async () => {
    await register(1);
    const old = readFileSync(head());
    await register(3);
    writeFileSync(head(), old);
    assert.equal((await verify()).code, 'ok');
    await register(4);
    assert.ok(existsSync(head()));
    assert.equal((await verify())['head'], 'sound');
  });
});

const OWN_KEYS = onlyOnSqlite('daemons of a database on a server have one key');

describe('the audit chain of several homes', { skip: OWN_KEYS }, () => {
  const short = ({ code, head: word, after_head, other_keys }: Report) => [
    code,
    word,
    after_head,
    (other_keys as readonly string[]).length,
  ];

  it('holds for every home that wrote into it, whoever wrote last', async () => {
    await register(2, 'one');
    await register(3, 'two');
    assert.deepEqual(short(await verify({}, 'one')), ['ok', 'sound', 3, 1]);
    assert.deepEqual(short(await verify({}, 'two')), ['ok', 'sound', 0, 1]);
    await register(4, 'one');
    for (const [keys, after] of [
      ['one', 0],
      ['two', 2],
    ] as const)
      assert.deepEqual(short(await verify({}, keys)), ['ok', 'sound', after, 1], keys);
  });

  it('says which key it wants in a home that wrote nothing, and takes that key', async () => {
    await register(2, 'one');
    const report = await verify({}, 'three');
    assert.deepEqual([report.code, report['other_keys']], ['AUDIT_KEY_WANTED', [keyIn('one')]]);
    assert.ok(String(report['message']).includes(keyIn('one')), String(report['message']));
    assert.equal((await verify({ keys: [keyIn('one')] }, 'three')).code, 'ok');
    assert.equal((await verify({ keys: [keyIn('three')] }, 'three')).code, 'AUDIT_KEY_WANTED');
    assert.equal((await verify({ keys: ['x'] }, 'three')).code, 'VALIDATION_FAILED');
  });

  it('is not passed by a head of somebody’s own key over a chain that was cut', async () => {
    await register(4, 'one');
    tamper('DELETE FROM signed_events WHERE sequence > 2');
    rmSync(head());
    // What somebody with the file writes, with a key of their own.
    await register(1, 'stranger');
    const report = await verify({}, 'one');
    assert.deepEqual([report.code, report['other_keys']], ['AUDIT_KEY_WANTED', [keyIn('stranger')]]);
    // Nor by a chain of the own key alone, without a head.
    tamper('DELETE FROM signed_events');
    rmSync(head());
    await register(2, 'stranger');
    rmSync(head());
    assert.deepEqual(
      [(await verify({}, 'one')).code, (await verify({}, 'one'))['head']],
      ['AUDIT_CHAIN_BROKEN', 'missing'],
    );
  });

  it('shows in every home what contradicts the head of one', async () => {
    await register(2, 'one');
    await register(4, 'two');
    const sound = readFileSync(head(), 'utf8');
    writeFileSync(head(), sound.replace('"others":[', '"others":[{},'));
    assert.equal((await verify({}, 'one'))['head'], 'damaged');
    writeFileSync(head(), sound);
    tamper('DELETE FROM signed_events WHERE sequence > 5');
    for (const keys of ['one', 'two']) {
      const report = await verify({}, keys);
      assert.deepEqual(
        [report.code, report['head']],
        ['AUDIT_CHAIN_BROKEN', 'beyond the end: rows were cut off'],
      );
    }
    // Nobody signs over it.
    await register(6, 'one');
    for (const keys of ['one', 'two'])
      assert.equal((await verify({}, keys)).code, 'AUDIT_CHAIN_BROKEN', keys);
  });

  it('is read from a head file of a release that knew one head', async () => {
    await register(2, 'one');
    await register(3, 'two');
    const { others: _, ...newest } = JSON.parse(readFileSync(head(), 'utf8')) as Record<string, unknown>;
    writeFileSync(head(), JSON.stringify(newest));
    assert.equal((await verify({}, 'two')).code, 'ok');
    assert.equal((await verify({}, 'one')).code, 'AUDIT_KEY_WANTED');
    await register(4, 'one');
    for (const keys of ['one', 'two']) assert.equal((await verify({}, keys)).code, 'ok', keys);
  });
});
