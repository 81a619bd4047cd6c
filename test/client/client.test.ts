import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { MnemeshError } from '../../node/client/client-error.js';
import type { HttpClient } from '../../node/client/http-client.js';
import { createClient, createSigner, signMemory } from '../../node/client/index.js';
import { ROUTES } from '../../node/client/route-table.js';
import { Secret } from '../../node/config/secret.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { bindKey } from '../support/agents.js';
import { freePort } from '../support/daemon-process.js';
import { agentKey } from '../support/signing.js';
import { type HttpNode, openHttpNode } from '../surface/http/http-node.js';

const AGENT = 'ai:client';

/** A server before the node that breaks connections as the network does. */
class BadNetwork {
  readonly seen: { method: string; path: string; key: string | undefined; body: string }[] = [];
  /** What is done with the next requests: passed on, passed on without its answer, or not at all. */
  plan: ('pass' | 'lose-answer' | 'refuse' | 'garbage' | 'shed' | 'hang')[] = [];
  url = '';
  readonly #server: Server;

  constructor(private readonly target: number) {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request) body += piece;
    const { method = '', url = '', headers } = request;
    this.seen.push({ method, path: url, key: headers['idempotency-key'] as string | undefined, body });
    const what = this.plan.shift() ?? 'pass';
    if (what === 'refuse') return void request.socket.destroy();
    if (what === 'hang') return;
    if (what === 'garbage')
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>');
    if (what === 'shed') {
      const error = { error: 'server_overloaded', code: 'OVERLOADED', max_inflight: 1 };
      return void response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    }
    const { host: _host, connection: _connection, 'content-length': _length, ...passed } = headers;
    const answer = await fetch(`http://127.0.0.1:${this.target}${url}`, {
      method,
      headers: passed as Record<string, string>,
      ...(body === '' ? {} : { body }),
    });
    const text = await answer.text();
    if (what === 'lose-answer') return void request.socket.destroy();
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text);
  }
}

const failing = async (call: Promise<unknown>): Promise<MnemeshError> => {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof MnemeshError, String(error));
    return error;
  }
  assert.fail('the call did not fail');
};

describe('the client', () => {
  let node: HttpNode;
  let network: BadNetwork;
  let client: HttpClient;
  before(async () => {
    node = await openHttpNode();
    network = new BadNetwork(node.port);
    await network.listen();
    client = createClient({ url: network.url, agentId: AGENT });
  });
  after(async () => {
    network.close();
    await node.close();
  });
  const rows = async () => (await node.counts()).rows;
  const store = (title: string, more: object = {}) =>
    client.call('memory_store', { title, content: 'text', ...more });

  it('has a method for every operation that HTTP offers, and calls it by its route', () => {
    const offered = OPERATIONS.filter(({ http = [] }) => http.length > 0);
    assert.ok(offered.length > 80);
    assert.deepEqual(
      ROUTES.map(({ name }) => name),
      offered.map(({ name }) => name),
    );
    const methods = Object.entries(client).filter(([, value]) => typeof value === 'function');
    assert.equal(methods.length, ROUTES.length);
    assert.ok(methods.some(([name]) => name === 'memoryStoreBulk'));
  });

  it('stores once when the answer to a store is lost, whatever a taken title means', async () => {
    for (const on_conflict of ['error', 'version']) {
      const before = await rows();
      network.plan = ['lose-answer', 'lose-answer', 'pass'];
      network.seen.length = 0;
      const stored = await store(`lost ${on_conflict}`, { on_conflict });
      assert.equal(stored['title'], `lost ${on_conflict}`);
      assert.equal(await rows(), before + 1);
      assert.equal(network.seen.length, 3);
      assert.equal(new Set(network.seen.map(({ key }) => key)).size, 1);
      assert.ok(network.seen[0]!.key !== undefined);
    }
  });

  it('does not send a write again that may have been done and cannot be repeated', async () => {
    const { id } = await store('once');
    network.seen.length = 0;
    for (const call of [
      () => client.call('memory_update', { id, content: 'new', expected_version: 1 }),
      () => store('once', { on_conflict: 'merge' }),
      () => client.call('memory_promote', { id }),
    ]) {
      network.plan = ['lose-answer'];
      const error = await failing(call());
      assert.deepEqual([error.code, error.status, error.isOutcomeUnknown], ['UNAVAILABLE', null, true]);
      assert.match(error.message, /whether it was done is unknown/);
    }
    assert.equal(network.seen.length, 3);
    const nameless = createClient({ url: network.url });
    network.plan = ['lose-answer'];
    assert.equal(
      (await failing(nameless.call('memory_store', { title: 'n', content: 'c' }))).isOutcomeUnknown,
      true,
    );
  });

  it('sends a read again after a break, and a write that the node has not begun', async () => {
    network.plan = ['refuse', 'garbage', 'pass'];
    assert.ok(Array.isArray((await client.call('memory_list', { limit: 1 }))['memories']));
    network.plan = ['shed', 'shed', 'pass'];
    assert.equal(
      (await client.call('memory_store', { title: 'shed', content: 'c', on_conflict: 'merge' }))['title'],
      'shed',
    );
    network.plan = ['shed', 'shed', 'shed'];
    const error = await failing(client.call('memory_store', { title: 'shed more', content: 'c' }));
    assert.deepEqual([error.code, error.status, error.details], ['OVERLOADED', 503, { max_inflight: 1 }]);
    network.plan = [];
  });

  it('ends a call in time, and at once when its signal says so', async () => {
    network.plan = ['hang', 'hang', 'hang'];
    const late = await failing(client.call('memory_list', { limit: 1 }, { timeoutMs: 50, retries: 0 }));
    assert.deepEqual([late.code, late.status], ['DEADLINE', null]);
    assert.match(late.message, /no answer within 0.05 s/);
    const ending = new AbortController();
    const call = client.call('memory_list', { limit: 1 }, { signal: ending.signal });
    ending.abort(new Error('the user left'));
    await assert.rejects(call, /the user left/);
    await assert.rejects(
      client.call('memory_list', {}, { signal: AbortSignal.abort(new Error('before')) }),
      /before/,
    );
    network.plan = [];
  });

  it('says that nothing listens, and that nothing was done', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const nobody = createClient({ url, agentId: AGENT, retries: 1 });
    const error = await failing(nobody.call('memory_promote', { id: 'a' }));
    assert.deepEqual([error.code, error.isOutcomeUnknown], ['UNAVAILABLE', false]);
    assert.equal(error.message, `${url} does not answer: ECONNREFUSED`);
  });

  it('refuses what it cannot send, and wrong options', async () => {
    network.seen.length = 0;
    const { id } = await store('refused');
    network.seen.length = 0;
    const cases: [Promise<unknown>, RegExp][] = [
      [client.call('memory_get', {}), /memory_get needs id/],
      [client.call('memory_get', { id: '' }), /memory_get needs id/],
      [client.call('memory_action_create'), /HTTP has no operation memory_action_create/],
      [client.call('memory_promote', { id }, { idempotencyKey: 'k' }), /cannot be repeated/],
      [
        createClient({ url: network.url }).call(
          'memory_store',
          { title: 'a', content: 'b' },
          { idempotencyKey: 'k' },
        ),
        /give agentId/,
      ],
    ];
    for (const [call, message] of cases) {
      const error = await failing(call);
      assert.equal(error.code, 'VALIDATION_FAILED');
      assert.match(error.message, message);
    }
    assert.deepEqual(network.seen, []);
    const circle: Record<string, unknown> = { title: 'a', content: 'b' };
    circle['metadata'] = circle;
    for (const call of [
      client.call('memory_get', { id: '\ud800' }),
      client.call('memory_store', circle),
      client.call('memory_store', { title: 'a', content: 'b', priority: 1n }),
      client.call('memory_list', {}, { agentId: 'ai:a\r\nx-api-key: stolen' }),
      client.call('memory_list', {}, { timeoutMs: Number.POSITIVE_INFINITY }),
      client.call('memory_list', {}, { retries: -1 }),
      client.call('memory_store', { title: 'a', content: 'b' }, { idempotencyKey: 'two\nlines' }),
      createClient({ url: network.url, apiKey: 'schl\u00fcssel' }).call('memory_list'),
    ])
      assert.equal((await failing(call)).code, 'VALIDATION_FAILED');
    assert.throws(() => client.inboxStream({ lastEventId: '1\n2' }), MnemeshError);
    assert.deepEqual(network.seen, []);
    const signer = createSigner({ agentId: AGENT, privateKey: Buffer.alloc(32, 7) });
    for (const options of [
      { url: 'nowhere' },
      { url: 'ftp://x' },
      { url: 'http://user:secret@127.0.0.1' },
      { retries: -1 },
      { timeoutMs: 0 },
      { timeoutMs: 2 ** 31 },
      { agentId: 'no spaces' },
      { signer, agentId: 'ai:other' },
    ])
      assert.throws(() => createClient(options), MnemeshError, JSON.stringify(options));
    for (const privateKey of ['short', Buffer.alloc(31, 1), Buffer.alloc(32)])
      assert.throws(() => createSigner({ agentId: AGENT, privateKey }), MnemeshError);
    assert.throws(
      () => createSigner({ agentId: 'no spaces', privateKey: Buffer.alloc(32, 7) }),
      MnemeshError,
    );
  });

  it('gives its key to no server that redirects it, and takes no page for an answer', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url!);
      if (asked.length === 1) response.writeHead(307, { location: `${network.url}/stolen` }).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`;
    const other = createClient({ url, apiKey: 'secret', agentId: AGENT, retries: 0 });
    network.seen.length = 0;
    const redirected = await failing(other.call('memory_update', { id: 'a', content: 'b' }));
    assert.deepEqual([redirected.code, redirected.isOutcomeUnknown], ['UNAVAILABLE', true]);
    assert.deepEqual(network.seen, []);
    assert.match((await failing(other.call('memory_list'))).message, /no JSON object/);
    assert.equal((await failing(other.health())).code, 'INVALID_REQUEST');
    assert.deepEqual(asked, ['/below/api/v1/memories/a', '/below/api/v1/memories', '/below/api/v1/health']);
    server.closeAllConnections();
    server.close();
  });

  it('keeps what a path and a query hold apart from their syntax', async () => {
    const { id } = await store('queried', { tags: ['a,b', 'c&d=e'] });
    const listed = await client.call('memory_list', { tags: ['a,b'] });
    assert.deepEqual(
      (listed['memories'] as { id: string }[]).map((row) => row.id),
      [id],
    );
    const none = await client.call('memory_list', { tags: ['a'] });
    assert.deepEqual(none['memories'], []);
    assert.equal((await failing(client.call('memory_get', { id: '../stats?x=1#' }))).status, 400);
  });

  it('tells a write that waits for an approval from one that is done', async () => {
    const governance = { write: 'approve', approver: { agent: 'ai:lead' } };
    await client.call(
      'memory_namespace_set_standard',
      { namespace: 'gated', governance },
      { agentId: 'ai:lead' },
    );
    const error = await failing(store('waits', { namespace: 'gated' }));
    assert.deepEqual([error.code, error.status], ['APPROVAL_PENDING', 202]);
    const id = String(error.details['pending_id']);
    const approved = await client.call('memory_pending_approve', { id }, { agentId: 'ai:lead' });
    assert.equal(approved['approved'], true);
  });
});

describe('a client with a signer', () => {
  const key = agentKey('ai:signs', Buffer.from([...Array(32).keys()]));
  const signer = createSigner({ agentId: key.agentId, privateKey: key.seed });
  let node: HttpNode;
  let network: BadNetwork;
  let client: HttpClient;
  before(async () => {
    node = await openHttpNode({ requireAttestation: true });
    network = new BadNetwork(node.port);
    await network.listen();
    await bindKey(node.services.store, key);
    client = createClient({ url: network.url, signer });
  });
  after(async () => {
    network.close();
    await node.close();
  });
  const levelOf = async (id: unknown) => {
    const { memory } = await client.call('memory_get', { id });
    return (memory as { metadata: Record<string, unknown> }).metadata['attest_level'];
  };

  it('signs every memory that it stores, one by one and many at once', async () => {
    for (const title of ['plain', '  white space  ', 'de\u0301compose\u0301 \u8a18\u61b6', 'x'.repeat(400)]) {
      const { id } = await client.call('memory_store', { title, content: 'text', namespace: 'te\u0301am' });
      assert.equal(await levelOf(id), 'agent_attested', title);
    }
    const memories = [1, 2].map((row) => ({ title: `row ${row}`, content: 'text' }));
    const { results } = await client.call('memory_store_bulk', { memories });
    for (const { id } of results as { id: string }[]) assert.equal(await levelOf(id), 'agent_attested');
  });

  it('stores a signed memory once when its answer is lost', async () => {
    network.plan = ['lose-answer', 'pass'];
    const { id } = await client.call('memory_store', { title: 'lost', content: 'text' });
    assert.equal(await levelOf(id), 'agent_attested');
    // Without the key of the call the envelope counts once.
    const signed = await signMemory(signer, { title: 'twice', content: 'text' });
    await client.call('memory_store', { ...signed });
    assert.equal((await failing(client.call('memory_store', { ...signed }))).code, 'ATTESTATION_REPLAYED');
  });

  it('refuses to sign for another agent, and what is no text', async () => {
    const error = await failing(
      client.call('memory_store', { title: 'a', content: 'b' }, { agentId: 'ai:other' }),
    );
    assert.match(error.message, /the signer is of ai:signs/);
    assert.match(
      (await failing(client.call('memory_store', { title: 1, content: 'b' }))).message,
      /as text: title/,
    );
    const other = client.call('memory_store', { title: 'a', content: 'b', agent_id: 'ai:other' });
    assert.match((await failing(other)).message, /of ai:other/);
  });
});

const SECRET = '000102030405060708090a0b0c0d0e0f';

describe('a client with the secret of the node', () => {
  it('signs decisions on pending actions', async () => {
    const node = await openHttpNode({ webhookHmacSecret: new Secret(SECRET) });
    try {
      const url = `http://127.0.0.1:${node.port}`;
      const client = createClient({ url, agentId: 'ai:lead', approvalSecret: SECRET });
      const governance = { write: 'approve', approver: { agent: 'ai:lead' } };
      await client.call('memory_namespace_set_standard', { namespace: 'gated', governance });
      const gated = (title: string) =>
        failing(
          client.call('memory_store', { title, content: 'text', namespace: 'gated' }, { agentId: 'ai:asks' }),
        );
      const first = String((await gated('first')).details['pending_id']);
      const decided = await client.call('decide_approval', { pending_id: first, decision: 'approve' });
      assert.equal(decided['approved'], true, JSON.stringify(decided));
      const second = String((await gated('second')).details['pending_id']);
      assert.equal((await client.call('memory_pending_reject', { id: second }))['rejected'], true);
      const wrong = createClient({ url, agentId: 'ai:lead', approvalSecret: 'another' });
      const third = String((await gated('third')).details['pending_id']);
      for (const call of [
        wrong.call('decide_approval', { pending_id: third, decision: 'approve' }),
        wrong.call('memory_pending_approve', { id: third }),
      ])
        assert.equal((await failing(call)).code, 'UNAUTHORIZED');
    } finally {
      await node.close();
    }
  });
});
