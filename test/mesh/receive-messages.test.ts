import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { PAGE_SIZE_MAX, PUSH_OPERATIONS_MAX } from '../../protocol/base/limits.js';
import { openReceiverNode, type ReceiverNode, type ReceiverNodeOptions } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('sender');
const other = new TestPeer('other');
let opened: ReceiverNode[] = [];
async function open(options: Partial<ReceiverNodeOptions> = {}): Promise<ReceiverNode> {
  const node = await openReceiverNode({ peers: [peer.asPeer(), other.asPeer()], ...options });
  opened.push(node);
  return node;
}
const closeAll = async () => {
  for (const node of opened) await node.close();
  opened = [];
};
afterEach(closeAll);
after(closeAll);

/** A clock that a test sets. */
function clockAt(ms: number) {
  const clock = { ms, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  return clock;
}

describe('refusals of the gate', () => {
  const push = (headers: Record<string, string | undefined>) => peer.push(peer.pushBody(), headers);
  const rows = [
    ['x_memory_sig_missing', 401, push({ 'x-memory-sig': undefined })],
    ['x_memory_sig_unknown_algorithm', 401, push({ 'x-memory-sig': 'rsa=x' })],
    ['x_memory_sig_malformed', 401, push({ 'x-memory-sig': 'ed25519=x' })],
    ['x_memory_sig_bad_signature', 401, push({ 'x-memory-nonce': 'another' })],
    ['x_memory_nonce_missing', 401, push({ 'x-memory-nonce': undefined })],
    ['x_peer_id_not_in_allowlist', 401, push({ 'x-peer-id': 'peer-nobody' })],
    ['peer_id_header_missing', 403, push({ 'x-peer-id': undefined })],
  ] as const;
  for (const [tag, status, message] of rows) {
    it(`${tag} is ${status}, says so in error and code, and is counted`, async () => {
      const node = await open();
      const before = await node.counts();
      const { status: answered, json } = await node.send(message);
      assert.deepEqual([answered, json], [status, { error: tag, code: tag }]);
      assert.deepEqual([...node.counted], [[tag, 1]]);
      assert.deepEqual(await node.counts(), before);
    });
  }

  it('peer_not_enrolled is for those that the operator lists without a key', async () => {
    const node = await open({ settings: { fedPeerAttestation: '{"peer-listed":{}}' } });
    const { status, json } = await node.send(push({ 'x-peer-id': 'peer-listed' }));
    assert.deepEqual([status, json['code']], [401, 'peer_not_enrolled']);
  });

  it('peer_id_cert_unbound needs binding to be enforced', async () => {
    const node = await open({ settings: { fedCertPeerBinding: 'enforce' } });
    const { json } = await node.send({ ...push({}), fingerprint: 'd'.repeat(64) });
    assert.equal(json['code'], 'peer_id_cert_unbound');
  });

  it('a stolen certificate does not speak for another peer', async () => {
    const node = await open({ peers: [peer.asPeer(), other.asPeer({ fingerprints: ['e'.repeat(64)] })] });
    const { json } = await node.send({ ...push({}), fingerprint: 'e'.repeat(64) });
    assert.equal(json['code'], 'peer_id_cert_mismatch');
  });

  it('the signature is judged before a body that is no JSON', async () => {
    const node = await open();
    const rubbish = await node.send(peer.push('{"', { 'x-memory-nonce': 'another' }));
    assert.equal(rubbish.json['code'], 'x_memory_sig_bad_signature');
    const signed = await node.send(peer.push('{"'));
    assert.deepEqual([signed.status, signed.json['code']], [400, 'MALFORMED_BODY']);
  });
});

describe('the body of a push', () => {
  const refused = async (node: ReceiverNode, body: Record<string, unknown>) => {
    const { status, json } = await node.send(peer.push(body));
    return [status, json['code'], json['error']] as const;
  };

  it('must be in the name of its peer', async () => {
    const node = await open({ peers: [peer.asPeer({ allowedSenderAgentIds: ['ai:known'] })] });
    const { status, json } = await node.send(peer.push(peer.pushBody({ sender_agent_id: 'ai:else' })));
    assert.equal(status, 403);
    assert.deepEqual(
      [json['error'], json['code'], json['claimed'], json['peer_header'], typeof json['note']],
      ['sender_agent_id_mismatch', 'sender_agent_id_mismatch', 'ai:else', peer.peerId, 'string'],
    );
    assert.equal((await node.send(peer.push(peer.pushBody({ sender_agent_id: 'ai:known' })))).status, 200);
  });

  it('may be in any name where the operator says so', async () => {
    const node = await open({ settings: { fedTrustBodyAgentId: true } });
    assert.equal((await node.send(peer.push(peer.pushBody({ sender_agent_id: 'ai:else' })))).status, 200);
    const [status, , error] = await refused(node, peer.pushBody({ sender_agent_id: 'a b' }));
    assert.equal(status, 400);
    assert.match(error as string, /sender_agent_id/);
  });

  it('has a shape', async () => {
    const node = await open();
    for (const fields of [
      { sender_agent_id: undefined },
      { sender_agent_id: 7 },
      { memories: undefined },
      { memories: {} },
      { operations: 'x' },
      { dry_run: 1 },
      { sender_wall_clock: 'yesterday' },
    ]) {
      const [status, code] = await refused(node, peer.pushBody(fields));
      assert.deepEqual([status, code], [400, 'VALIDATION_FAILED'], JSON.stringify(fields));
    }
    assert.equal((await node.send(peer.push(peer.pushBody({ from_the_future: { a: 1 } })))).status, 200);
  });

  it('has caps, which are named', async () => {
    const node = await open();
    const over = [...Array(PAGE_SIZE_MAX + 1).keys()];
    for (const name of ['memories', 'deletions', 'links', 'pendings', 'namespace_meta_clears']) {
      const [status, , error] = await refused(node, peer.pushBody({ [name]: over }));
      assert.deepEqual([status, error], [400, `sync_push limited to ${PAGE_SIZE_MAX} ${name} per request`]);
    }
    const [status, , error] = await refused(
      node,
      peer.pushBody({ operations: Array.from({ length: PUSH_OPERATIONS_MAX + 1 }, () => 0) }),
    );
    assert.deepEqual(
      [status, error],
      [400, `sync_push limited to ${PUSH_OPERATIONS_MAX} operations per request`],
    );
  });
});

describe('nonces', () => {
  it('are used once, also after a restart, and each peer has its own', async () => {
    const node = await open();
    const push = peer.push(peer.pushOf(peer.operation()));
    const pull = peer.pull('cursor=&limit=5');
    const undated = peer.push(peer.pushBody({ sender_wall_clock: undefined }));
    for (const message of [push, pull, undated]) assert.equal((await node.send(message)).status, 200);
    const before = await node.counts();
    for (let round = 0; round < 2; round += 1) {
      for (const message of [push, pull, undated]) {
        const { status, json } = await node.send(message);
        assert.deepEqual([status, json['code']], [401, 'x_memory_nonce_replay']);
      }
      node.restart();
    }
    assert.deepEqual(await node.counts(), before);
  });

  it('do not pass twice at once', async () => {
    const node = await open();
    const push = peer.push(peer.pushOf());
    const answers = await Promise.all([1, 2, 3, 4].map(() => node.send(push)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
  });

  it('are not forgotten for the others that come', async () => {
    const node = await open();
    const push = peer.push(peer.pushBody({ dry_run: true }));
    assert.equal((await node.send(push)).status, 200);
    for (let count = 0; count < 2000; count += 1) {
      assert.equal((await node.send(peer.push(peer.pushBody({ dry_run: true })))).status, 200);
    }
    assert.equal((await node.send(push)).json['code'], 'x_memory_nonce_replay');
    node.restart();
    assert.equal((await node.send(push)).json['code'], 'x_memory_nonce_replay');
  });

  it('throttle a peer that uses too many, and nobody else, until they are out of date', async () => {
    const clock = clockAt(Date.now());
    const node = await open({ noncesMax: 3, clock });
    const dated = () => peer.pushBody({ sender_wall_clock: new Date(clock.ms).toISOString() });
    const first = peer.push(dated());
    assert.equal((await node.send(first)).status, 200);
    for (let count = 0; count < 2; count += 1) await node.send(peer.push(dated()));
    const { status, json, headers } = await node.send(peer.push(dated()));
    assert.deepEqual([status, json['code'], headers['retry-after']], [429, 'PEER_THROTTLED', '60']);
    assert.equal((await node.send(first)).json['code'], 'x_memory_nonce_replay');
    assert.equal((await node.send(other.push(other.pushBody()))).status, 200);
    clock.ms += 22 * 60_000;
    assert.equal((await node.send(peer.push(dated()))).status, 200);
    // What is forgotten is too old to pass.
    assert.equal((await node.send(first)).json['code'], 'message_out_of_time');
  });

  it('of dated messages go with a window', async () => {
    const node = await open();
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    for (const minutes of [-11, 11, 10_000_000]) {
      const { status, json } = await node.send(peer.push(peer.pushBody({ sender_wall_clock: at(minutes) })));
      assert.deepEqual([status, json['code']], [401, 'message_out_of_time']);
      const pulled = await node.send(peer.pull(`cursor=&at=${encodeURIComponent(at(minutes))}`));
      assert.equal(pulled.json['code'], 'message_out_of_time');
    }
    for (const minutes of [-9, 9]) {
      assert.equal(
        (await node.send(peer.push(peer.pushBody({ sender_wall_clock: at(minutes) })))).status,
        200,
      );
      assert.equal((await node.send(peer.pull(`cursor=&at=${at(minutes)}`))).status, 200);
    }
  });

  it('of messages that were surely not taken may come again', async () => {
    let full = true;
    const node = await open({
      wrap: (store) => ({
        ...store,
        query: (query, options) => store.query(query, options),
        close: () => store.close(),
        execute: (command, options) =>
          full
            ? Promise.resolve({ ok: false, error: { code: 'OVERLOADED', message: 'full' } })
            : store.execute(command, options),
      }),
    });
    const push = peer.push(peer.pushBody());
    const { status, headers } = await node.send(push);
    assert.deepEqual([status, headers['retry-after']], [503, '1']);
    full = false;
    assert.equal((await node.send(push)).status, 200);
  });
});
