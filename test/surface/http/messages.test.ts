import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

const ADMIN = 'human:admin';
const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
const WORD = 'kumquat';

type Row = Record<string, unknown>;
let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: [ADMIN], adminHeaderTrust: true });
});
after(() => node.close());

const call = (agent: string | null, method: string, path: string, body?: unknown): Promise<Answer> =>
  node.send(method, `/api/v1${path}`, body, agent === null ? {} : { 'x-agent-id': agent });

async function good(agent: string | null, method: string, path: string, body?: unknown): Promise<Row> {
  const answer = await call(agent, method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer.json!;
}

async function refused(code: string, agent: string, method: string, path: string, body?: unknown) {
  const before = await node.counts();
  const answer = await call(agent, method, path, body);
  assert.equal(answer.json!['code'], code, `${method} ${path}: ${answer.text}`);
  assert.deepEqual(await node.counts(), before);
}

const notify = async (from: string, to: string, title = 'hand-over', payload = `about ${WORD}`) =>
  String((await good(from, 'POST', '/notify', { target_agent_id: to, title, payload }))['id']);
const inbox = async (agent: string, query = '') =>
  (await good(agent, 'GET', `/inbox${query}`))['messages'] as Row[];
const store = async (agent: string, body: Row) =>
  String((await good(agent, 'POST', '/memories', { content: WORD, ...body }))['id']);

/** Everything that an agent finds of a word, in whatever way it asks. */
async function findings(agent: string, ids: readonly string[]): Promise<string> {
  const asked = [
    ...['/memories?limit=100', `/search?q=${WORD}`, `/recall?context=${WORD}`, '/namespaces', '/taxonomy'],
    ...['/archive', '/links', '/stats'],
    ...ids.flatMap((id) => [`/memories/${id}`, `/links/${id}`, `/memories/${id.slice(0, 8)}`]),
  ];
  const answers = await Promise.all(asked.map((path) => call(agent, 'GET', path)));
  return answers.map(({ text }) => text).join('\n');
}

describe('a message, or a shared copy, that its addressee has deleted', () => {
  it('is not brought back by its sender, or by anybody else who calls', async () => {
    const message = await notify(ALICE, 'ai:tidy', 'not wanted');
    const own = await store(ALICE, { title: 'to share', namespace: 'alice/notes' });
    const { shared_memory_id: copy } = await good(ALICE, 'POST', '/share', {
      source_memory_id: own,
      target_agent_id: 'ai:tidy',
    });
    for (const id of [message, String(copy)]) {
      await good('ai:tidy', 'DELETE', `/memories/${id}`);
      for (const agent of [ALICE, EVE, ADMIN]) {
        const answer = await call(agent, 'POST', `/archive/${id}/restore`);
        assert.ok([403, 404].includes(answer.status), answer.text);
      }
      assert.equal((await call('ai:tidy', 'GET', `/memories/${id}`)).status, 404);
    }
  });
});

describe('a message', () => {
  it('is a row of its own, also with the title of another one', async () => {
    const before = await node.counts();
    const ids = [await notify(ALICE, 'ai:many', 'ready'), await notify(BOB, 'ai:many', 'ready')];
    ids.push(await notify(ALICE, 'ai:many', 'ready'));
    assert.equal(new Set(ids).size, 3);
    assert.equal((await node.counts()).rows, before.rows + 3);
    const messages = await inbox('ai:many');
    assert.deepEqual(
      messages.map(({ id, from, title }) => [id, from, title]),
      [
        [ids[2], ALICE, 'ready'],
        [ids[1], BOB, 'ready'],
        [ids[0], ALICE, 'ready'],
      ],
    );
    const conflicts = await node.services.store.query({ kind: 'list-conflicts', limit: 100 });
    assert.ok(conflicts.ok);
    assert.deepEqual(conflicts.value, []);
  });

  it('is stored as a memory with its sender, its addressee and its expiry', async () => {
    const id = await notify(ALICE, BOB, 'fields');
    const { memory } = (await good(BOB, 'GET', `/memories/${id}`)) as { memory: Row };
    const { namespace, tags, source, tier, metadata } = memory as Row & { metadata: Row };
    assert.deepEqual([namespace, tags, source, tier], [`_messages/${BOB}`, ['_message'], 'notify', 'mid']);
    assert.deepEqual(metadata, {
      agent_id: ALICE,
      recipient_agent_id: BOB,
      message_kind: 'notify',
      scope: 'private',
      attest_level: 'claimed',
    });
    assert.ok(typeof memory['expires_at'] === 'string');
  });

  it('shows to its sender and to its addressee only', async () => {
    const id = await notify(ALICE, 'ai:hidden', 'secret hand-over', `only ${WORD} may know`);
    for (const agent of [ALICE, 'ai:hidden']) assert.ok((await findings(agent, [id])).includes(id), agent);
    const seen = await findings(EVE, [id]);
    assert.ok(!seen.includes(id));
    assert.doesNotMatch(seen, /secret hand-over|ai:hidden/);
    await refused('NOT_FOUND', EVE, 'DELETE', `/memories/${id}`);
    await refused('NOT_FOUND', EVE, 'POST', '/inbox/read', { ids: [id] });
    await refused('agent_id_query_header_mismatch', EVE, 'GET', '/inbox?agent_id=ai:hidden');
  });

  it('is neither forged, nor changed, nor moved by another operation', async () => {
    const id = await notify(ALICE, BOB, 'as it was sent');
    const own = await store(ALICE, { title: 'own', namespace: 'messages_of_mine' });
    const [inboxOfBob, content] = [`_messages/${BOB}`, WORD];
    for (const namespace of [inboxOfBob, '_messages', '_shared', `_shared/${BOB}->${ALICE}`]) {
      const body = { title: 'forged', content, namespace };
      await refused('VALIDATION_FAILED', ALICE, 'POST', '/memories', body);
      await refused('VALIDATION_FAILED', ALICE, 'POST', '/memories', { ...body, on_conflict: 'version' });
      await refused('VALIDATION_FAILED', ALICE, 'PUT', `/memories/${own}`, { namespace });
      const named = { canonical_name: 'Forged', namespace };
      await refused('VALIDATION_FAILED', ALICE, 'POST', '/entities', named);
      const joined = { ids: [own, id], title: 'forged', summary: 's', namespace };
      await refused('VALIDATION_FAILED', ALICE, 'POST', '/consolidate', joined);
    }
    await refused('VALIDATION_FAILED', ALICE, 'POST', '/memories', {
      ...{ title: 'as it was sent', content, namespace: inboxOfBob, on_conflict: 'merge' },
    });
    for (const change of [
      { content: 'other' },
      { namespace: 'team' },
      { title: 'other' },
      { metadata: {} },
    ]) {
      await refused('FORBIDDEN', ALICE, 'PUT', `/memories/${id}`, change);
      await refused('FORBIDDEN', BOB, 'PUT', `/memories/${id}`, change);
    }
    const bulk = await good(ALICE, 'POST', '/memories/bulk', [
      { title: 'f', content, namespace: inboxOfBob },
    ]);
    assert.equal(bulk['created'], 0);
    const policy = { governance: { write: 'owner' } };
    await refused('FORBIDDEN', EVE, 'POST', `/namespaces/${encodeURIComponent(inboxOfBob)}/standard`, policy);
    assert.equal((await inbox(BOB)).find((message) => message['id'] === id)!['title'], 'as it was sent');
  });

  it('is deleted by its addressee and by its sender', async () => {
    for (const agent of [ALICE, BOB]) {
      const id = await notify(ALICE, BOB, 'to delete');
      await good(agent, 'DELETE', `/memories/${id}`);
      assert.ok(!(await inbox(BOB)).some((message) => message['id'] === id));
    }
  });

  it('has the caller as its sender, and never another agent', async () => {
    const body = { target_agent_id: BOB, title: 't', payload: 'p' };
    await refused('agent_id_body_header_mismatch', ALICE, 'POST', '/notify', { ...body, agent_id: EVE });
    await refused('UNKNOWN_FIELD', ALICE, 'POST', '/notify', { ...body, from: EVE });
    await refused('UNKNOWN_FIELD', ALICE, 'POST', '/notify', { ...body, metadata: { agent_id: EVE } });
    const nameless = await call(null, 'POST', '/notify', body);
    assert.deepEqual([nameless.status, nameless.json!['code']], [403, 'FORBIDDEN']);
    assert.match(String(nameless.json!['error']), /X-Agent-Id/);
  });

  it('is refused for an agent whose id makes no namespace', async () => {
    for (const target of ['a//b', 'a/', 'a/b/c/d/e/f/g/h', 'daemon', '/a', '..', '']) {
      const body = { target_agent_id: target, title: 't', payload: 'p' };
      await refused('VALIDATION_FAILED', ALICE, 'POST', '/notify', body);
    }
    await notify(ALICE, 'team/lead', 'nested');
    assert.equal((await inbox('team/lead')).length, 1);
    assert.deepEqual(await inbox('team'), []);
  });

  it('takes the text as payload or as content, and the nearest priority', async () => {
    const both = { target_agent_id: BOB, title: 't', payload: 'p', content: 'c' };
    await refused('VALIDATION_FAILED', ALICE, 'POST', '/notify', both);
    await refused('VALIDATION_FAILED', ALICE, 'POST', '/notify', { target_agent_id: BOB, title: 't' });
    const { id } = await good(ALICE, 'POST', '/notify', {
      ...{ target_agent_id: 'ai:prio', title: 't', content: 'c', priority: -3, tier: 'long' },
    });
    const [message] = await inbox('ai:prio');
    const { payload, priority, tier } = message!;
    assert.deepEqual([message!['id'], payload, priority, tier], [id, 'c', 1, 'long']);
  });
});

describe('what was read', () => {
  it('is what its addressee marked, whatever was looked at', async () => {
    const reader = 'ai:reader';
    const ids = [await notify(ALICE, reader, 'one'), await notify(ALICE, reader, 'two')];
    await findings(reader, ids);
    await node.services.touches.flush();
    assert.deepEqual(
      (await inbox(reader)).map(({ read, read_at: at }) => [read, at]),
      [
        [false, null],
        [false, null],
      ],
    );
    await refused('NOT_FOUND', ALICE, 'POST', '/inbox/read', { ids });
    const marked = await good(reader, 'POST', '/inbox/read', { ids: [ids[0]!.slice(0, 13), 'no-such-id'] });
    assert.deepEqual(marked, { agent_id: reader, marked: 1, missing: ['no-such-id'] });
    assert.deepEqual(await good(reader, 'POST', '/inbox/read', { ids: [ids[0]] }), {
      agent_id: reader,
      marked: 0,
    });
    const unread = await inbox(reader, '?unread_only=true');
    assert.deepEqual(
      unread.map(({ id }) => id),
      [ids[1]],
    );
    const [, first] = await inbox(reader);
    assert.equal(first!['read'], true);
    assert.match(String(first!['read_at']), /^\d{4}-/);
  });

  it('is everything after all was marked', async () => {
    const reader = 'ai:busy';
    for (let n = 0; n < 230; n += 1) await notify(ALICE, reader, `number ${n}`);
    assert.equal((await inbox(reader)).length, 50);
    assert.equal((await inbox(reader, '?limit=9999')).length, 230);
    assert.deepEqual(await good(reader, 'POST', '/inbox/read', { all: true }), {
      agent_id: reader,
      marked: 230,
    });
    assert.deepEqual(await inbox(reader, '?unread_only=true'), []);
    await refused('VALIDATION_FAILED', reader, 'POST', '/inbox/read', { all: true, ids: ['x'] });
    await refused('VALIDATION_FAILED', reader, 'POST', '/inbox/read', { ids: [] });
  });

  it('is forgotten with the message, not before it', async () => {
    const reader = 'ai:tidy';
    const [kept, gone] = [await notify(ALICE, reader, 'kept'), await notify(ALICE, reader, 'gone')];
    await good(reader, 'POST', '/inbox/read', { all: true });
    const receipts = async () => {
      const found = await node.services.store.query({
        kind: 'read-records',
        of: 'receipt',
        ids: [kept, gone],
      });
      assert.ok(found.ok);
      return found.value.records.map(({ id }) => id);
    };
    assert.deepEqual(await receipts(), [kept, gone]);
    await good(reader, 'DELETE', `/memories/${gone}`);
    await good(ADMIN, 'POST', '/gc', {});
    // The message is in the archive, from which it may come back.
    assert.deepEqual(await receipts(), [kept, gone]);
    await good(ADMIN, 'DELETE', '/archive');
    await good(ADMIN, 'POST', '/gc', {});
    assert.deepEqual(await receipts(), [kept]);
  });
});

describe('a shared copy', () => {
  const share = (from: string, id: string, to: string) =>
    good(from, 'POST', '/share', { source_memory_id: id, target_agent_id: to });

  it('shows to both agents only, and says where it comes from', async () => {
    const id = await store(ALICE, {
      ...{
        title: 'private plan',
        content: `plan for ${WORD}`,
        namespace: 'plans',
        tags: ['plan'],
        ttl_secs: 60,
      },
      metadata: { scope: 'private', topic: 'plan', recipient_agent_id: 'ai:else' },
    });
    const answer = await share(ALICE, id.slice(0, 12), BOB);
    const copyId = String(answer['shared_memory_id']);
    const target = `_shared/${ALICE}->${BOB}`;
    assert.deepEqual(answer, {
      ...{ shared_memory_id: copyId, source_memory_id: id, target_namespace: target },
      ...{ target_agent_id: BOB, from_agent_id: ALICE },
    });
    for (const agent of [ALICE, BOB]) {
      const { memory } = (await good(agent, 'GET', `/memories/${copyId}`)) as { memory: Row };
      const { shared_at: at, ...metadata } = memory['metadata'] as Row;
      assert.match(String(at), /^\d{4}-/);
      assert.deepEqual(metadata, {
        ...{
          topic: 'plan',
          agent_id: ALICE,
          target_agent_id: BOB,
          scope: 'private',
          attest_level: 'claimed',
        },
        ...{ shared_from_memory_id: id, shared_from_agent_id: ALICE, shared_to_agent_id: BOB },
      });
      assert.deepEqual(
        [memory['namespace'], memory['title'], memory['source'], memory['tags'], memory['expires_at']],
        [target, 'private plan', 'shared', ['plan'], undefined],
      );
    }
    for (const agent of [EVE, 'ai:else']) {
      const seen = await findings(agent, [copyId]);
      assert.doesNotMatch(seen, /_shared/);
      assert.ok(!seen.includes(copyId));
    }
    assert.equal((await call(BOB, 'GET', `/memories/${id}`)).status, 404);
  });

  it('is made once for each version of a memory, and again after it was deleted', async () => {
    const id = await store(ALICE, { title: 'shared often', namespace: 'plans' });
    const copy = async (to = BOB) => (await share(ALICE, id, to))['shared_memory_id'];
    const first = await copy();
    assert.equal(await copy(), first);
    assert.notEqual(await copy('ai:carol'), first);
    await good(ALICE, 'PUT', `/memories/${id}`, { content: 'newer' });
    const second = await copy();
    assert.notEqual(second, first);
    await good(BOB, 'DELETE', `/memories/${second}`);
    assert.equal((await call(BOB, 'GET', `/memories/${second}`)).status, 404);
    assert.equal(await copy(), second);
    assert.equal((await call(BOB, 'GET', `/memories/${second}`)).status, 200);
  });

  it('has the title of the memory, also where two memories have one title', async () => {
    const ids = [];
    for (const namespace of ['one', 'two'])
      ids.push(await store(ALICE, { title: 'same title', namespace, content: namespace }));
    for (const id of ids) await share(ALICE, id, 'ai:twice');
    const listed = await good(
      'ai:twice',
      'GET',
      `/memories?namespace=${encodeURIComponent(`_shared/${ALICE}->ai:twice`)}`,
    );
    assert.deepEqual(
      (listed['memories'] as Row[]).map(({ title }) => title),
      ['same title', 'same title'],
    );
  });

  it('is not made of what the caller cannot see, nor for the caller, nor without a name', async () => {
    const id = await store(ALICE, {
      title: 'not for eve',
      namespace: 'plans',
      metadata: { scope: 'private' },
    });
    const body = { source_memory_id: id, target_agent_id: EVE };
    await refused('NOT_FOUND', EVE, 'POST', '/share', { ...body, target_agent_id: BOB });
    await refused('NOT_FOUND', ALICE, 'POST', '/share', { ...body, source_memory_id: 'no-such-id' });
    await refused('VALIDATION_FAILED', ALICE, 'POST', '/share', { ...body, target_agent_id: ALICE });
    await refused('VALIDATION_FAILED', ALICE, 'POST', '/share', { ...body, target_agent_id: 'a//b' });
    await refused('agent_id_body_header_mismatch', EVE, 'POST', '/share', { ...body, agent_id: ALICE });
    assert.equal((await call(null, 'POST', '/share', body)).json!['code'], 'FORBIDDEN');
  });

  it('is not changed after it was made', async () => {
    const id = await store(ALICE, { title: 'fixed', namespace: 'plans' });
    const { shared_memory_id: copy } = await share(ALICE, id, BOB);
    for (const agent of [ALICE, BOB])
      await refused('FORBIDDEN', agent, 'PUT', `/memories/${copy}`, { content: 'other' });
    const widened = { metadata: { scope: 'collective' } };
    await refused('FORBIDDEN', ALICE, 'PUT', `/memories/${copy}`, widened);
    await refused('FORBIDDEN', ALICE, 'PUT', `/memories/${copy}`, { scope: 'collective' });
  });
});

describe('messages under a quota', () => {
  it('are paid by their sender', async () => {
    const small = await openHttpNode({ maxMemoriesPerDay: 2 });
    const send = (from: string) => {
      const body = { target_agent_id: BOB, title: 't', payload: 'p' };
      return small.send('POST', '/api/v1/notify', body, { 'x-agent-id': from });
    };
    try {
      const statuses = [];
      for (const from of [ALICE, ALICE, ALICE, EVE]) statuses.push((await send(from)).status);
      assert.deepEqual(statuses, [201, 201, 429, 201]);
    } finally {
      await small.close();
    }
  });
});
