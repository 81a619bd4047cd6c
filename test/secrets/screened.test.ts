import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { type HttpNode, openHttpNode } from '../surface/http/http-node.js';
import { madeSecrets } from './made-secrets.js';

type Row = Record<string, unknown>;

const made = madeSecrets(38, 1);
const ofKind = (kind: string) => made.find((each) => each.kind === kind)!.secret;
const TOKEN = ofKind('github token');
const KEY = ofKind('stripe key');
const ADMIN = { 'x-agent-id': 'ai:admin' };
const ONE = { 'x-agent-id': 'ai:one' };

let node: HttpNode;
let home: string;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'mnemesh-secrets-'));
  const rules = (['off', 'warn', 'refuse'] as const).map(
    (mode) => `[[secrets.namespaces]]\nnamespace_pattern = "${mode}/**"\nmode = "${mode}"\n`,
  );
  writeFileSync(join(home, 'config.toml'), rules.join(''), { mode: 0o600 });
  node = await openHttpNode({
    home,
    dbPath: join(home, 'm.db'),
    adminAgentIds: ['ai:admin'],
    adminHeaderTrust: true,
  });
});
after(async () => {
  await node.close();
  rmSync(home, { recursive: true, force: true });
});

const OPERATOR_CALLER: Caller = {
  ...{ agentId: 'ai:one', claimed: 'explicit', admin: true, local: true },
  viewer: { all: true, agentId: null, asNamespace: null },
};

const send = async (method: string, path: string, body?: Row, headers: Record<string, string> = ONE) => {
  const { status, json } = await node.send(method, `/api/v1${path}`, body, headers);
  return { status, body: json! };
};
const store = (fields: Row, agent = 'ai:one') =>
  send(
    'POST',
    '/memories',
    { title: `t ${Math.random()}`, content: 'c', ...fields },
    { 'x-agent-id': agent },
  );
const memory = async (id: unknown) => (await send('GET', `/memories/${String(id)}`)).body['memory'] as Row;

/** Everything that the node has on its disk. */
const disk = () =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('.sock') && /\./.test(name))
    .map((name) => readFileSync(join(home, name), 'latin1'))
    .join('\n');

describe('a store', () => {
  it('loses its secrets in every field, and says which', async () => {
    const { status, body } = await store({
      title: `key ${TOKEN}`,
      content: `first ${TOKEN} then ${KEY}.`,
      tags: [KEY.slice(0, 40)],
      metadata: { deep: [{ note: `is ${TOKEN}` }], db_password: 'mQ7-tr0ub4dor' },
      citations: [{ uri: `doc:${TOKEN}`, accessed_at: '2026-01-01T00:00:00Z' }],
    });
    assert.equal(status, 201, JSON.stringify(body));
    const found = (body['secrets_found'] as Row[]).map(({ field, kind }) => `${field} ${kind}`);
    assert.deepEqual(found.sort(), [
      'citations[0].uri github-token',
      'content github-token',
      'content stripe-key',
      'metadata.db_password password',
      'metadata.deep[0].note github-token',
      'tags[0] stripe-key',
      'title github-token',
    ]);
    const kept = await memory(body['id']);
    assert.equal(kept['title'], 'key [redacted:github-token]');
    assert.equal(kept['content'], 'first [redacted:github-token] then [redacted:stripe-key].');
    assert.equal((kept['metadata'] as Row)['db_password'], '[redacted:password]');
    assert.ok(!JSON.stringify(kept).includes(TOKEN));
  });

  it('is refused in a namespace that refuses, with the field and the kind and without the secret', async () => {
    const before = await node.counts();
    const { status, body } = await store({ namespace: 'refuse/a', content: `it is ${TOKEN}` });
    assert.deepEqual([status, body['code']], [403, 'SECRET_REFUSED']);
    assert.deepEqual(body['secrets'], [{ field: 'content', kind: 'github-token' }]);
    assert.ok(!JSON.stringify(body).includes(TOKEN.slice(4)));
    assert.equal((await node.counts()).rows, before.rows);
  });

  it('keeps them where it only warns, and is not looked at where that is off', async () => {
    const warned = await store({ namespace: 'warn/a', content: `it is ${TOKEN}` });
    assert.deepEqual(warned.body['secrets_found'], [
      { field: 'content', kind: 'github-token', outcome: 'kept' },
    ]);
    assert.match(String((await memory(warned.body['id']))['content']), new RegExp(TOKEN));
    const off = await store({ namespace: 'off/a', content: `it is ${TOKEN}` });
    assert.equal(off.body['secrets_found'], undefined);
    await send('DELETE', `/memories/${String(warned.body['id'])}`);
    await send('DELETE', `/memories/${String(off.body['id'])}`);
  });

  it('with a secret in the name of a member, or in what cannot be rewritten, is refused', async () => {
    const named = await store({ metadata: { [TOKEN]: 1 } });
    assert.deepEqual([named.status, named.body['code']], [403, 'SECRET_REFUSED']);
    assert.ok(!JSON.stringify(named.body).includes(TOKEN.slice(4)));
    const placed = await store({ namespace: `x/${TOKEN}` });
    assert.deepEqual([placed.status, placed.body['code']], [403, 'SECRET_REFUSED']);
    const unfit = await store({ entity_id: TOKEN, source_uri: `uri:${TOKEN}`, source_span: { a: TOKEN } });
    assert.ok(unfit.status >= 400 && !JSON.stringify(unfit.body).includes(TOKEN.slice(4)));
  });
});

describe('a secret that is hidden', () => {
  it('by characters that nobody sees is found, and they go with it', async () => {
    const split = (text: string) => [...text].join('\u200b');
    const { status, body } = await store({
      ...{ title: `\u200bkey\u00ad ${split(TOKEN)}!`, content: `a\ufeff ${split(KEY)} b` },
      metadata: { ['db_pass\u200dword']: 'mQ7-tr0ub4dor\u2060x' },
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal((body['secrets_found'] as Row[]).length, 3, JSON.stringify(body));
    const kept = JSON.stringify(await memory(body['id']));
    for (const secret of [TOKEN, KEY, 'tr0ub4dor'])
      assert.ok(!kept.replaceAll('\u200b', '').includes(secret));
    assert.match(kept, /\u200bkey\u00ad \[redacted:github-token\]!/);
    assert.match(kept, /a\ufeff \[redacted:stripe-key\] b/);
    const refused = await store({ namespace: 'refuse/h', tags: [split(KEY).slice(0, 60)] });
    assert.equal(refused.body['code'], 'SECRET_REFUSED', JSON.stringify(refused.body));
  });

  it('beside the name of another namespace is judged by the one that it is stored in', async () => {
    for (const metadata of [
      { namespace: 'off/x', note: TOKEN },
      { list: [{ namespace: 'off/x', note: TOKEN }] },
    ]) {
      const { body } = await store({ namespace: 'refuse/n', metadata });
      assert.equal(body['code'], 'SECRET_REFUSED', JSON.stringify(body));
      const redacted = await store({ namespace: 'plain', metadata });
      assert.equal((redacted.body['secrets_found'] as Row[])[0]!['outcome'], 'redacted');
    }
  });
});

describe('a stored secret', () => {
  it('is not taken to a namespace that is stricter: by a move, a copy, a share or a joining', async () => {
    const id = String((await store({ namespace: 'off/m/deep', content: `has ${TOKEN}` })).body['id']);
    const other = String((await store({ namespace: 'off/m/deep', content: 'plain' })).body['id']);
    const refused = async (path: string, body: Row, method = 'POST') => {
      const answer = await send(method, path, body);
      assert.deepEqual([answer.status, answer.body['code']], [403, 'SECRET_REFUSED'], `${method} ${path}`);
      assert.ok(!JSON.stringify(answer.body).includes(TOKEN.slice(4)));
    };
    for (const namespace of ['refuse/m', 'plain']) await refused(`/memories/${id}`, { namespace }, 'PUT');
    await refused('/share', { source_memory_id: id, target_agent_id: 'ai:two' });
    await refused('/consolidate', { ids: [id, other], title: 'joined', namespace: 'refuse/m' });
    assert.equal((await memory(id))['namespace'], 'off/m/deep');
    const moved = await send('PUT', `/memories/${id}`, { namespace: 'off/other' });
    assert.equal(moved.status, 200, JSON.stringify(moved.body));
    await send('PUT', `/memories/${id}`, { namespace: 'warn/m' });
    assert.equal(
      (await send('PUT', `/memories/${id}`, { namespace: 'refuse/m', content: 'clean' })).status,
      403,
    );
    assert.equal((await send('PUT', `/memories/${id}`, { content: 'clean' })).status, 200);
    assert.equal((await send('PUT', `/memories/${id}`, { namespace: 'refuse/m' })).status, 200);
    const undone = await send('POST', `/memories/${id}/undo`, { to: '1' });
    assert.equal(
      (undone.body['memory'] as Row)['namespace'],
      'off/m/deep',
      'a version comes back where it stood',
    );
    await send('DELETE', `/memories/${id}?erase=true`);
  });
});

describe('what a secret can come with besides', () => {
  it('an update, whose namespace is that of its memory', async () => {
    const kept = await store({ namespace: 'off/b' });
    const id = String(kept.body['id']);
    assert.equal(
      (await send('PUT', `/memories/${id}`, { content: `now ${KEY}` })).body['content'],
      `now ${KEY}`,
    );
    await send('DELETE', `/memories/${id}`);
    const plain = String((await store({})).body['id']);
    const changed = await send('PUT', `/memories/${plain}`, { content: `now ${KEY}` });
    assert.equal(changed.body['content'], 'now [redacted:stripe-key]');
    assert.equal((changed.body['secrets_found'] as Row[]).length, 1);
  });

  it('the address of a webhook, which is left alone, because receivers have their token there', async () => {
    const url = `https://example.org/services?token=${TOKEN}`;
    const operation = OPERATIONS.find(({ name }) => name === 'memory_subscribe')!;
    const input = { url, secret: 'of this subscription' };
    const request = { surface: 'mcp', caller: OPERATOR_CALLER, input, unknownFields: 'refuse' } as const;
    const answer = await runOperation(operation, request, node.services);
    assert.ok(answer.ok, JSON.stringify(answer));
    assert.equal(answer.value['url'], url);
    const id = answer.value['id'];
    const unsubscribe = OPERATIONS.find(({ name }) => name === 'memory_unsubscribe')!;
    assert.ok((await runOperation(unsubscribe, { ...request, input: { id } }, node.services)).ok);
  });

  it('a bulk, row by row', async () => {
    const { body } = await send('POST', '/memories/bulk', {
      memories: [
        { title: 'bulk 1', content: TOKEN },
        { title: 'bulk 2', content: TOKEN, namespace: 'refuse/b' },
        { title: 'bulk 3', content: 'plain' },
      ],
    });
    const rows = body['results'] as Row[];
    assert.deepEqual(
      rows.map(({ code, secrets_found: found }) => code ?? (found as Row[] | undefined)?.length ?? 0),
      [1, 'SECRET_REFUSED', 0],
    );
  });

  it('an import, row by row', async () => {
    const { status, body } = await send(
      'POST',
      '/import',
      {
        memories: [
          { title: 'import 1', content: `is ${TOKEN}`, namespace: 'x' },
          { title: 'import 2', content: TOKEN, namespace: 'refuse/c' },
        ],
      },
      ADMIN,
    );
    assert.deepEqual([status, body['imported'], body['failed']], [200, 1, 1], JSON.stringify(body));
    assert.match(
      String((body['errors'] as string[])[0]),
      /memories\[1\].content holds a secret \(github-token\)/,
    );
    assert.equal((body['secrets_found'] as Row[])[0]!['field'], 'memories[0].content');
  });

  it('a turn, an offload, a note, a signal, an action, a checkpoint and a reflection', async () => {
    const sources = [(await store({})).body['id'], (await store({})).body['id']];
    const asked: readonly (readonly [string, Row])[] = [
      [
        'memory_capture_turn',
        { host_session_id: 's', host_turn_index: 0, role: 'user', content: `a ${TOKEN}` },
      ],
      ['memory_offload', { content: `b ${TOKEN}`, namespace: 'x' }],
      ['memory_notify', { target_agent_id: 'ai:one', title: 'n', payload: `c ${TOKEN}` }],
      [
        'memory_signal_send',
        { namespace: 'x', to_agent: 'ai:two', subject: `d ${TOKEN}`, body: { text: TOKEN } },
      ],
      ['memory_action_create', { namespace: 'x', kind: 'k', title: `e ${TOKEN}`, payload: { a: TOKEN } }],
      ['memory_checkpoint_create', { namespace: 'x', title: `f ${TOKEN}`, condition_type: 'approval' }],
      ['memory_reflect', { source_ids: sources, title: 'g', content: `g ${TOKEN}` }],
    ];
    for (const [name, input] of asked) {
      const operation = OPERATIONS.find((known) => known.name === name)!;
      const request = { surface: 'mcp', caller: OPERATOR_CALLER, input, unknownFields: 'refuse' } as const;
      const answer = await runOperation(operation, request, node.services);
      assert.ok(answer.ok, `${name}: ${JSON.stringify(answer)}`);
      assert.notEqual(answer.value['secrets_found'], undefined, name);
    }
  });

  it('a skill, of which nobody knows the namespace before it is read: the strictest mode counts', async () => {
    const operation = OPERATIONS.find(({ name }) => name === 'memory_skill_register')!;
    const input = { inline_skill: `---\nname: s\ndescription: d\n---\nh ${TOKEN}` };
    const request = { surface: 'mcp', caller: OPERATOR_CALLER, input, unknownFields: 'refuse' } as const;
    const answer = await runOperation(operation, request, node.services);
    assert.equal(answer.ok ? '' : answer.error.code, 'SECRET_REFUSED');
  });

  it('a request that waits for its approval, and a hook', async () => {
    await send('POST', '/namespaces/asked/standard', { governance: { write: 'approve' } });
    const waits = await store({ namespace: 'asked', content: `f ${TOKEN}` });
    assert.equal(waits.status, 202, JSON.stringify(waits.body));
    const { body } = await send('GET', '/pending');
    assert.ok(JSON.stringify(body).includes('[redacted:github-token]'));
    assert.ok(!JSON.stringify(body).includes(TOKEN));
  });
});

describe('a secret that was taken out or refused', () => {
  it('is in no file of the home, and the audit chain says what was found', async () => {
    await store({ namespace: 'refuse/z', content: ofKind('gitlab token') });
    await store({ content: ofKind('google api key') });
    await node.services.touches.flush();
    const all = disk();
    for (const kind of ['gitlab token', 'google api key']) assert.ok(!all.includes(ofKind(kind)), kind);
    const { body } = await send('GET', '/audit', undefined, ADMIN);
    const events = (body['rows'] as Row[]).map(({ event_type: type }) => String(type));
    for (const type of ['secret.redacted', 'secret.refused', 'secret.kept'])
      assert.ok(events.includes(type), type);
  });

  it('is not told to another tenant', async () => {
    await store({ content: `mine ${TOKEN}`, scope: 'private', title: 'mine alone' });
    const { body } = await send('GET', '/memories?limit=100', undefined, { 'x-agent-id': 'ai:two' });
    assert.ok(!JSON.stringify(body).includes(TOKEN) && !JSON.stringify(body).includes('mine alone'));
  });
});

describe('a signed store', () => {
  it('is refused where its signed text would be rewritten, and loses what is not signed', async () => {
    const caller: Caller = {
      ...{ agentId: 'ai:signer', claimed: 'explicit', admin: false, local: false },
      viewer: { all: false, agentId: 'ai:signer', asNamespace: null },
    };
    const operation = OPERATIONS.find(({ name }) => name === 'memory_store')!;
    const call = (input: Row) =>
      runOperation(operation, { surface: 'http', caller, input, unknownFields: 'refuse' }, node.services);
    const signed = { title: 's', signature: 'AAAA', created_at: new Date().toISOString() };
    const text = await call({ ...signed, content: TOKEN });
    assert.equal(text.ok ? '' : text.error.code, 'SECRET_REFUSED');
    const beside = await call({ ...signed, content: 'c', metadata: { a: TOKEN } });
    assert.equal(beside.ok ? '' : beside.error.code, 'ATTESTATION_FAILED');
  });
});
