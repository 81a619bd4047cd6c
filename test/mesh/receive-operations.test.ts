import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { readBuckets } from '../../actors/mesh/namespace-digests.js';
import { systemCrypto } from '../../node/seams.js';
import { fail } from '../../protocol/base/result.js';
import { writeEnvelopeBytes } from '../../protocol/identity/write-envelope.js';
import { decodeCursor, encodeCursor } from '../../protocol/log/cursor.js';
import { rootDigest } from '../../protocol/log/digest.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { headBytes, type SignedHead, type WireOperation } from '../../protocol/log/wire-operation.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { aMemory, storing } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode, type ReceiverNodeOptions } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

let opened: ReceiverNode[] = [];
const closeAll = async () => {
  for (const node of opened) await node.close();
  opened = [];
};
afterEach(closeAll);
after(closeAll);

async function open(
  peer: TestPeer,
  options: Partial<ReceiverNodeOptions> = {},
  ...others: readonly TestPeer[]
): Promise<ReceiverNode> {
  const peers = [peer, ...others].map((one) => one.asPeer());
  const node = await openReceiverNode({ peers, ...options });
  opened.push(node);
  return node;
}

let names = 0;
const newPeer = () => {
  names += 1;
  return new TestPeer(`operations ${names}`);
};

/** A memory with its author's attestation by a node's key. */
function attested(peer: TestPeer, fields: Partial<Memory> = {}): Memory {
  const memory = aMemory({
    metadata: { agent_id: 'ai:writer', attest_level: 'agent_attested', attested_by: peer.peerId },
    ...fields,
  });
  const signature = peer.signer.sign(
    writeEnvelopeBytes({
      agentId: 'ai:writer',
      namespace: memory.namespace,
      title: memory.title,
      kind: memory.kind,
      createdAt: memory.created_at,
      contentSha256: systemCrypto.sha256(memory.content),
    }),
  );
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return {
    ...memory,
    write_signature: {
      signature: base64(signature),
      created_at: memory.created_at,
      public_key: base64(peer.signer.publicKey),
    },
  };
}

describe('operations of a push', () => {
  it('take effect and are answered for', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const [one, two] = [peer.operation({ title: 'one' }), peer.operation({ title: 'two' })];
    const { status, json } = await node.send(peer.push(peer.pushOf(one, two)));
    assert.equal(status, 200);
    assert.deepEqual(
      [json['applied'], json['noop'], json['skipped'], json['refused'], json['parked'], json['dry_run']],
      [2, 0, 0, [], [], false],
    );
    assert.deepEqual(json['have'], { [peer.origin]: 2 });
    assert.equal(json['receiver_agent_id'], node.services.peerId);
    assert.equal((await node.memory(one.subject))?.title, 'one');
    assert.equal((await node.memory(two.subject))?.title, 'two');
    const again = await node.send(peer.push(peer.pushOf(one, two)));
    assert.deepEqual([again.json['applied'], again.json['noop']], [0, 2]);
    assert.deepEqual(Object.keys(again.json['receiver_clock'] as object), ['entries']);
  });

  it('of a dry run change nothing', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const before = await node.counts();
    const body = { ...peer.pushOf(peer.operation()), dry_run: true, memories: [{}], deletions: ['x'] };
    const { json } = await node.send(peer.push(body));
    assert.deepEqual([json['applied'], json['noop'], json['skipped'], json['dry_run']], [0, 3, 0, true]);
    assert.deepEqual(json['have'], { [peer.origin]: 0 });
    assert.deepEqual(await node.counts(), before);
  });

  const broken: readonly (readonly [
    string,
    (peer: TestPeer) => { operations: unknown[]; heads: SignedHead[] },
  ])[] = [
    [
      'with another payload than was hashed',
      (peer) => {
        const operation = peer.operation();
        return { operations: [{ ...operation, payload: `${operation.payload} ` }], heads: [peer.head()] };
      },
    ],
    [
      'with a header that was changed after the head was signed',
      (peer) => ({ operations: [{ ...peer.operation(), subject: 'another' }], heads: [peer.head()] }),
    ],
    ['without a head', (peer) => ({ operations: [peer.operation()], heads: [] })],
    [
      "under another peer's head",
      (peer) => {
        const operations = [peer.operation()];
        const { signature } = new TestPeer('an impostor').sign(peer.head());
        return { operations, heads: [{ ...peer.head(), signature }] };
      },
    ],
    [
      'behind the head',
      (peer) => {
        peer.operation();
        const heads = [peer.head()];
        return { operations: [peer.operation()], heads };
      },
    ],
    [
      'that cannot be read',
      (peer) => ({ operations: [{ ...peer.operation(), hlc: 'now' }], heads: [peer.head()] }),
    ],
  ];
  for (const [what, make] of broken) {
    it(`${what} are bad_chain`, async () => {
      const peer = newPeer();
      const node = await open(peer);
      const before = await node.counts();
      const { status, json } = await node.send(peer.push(peer.pushBody(make(peer))));
      assert.equal(status, 200);
      const reasons = (json['refused'] as { reason: string }[]).map(({ reason }) => reason);
      assert.deepEqual([reasons, json['applied'], json['skipped']], [['bad_chain'], 0, 1]);
      assert.deepEqual(json['have'], { [peer.origin]: 0 });
      assert.equal(node.counted.get('bad_chain'), 1);
      assert.deepEqual(await node.counts(), before);
    });
  }

  it('that do not even say where they stand are skipped', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const { json } = await node.send(
      peer.push(peer.pushBody({ operations: [null, 7, {}, { origin: 'x' }] })),
    );
    assert.deepEqual([json['skipped'], json['refused']], [4, []]);
  });

  it('that skip one are a gap, and a break costs the ones behind it alone', async () => {
    const peer = newPeer();
    const second = newPeer();
    const node = await open(peer, {}, second);
    peer.operation();
    const { json } = await node.send(peer.push(peer.pushOf(peer.operation())));
    assert.deepEqual(json['refused'], [{ origin: peer.origin, seq: 2, reason: 'gap' }]);

    const good = second.operation();
    const bad = second.operation();
    const heads = [second.head()];
    const mixed = {
      operations: [good, { ...bad, prevHash: 'f'.repeat(64) }, peer.operation()],
      heads: [...heads, second.sign({ origin: second.origin, seq: 1, hash: bad.prevHash })],
    };
    const answered = await node.send(peer.push(peer.pushBody(mixed)));
    assert.equal(answered.json['applied'], 1);
    assert.deepEqual(answered.json['have'], { [second.origin]: 1, [peer.origin]: 0 });
    assert.ok(await node.memory(good.subject));
  });

  it('of a peer that nobody knows are unknown_origin; of a departed one they count', async () => {
    const peer = newPeer();
    const far = newPeer();
    const node = await open(peer);
    const body = peer.pushBody({ operations: [far.operation()], heads: [far.head()] });
    const { json } = await node.send(peer.push(body));
    assert.deepEqual(json['refused'], [{ origin: far.origin, seq: 1, reason: 'unknown_origin' }]);
    node.roster.list = [peer.asPeer(), far.asPeer({ state: 'departed' })];
    assert.equal((await node.send(peer.push(body))).json['applied'], 1);
  });

  it('stamped far ahead are clock_skew and may come later', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const hlc = `${Date.now() + 3_600_000}-00000`;
    const { json } = await node.send(peer.push(peer.pushOf(peer.operation({}, { hlc }))));
    assert.deepEqual((json['refused'] as { reason: string }[])[0]?.reason, 'clock_skew');
    assert.deepEqual(json['have'], { [peer.origin]: 0 });
  });

  it('that fork a chain are refused', async () => {
    const peer = newPeer();
    const node = await open(peer);
    await node.send(peer.push(peer.pushOf(peer.operation())));
    const twin = new TestPeer(`operations ${names}`);
    twin.operation({ title: 'another first' });
    const { json } = await node.send(twin.push(twin.pushOf(twin.operation())));
    assert.deepEqual((json['refused'] as { reason: string }[])[0]?.reason, 'fork');
  });
});

describe('authors', () => {
  const answerFor = async (peer: TestPeer, memory: Memory) => {
    const node = await open(peer);
    const operation = peer.operation(memory);
    const { json } = await node.send(peer.push(peer.pushOf(operation, peer.operation({ title: 'next' }))));
    return { json, operation, node };
  };

  it('whose signature holds are kept as they are', async () => {
    const peer = newPeer();
    const { json, node, operation } = await answerFor(peer, attested(peer));
    assert.deepEqual([json['applied'], json['parked']], [2, []]);
    const stored = await node.memory(operation.subject);
    assert.equal(stored?.metadata['attest_level'], 'agent_attested');
    assert.equal(stored?.write_signature?.public_key, Buffer.from(peer.signer.publicKey).toString('base64'));
  });

  const forged: readonly (readonly [string, (peer: TestPeer, good: Memory) => Memory])[] = [
    ['content', (_, good) => ({ ...good, content: 'another' })],
    ['title', (_, good) => ({ ...good, title: 'another' })],
    ['agent', (_, good) => ({ ...good, metadata: { ...good.metadata, agent_id: 'ai:victim' } })],
    ['signature at all', (_, good) => ({ ...good, write_signature: null })],
    [
      'attesting node',
      (_, good) => ({ ...good, metadata: { ...good.metadata, attested_by: 'peer-0123456789abcdef' } }),
    ],
    [
      'key of small order',
      (_, good) => ({
        ...good,
        metadata: { agent_id: 'ai:writer', attest_level: 'agent_attested' },
        write_signature: {
          ...good.write_signature!,
          public_key: Buffer.from([1, ...new Array<number>(31).fill(0)]).toString('base64'),
          signature: Buffer.from([1, ...new Array<number>(63).fill(0)]).toString('base64'),
        },
      }),
    ],
  ];
  for (const [what, forge] of forged) {
    it(`with another ${what} than was signed have no effect, and the chain goes on`, async () => {
      const peer = newPeer();
      const { json, node, operation } = await answerFor(peer, forge(peer, attested(peer)));
      const op_id = operationId(peer.origin, 1);
      assert.deepEqual(json['parked'], [{ op_id, reason: 'bad_signature' }]);
      assert.deepEqual([json['applied'], json['skipped'], json['have']], [1, 1, { [peer.origin]: 2 }]);
      assert.equal(await node.memory(operation.subject), null);
      assert.equal(node.counted.get('bad_signature'), 1);
    });
  }

  it('cannot hide the claim in escapes', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const forged = { ...attested(peer), content: 'another' };
    const { payload, subject } = new TestPeer('scratch').operation(forged);
    const escaped = payload!
      .replace('attest_level', '\\u0061\\u0074test_level')
      .replace('attested_by', '\\u0061ttested_by');
    const operation = peer.operation(forged, { payload: escaped, subject });
    const { json } = await node.send(peer.push(peer.pushOf(operation)));
    assert.equal((json['parked'] as { reason: string }[])[0]?.reason, 'bad_signature');
  });
});

/** Stamps of two edits, the earlier first. */
const EDITED = [
  '1772000000000-00001 peer-a/e 000000000001',
  '1772000000000-00002 peer-b/e 000000000002',
] as const;

describe('scopes', () => {
  const scoped = (peer: TestPeer) => peer.asPeer({ allowedNamespaces: ['team/**'] });

  it('hold what a peer writes: elsewhere it has no effect', async () => {
    const peer = newPeer();
    const node = await open(peer, { peers: [scoped(peer)] });
    const outside = peer.operation({ namespace: 'secret' });
    const inside = peer.operation({ namespace: 'team/a' });
    const { json } = await node.send(peer.push(peer.pushOf(outside, inside)));
    assert.deepEqual(json['parked'], [{ op_id: operationId(peer.origin, 1), reason: 'out_of_scope' }]);
    assert.equal(json['applied'], 1);
    assert.equal(await node.memory(outside.subject), null);
    assert.ok(await node.memory(inside.subject));
  });

  it('hold it too when another peer brings it', async () => {
    const peer = newPeer();
    const relay = newPeer();
    const node = await open(relay, { peers: [scoped(peer), relay.asPeer()] });
    const outside = peer.operation({ namespace: 'secret' });
    const body = relay.pushBody({ operations: [outside], heads: [peer.head()] });
    const { json } = await node.send(relay.push(body));
    assert.equal((json['parked'] as { reason: string }[])[0]?.reason, 'out_of_scope');
  });

  it('are not left through the id of a memory that lies outside', async () => {
    const peer = newPeer();
    const node = await open(peer, { peers: [scoped(peer)] });
    const command = storing({ namespace: 'secret', title: 'theirs' });
    assert.ok((await node.services.store.execute(command)).ok);
    const { id } = command.memory;
    const steal = peer.operation({ id, namespace: 'team/a', title: 'mine now' }, { kind: 'update' });
    const remove = peer.operation(
      {},
      {
        kind: 'delete',
        namespace: 'team/a',
        subject: id,
        payload: JSON.stringify({ id, namespace: 'team/a', title: 'x', reason: 'delete' }),
      },
    );
    const { json } = await node.send(peer.push(peer.pushOf(steal, remove)));
    const reasons = (json['parked'] as { reason: string }[]).map(({ reason }) => reason);
    assert.deepEqual(reasons, ['out_of_scope', 'out_of_scope']);
    // Nor by having seen the attempt before.
    const again = peer.operation(
      { id, namespace: 'team/a', title: 'mine now' },
      { kind: 'update', seen: { [peer.origin]: 2 } },
    );
    const second = await node.send(peer.push(peer.pushOf(again)));
    assert.equal((second.json['parked'] as { reason: string }[])[0]?.reason, 'out_of_scope');
    assert.equal((await node.memory(id))?.title, 'theirs');
  });

  it('do not take back an edit of what lay inside when it was made, whoever moved it meanwhile', async () => {
    const peer = newPeer();
    const other = newPeer();
    const made = peer.operation({ namespace: 'team/a', title: 'made' });
    const first = peer.pushOf(made);
    const change = { kind: 'update', seen: { [peer.origin]: 1 } } as const;
    const id = String(made.subject);
    const moved = other.pushOf(
      other.operation({ id, namespace: 'secret', title: 'moved', edited: EDITED[0] }, change),
    );
    const edited = peer.pushOf(
      peer.operation({ id, namespace: 'team/a', title: 'edited', edited: EDITED[1] }, change),
    );
    const rows = [];
    for (const order of ['move first', 'edit first']) {
      const node = await open(peer, { peers: [scoped(peer), other.asPeer()] });
      await node.send(peer.push(first));
      const pushes = [() => other.push(moved), () => peer.push(edited)];
      for (const push of order === 'move first' ? pushes : pushes.toReversed()) {
        const { json } = await node.send(push());
        assert.deepEqual(json['parked'], [], order);
      }
      rows.push(await node.memory(id));
    }
    assert.deepEqual(rows[0], rows[1]);
  });

  for (const way of ['in one batch', 'afterwards'] as const) {
    it(`are not left by claiming to have seen what lies outside, sent ${way}`, async () => {
      const peer = newPeer();
      const other = newPeer();
      const node = await open(peer, { peers: [scoped(peer), other.asPeer()] });
      const theirs = other.operation({ namespace: 'secret', title: 'theirs' });
      const id = String(theirs.subject);
      const steal = peer.operation(
        { id, namespace: 'team/a', title: 'mine now' },
        { kind: 'update', seen: { [other.origin]: 1 } },
      );
      const stolen = peer.pushOf(steal);
      const outOfScope = [{ op_id: operationId(peer.origin, 1), reason: 'out_of_scope' }];
      if (way === 'in one batch') {
        const both = { operations: [theirs, steal], heads: [other.head(), peer.head()] };
        const { json } = await node.send(other.push(other.pushBody(both)));
        assert.deepEqual(json['parked'], outOfScope);
      } else {
        await node.send(other.push(other.pushOf(theirs)));
        const { json } = await node.send(peer.push(stolen));
        assert.deepEqual(json['parked'], outOfScope);
      }
      assert.equal((await node.memory(id))?.title, 'theirs');
    });
  }

  it('let in what was moved outside afterwards, also when the move comes first', async () => {
    const peer = newPeer();
    const other = newPeer();
    const node = await open(peer, { peers: [scoped(peer), other.asPeer()] });
    const made = peer.operation({ namespace: 'team/a', title: 'made' });
    const id = String(made.subject);
    const move = other.operation(
      { id, namespace: 'secret', title: 'moved' },
      { kind: 'update', seen: { [peer.origin]: 1 } },
    );
    await node.send(other.push(other.pushOf(move)));
    const { json } = await node.send(peer.push(peer.pushOf(made)));
    assert.deepEqual(json['parked'], []);
    assert.equal((await node.memory(id))?.title, 'moved');
  });

  it('are judged by the header, which the payload must bear out', async () => {
    const peer = newPeer();
    const node = await open(peer, { peers: [scoped(peer)] });
    const disguised = peer.operation({ namespace: 'secret' }, { namespace: 'team/a' });
    const { json } = await node.send(peer.push(peer.pushOf(disguised)));
    assert.equal((json['parked'] as { reason: string }[])[0]?.reason, 'invalid');
    assert.equal(await node.memory(disguised.subject), null);
  });
});

describe('an operation over which the rules break', () => {
  it('is parked alone', async () => {
    const peer = newPeer();
    const second = newPeer();
    let poison = '';
    const node = await open(peer, {
      peers: [peer.asPeer(), second.asPeer()],
      wrap: (store) => ({
        query: (query, options) => store.query(query, options),
        selfCheck: (cursor) => store.selfCheck(cursor),
        close: () => store.close(),
        execute: (command, options) =>
          command.kind === 'apply-operations' &&
          command.operations.some(({ subject, refusal }) => subject === poison && refusal === null)
            ? Promise.resolve({ ok: false, error: { code: 'INTERNAL', message: 'a bug' } })
            : store.execute(command, options),
      }),
    });
    const operations = [peer.operation(), peer.operation(), peer.operation(), second.operation()];
    poison = operations[1]!.subject;
    const message = peer.push(peer.pushBody({ operations, heads: [peer.head(), second.head()] }));
    const { status, json } = await node.send(message);
    assert.equal(status, 200);
    assert.deepEqual(json['parked'], [{ op_id: operationId(peer.origin, 2), reason: 'internal' }]);
    assert.deepEqual([json['applied'], json['have']], [3, { [peer.origin]: 3, [second.origin]: 1 }]);
    assert.equal((await node.send(message)).json['code'], 'x_memory_nonce_replay');
    node.restart();
    assert.equal((await node.send(message)).json['code'], 'x_memory_nonce_replay');
  });
});

describe('an operation whose row is damaged here', () => {
  const failing = async (sinceMs: number) => {
    const peer = newPeer();
    let poison = '';
    const damaged_since = new Date(sinceMs).toISOString();
    const node = await open(peer, {
      wrap: (store) => ({
        query: (query, options) => store.query(query, options),
        selfCheck: (cursor) => store.selfCheck(cursor),
        close: () => store.close(),
        execute: (command, options) =>
          command.kind === 'apply-operations' &&
          command.operations.some(({ subject, refusal }) => subject === poison && refusal === null)
            ? Promise.resolve(
                fail('DATA_DAMAGED', 'damaged', {
                  damaged_kind: 'memory',
                  damaged_id: poison,
                  damaged_since,
                }),
              )
            : store.execute(command, options),
      }),
    });
    const operations = [peer.operation(), peer.operation(), peer.operation()];
    poison = operations[1]!.subject;
    return { peer, ...(await node.send(peer.push(peer.pushBody({ operations, heads: [peer.head()] })))) };
  };

  it('fails the push, which is to come again when the row is repaired', async () => {
    const { status, json } = await failing(Date.now() - 1000);
    assert.deepEqual([status, json['code']], [500, 'DATA_DAMAGED']);
  });

  it('is parked alone where nothing repairs the row', async () => {
    const { status, json, peer } = await failing(Date.now() - 120_000);
    assert.equal(status, 200);
    assert.deepEqual(json['parked'], [{ op_id: operationId(peer.origin, 2), reason: 'internal' }]);
    assert.deepEqual(json['applied'], 2);
  });
});

describe('a pull', () => {
  interface Page {
    readonly operations: readonly WireOperation[];
    readonly heads: readonly SignedHead[];
    readonly more: boolean;
    readonly next_cursor: string;
    readonly have: Readonly<Record<string, number>>;
    readonly root: string | null;
  }
  const pull = async (node: ReceiverNode, peer: TestPeer, cursor: string, limit = 500) => {
    const { status, json } = await node.send(
      peer.pull(`cursor=${cursor}&limit=${limit}&peer=${peer.peerId}`),
    );
    assert.equal(status, 200);
    return json as unknown as Page;
  };

  it('pages through everything under signed heads, to equal roots', async () => {
    const peer = newPeer();
    const writer = newPeer();
    const node = await open(peer, {}, writer);
    for (let row = 0; row < 5; row += 1) {
      assert.ok((await node.services.store.execute(storing({ title: `own ${row}` }))).ok);
    }
    await node.send(writer.push(writer.pushOf(writer.operation(), writer.operation())));
    let cursor = encodeCursor({});
    const seen: string[] = [];
    for (let pages = 1; ; pages += 1) {
      assert.ok(pages <= 100, `there is no end of pages: ${cursor}`);
      const page = await pull(node, peer, cursor, 2);
      if (page.operations.length === 0) {
        assert.equal(page.more, false);
        const buckets = await readBuckets(node.services.store, []);
        assert.ok(buckets.ok);
        assert.equal(page.root, rootDigest(buckets.value, systemCrypto));
        break;
      }
      assert.equal(page.root, null);
      for (const operation of page.operations) seen.push(operationId(operation.origin, operation.seq));
      for (const head of page.heads) {
        const key =
          head.origin === writer.origin ? writer.signer.publicKey : node.services.machineKey!.publicKey;
        assert.ok(systemCrypto.verify(key, headBytes(head), Buffer.from(head.signature, 'base64')));
      }
      const ends = new Set(page.operations.map(({ origin }) => origin));
      assert.deepEqual(new Set(page.heads.map(({ origin }) => origin)), ends);
      cursor = page.next_cursor;
    }
    assert.equal(new Set(seen).size, 7);
    assert.equal(seen.length, 7);
    assert.equal(
      Object.values(decodeCursor(cursor)!).reduce((sum, seq) => sum + seq, 0),
      7,
    );
  });

  it('leaves out payloads that its peer may not hold, and their digests', async () => {
    const peer = newPeer();
    const node = await open(peer, { peers: [peer.asPeer({ allowedNamespaces: ['team/**'] })] });
    for (const namespace of ['team/a', 'secret']) {
      assert.ok((await node.services.store.execute(storing({ namespace, content: `of ${namespace}` }))).ok);
    }
    const page = await pull(node, peer, '');
    assert.deepEqual(
      page.operations.map(({ namespace, payload }) => [namespace, payload !== null]),
      [
        ['team/a', true],
        ['secret', false],
      ],
    );
    const buckets = await readBuckets(node.services.store, [['team/a']]);
    assert.ok(buckets.ok);
    const { root } = await pull(node, peer, page.next_cursor);
    assert.equal(root, rootDigest(buckets.value, systemCrypto));
    const all = await readBuckets(node.services.store, []);
    assert.ok(all.ok);
    assert.notEqual(root, rootDigest(all.value, systemCrypto));
  });

  it('ends before what it knows by its header alone and its peer may have whole, unless bare headers will do', async () => {
    const [peer, writer] = [newPeer(), newPeer()];
    const node = await open(peer, { peers: [peer.asPeer(), writer.asPeer()] });
    const known = writer.operation({ namespace: 'team/a' });
    await node.send(writer.push(writer.pushOf(known)));
    const withheld = { ...writer.operation({ namespace: 'secret' }), payload: null };
    await node.send(writer.push(writer.pushBody({ operations: [withheld], heads: [writer.head()] })));
    const page = await pull(node, peer, '');
    assert.deepEqual(
      page.operations.map(({ seq }) => seq),
      [1],
    );
    assert.equal(page.more, false);
    const bare = await node.send(peer.pull(`cursor=${page.next_cursor}&stubs=1`));
    assert.deepEqual(
      (bare.json as unknown as Page).operations.map(({ seq, payload }) => [seq, payload]),
      [[2, null]],
    );
  });

  it('keeps to the origins that are asked for, and names no root then', async () => {
    const peer = newPeer();
    const node = await open(peer);
    assert.ok((await node.services.store.execute(storing())).ok);
    await node.send(peer.push(peer.pushOf(peer.operation())));
    const one = await node.send(
      peer.pull(`cursor=&origins=${encodeURIComponent(`${peer.origin},peer-x/e`)}`),
    );
    const page = one.json as unknown as Page;
    assert.deepEqual(
      page.operations.map(({ origin }) => origin),
      [peer.origin],
    );
    const rest = await node.send(
      peer.pull(`cursor=${page.next_cursor}&origins=${encodeURIComponent(peer.origin)}`),
    );
    assert.deepEqual([rest.json['operations'], rest.json['more'], rest.json['root']], [[], false, null]);
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];
    const none = await node.send(peer.pull(`cursor=&origins=${names.join(',')}`));
    assert.deepEqual(
      [none.status, none.json['operations']],
      [200, []],
      'names of every object are no origins',
    );
  });

  it('takes a cursor for what its sender has, unless that says that it is a place', async () => {
    const peer = newPeer();
    const node = await open(peer);
    assert.ok((await node.services.store.execute(storing())).ok);
    const empty = Buffer.from('{}').toString('base64url');
    await node.send(peer.pull(`cursor=${empty}`));
    await node.send(peer.pull(`cursor=${empty}&place=1`));
    await node.send(peer.pull(`cursor=${empty}&place=1&limit=1`));
    assert.deepEqual(node.contacts, [
      { have: {}, reads: {} },
      { have: null, reads: {} },
      { have: null, reads: null },
    ]);
  });

  it('gives nothing to a peer without a scope', async () => {
    const peer = newPeer();
    const node = await open(peer, { peers: [peer.asPeer({ pullDenied: true })] });
    assert.ok((await node.services.store.execute(storing())).ok);
    const { status, json } = await node.send(peer.pull('cursor='));
    assert.deepEqual(
      [status, json['operations'], json['have'], json['scope_status']],
      [200, [], {}, 'no_allowlist_default_deny'],
    );
  });

  it('takes a cursor from the future as news of its own past, and no more', async () => {
    const peer = newPeer();
    const node = await open(peer);
    assert.ok((await node.services.store.execute(storing())).ok);
    const known = await node.services.store.query({ kind: 'known-origins' });
    assert.ok(known.ok);
    const ahead = { [known.value.self]: 9_000_000, [peer.origin]: 77, 'peer-x/e': 1 };
    const page = await pull(node, peer, encodeCursor(ahead));
    assert.deepEqual([page.operations, page.more, page.have], [[], false, { [known.value.self]: 1 }]);
    assert.deepEqual(node.contacts.at(-1)?.have, ahead);
    assert.equal((await pull(node, peer, '')).operations.length, 1);
  });

  it('refuses what is no cursor, limit or instant', async () => {
    const peer = newPeer();
    const node = await open(peer);
    const bad = ['cursor=%25', 'cursor=abc', `cursor=${Buffer.from('{"a":-1}').toString('base64url')}`];
    for (const query of [
      ...bad,
      'limit=0',
      'limit=x',
      'since=yesterday',
      'cursor=&at=now',
      'cursor=&cursor=',
    ]) {
      const { status } = await node.send(peer.pull(query));
      assert.equal(status, 400, query);
    }
    assert.equal((await node.send(peer.pull('cursor=&limit=100000'))).status, 200);
  });
});
