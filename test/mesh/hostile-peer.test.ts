import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PUSH_OPERATIONS_MAX, REQUEST_BODY_BYTES_MAX } from '../../protocol/base/limits.js';
import { encodeCursor } from '../../protocol/log/cursor.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { aMemory } from '../support/memories.js';
import { TestPeer } from '../support/test-peer.js';
import { event } from '../support/wait.js';
import { metricOf, rawRequest, sendTo, useNonces, type WireAnswer } from './wire-client.js';

/**
 * What a peer with a valid key, or somebody on its wire, may try against a daemon. Nothing is applied that may not be,
 * nothing falls over, and each attempt has its metric.
 */

const hostile = new TestPeer('hostile');
const scoped = new TestPeer('hostile and scoped');
const unlisted = new TestPeer('a key without a scope');
const SCOPES = {
  [hostile.peerId]: { allowed_namespaces: ['**'] },
  [scoped.peerId]: { allowed_namespaces: ['team/**'] },
  'peer-without-a-key': {},
};
/** How long the node waits for the rest of a request. */
const REQUEST_TIMEOUT_SECONDS = 5;

const home = temporaryFolder('hostile-peer');
let daemon: DaemonProcess;
let port = 0;

async function start(): Promise<void> {
  daemon = await startDaemonProcess(home, port, {
    SVC_FED_PEER_ATTESTATION: JSON.stringify(SCOPES),
    SVC_ADMIN_AGENT_IDS: 'ai:admin',
    SVC_ADMIN_HEADER_TRUST: '1',
  });
}

before(async () => {
  port = await freePort();
  writeFileSync(join(home, 'config.toml'), `request_timeout_secs = ${REQUEST_TIMEOUT_SECONDS}\n`);
  for (const peer of [hostile, scoped, unlisted]) peer.enrol(join(home, 'keys'));
  await start();
});
after(async () => {
  await daemon.end('SIGTERM');
});

const send = (message: ReceivedMessage) => sendTo(daemon.base, message);
const codeOf = ({ status, json }: WireAnswer) => [status, json?.['code']];

/** Memories that the node holds. */
async function rows(): Promise<number> {
  const response = await fetch(`${daemon.base}/stats`, { headers: { 'x-agent-id': 'ai:admin' } });
  const { total } = (await response.json()) as { total: number };
  return total;
}

/** What a call changes of a metric with this label. */
async function counts(label: string, call: () => Promise<unknown>): Promise<number> {
  const then = await metricOf(daemon.base, label);
  await call();
  return (await metricOf(daemon.base, label)) - then;
}

describe('messages that are not believed', () => {
  const push = (headers: Record<string, string | undefined> = {}) => hostile.push(hostile.pushOf(), headers);
  const get = (headers: Record<string, string | undefined> = {}) => hostile.pull('cursor=', headers);
  const cases: readonly (readonly [string, number, Record<string, string | undefined>])[] = [
    ['x_memory_sig_missing', 401, { 'x-memory-sig': undefined }],
    ['x_memory_sig_unknown_algorithm', 401, { 'x-memory-sig': 'hmac-sha256=AAAA' }],
    ['x_memory_sig_malformed', 401, { 'x-memory-sig': 'ed25519=AAAA' }],
    ['x_memory_sig_bad_signature', 401, { 'x-memory-nonce': 'another nonce'.replaceAll(' ', '-') }],
    ['x_memory_nonce_missing', 401, { 'x-memory-nonce': undefined }],
    ['x_peer_id_not_in_allowlist', 401, { 'x-peer-id': 'peer-nobody' }],
    ['x_peer_id_not_in_allowlist', 401, { 'x-peer-id': unlisted.peerId }],
    ['peer_not_enrolled', 401, { 'x-peer-id': 'peer-without-a-key' }],
    ['peer_id_header_missing', 403, { 'x-peer-id': undefined }],
    ['peer_id_header_missing', 403, { 'x-peer-id': '../daemon' }],
  ];
  for (const [tag, status, headers] of cases) {
    it(`${tag} (${JSON.stringify(headers).slice(0, 40)})`, async () => {
      const before = await rows();
      const counted = await counts(`messages_refused_total{code="${tag}"}`, async () => {
        for (const message of [push(headers), get(headers)]) {
          const answer = await send(message);
          assert.deepEqual([...codeOf(answer), answer.json?.['error']], [status, tag, tag]);
        }
      });
      assert.equal(counted, 2);
      assert.equal(await rows(), before);
    });
  }

  it('sender_agent_id_mismatch', async () => {
    const body = hostile.pushBody({ sender_agent_id: scoped.peerId, memories: [aMemory()] });
    assert.deepEqual(codeOf(await send(hostile.push(body))), [403, 'sender_agent_id_mismatch']);
  });

  it('that are dated far ahead or long ago', async () => {
    for (const sentAt of ['2099-01-01T00:00:00Z', '2001-01-01T00:00:00Z']) {
      const body = hostile.pushBody({ sender_wall_clock: sentAt, operations: [], heads: [] });
      assert.deepEqual(codeOf(await send(hostile.push(body))), [401, 'message_out_of_time']);
      assert.deepEqual(codeOf(await send(hostile.pull(`cursor=&at=${sentAt}`))), [
        401,
        'message_out_of_time',
      ]);
    }
  });

  it('whose bytes were changed on the way', async () => {
    const message = hostile.push(hostile.pushOf());
    const body = Buffer.concat([message.body, Buffer.from(' ')]);
    assert.deepEqual(codeOf(await send({ ...message, body })), [401, 'x_memory_sig_bad_signature']);
    const pull = hostile.pull('cursor=&limit=1');
    assert.deepEqual(codeOf(await send({ ...pull, query: 'cursor=&limit=2' })), [
      401,
      'x_memory_sig_bad_signature',
    ]);
  });
});

describe('replays', () => {
  it('are refused, also after a crash and after 2,000 other nonces', async () => {
    const operation = hostile.operation({ title: 'once' });
    const push = hostile.push(hostile.pushOf(operation));
    const pull = hostile.pull('cursor=&limit=1');
    assert.equal((await send(push)).status, 200);
    assert.equal((await send(pull)).status, 200);
    const before = await rows();
    const refused = async () => {
      for (const message of [push, pull]) {
        assert.deepEqual(codeOf(await send(message)), [401, 'x_memory_nonce_replay']);
      }
    };
    await refused();
    await daemon.end('SIGKILL');
    await start();
    await refused();
    await useNonces(daemon.base, hostile, 2000);
    await refused();
    await daemon.end('SIGTERM');
    await start();
    await refused();
    assert.equal(await rows(), before);
  });

  it('do not pass side by side', async () => {
    const push = hostile.push(hostile.pushOf());
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(push)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  });
});

describe('operations that may not take effect', () => {
  const reasons = ({ json }: WireAnswer, list: 'refused' | 'parked') =>
    (json![list] as { reason: string }[]).map(({ reason }) => reason);

  it('stamped an hour ahead', async () => {
    const before = await rows();
    // The same peer, but what it makes here is no part of what it sends later.
    const fresh = new TestPeer('hostile and scoped');
    const ahead = fresh.operation({ namespace: 'team/a' }, { hlc: `${Date.now() + 3_600_000}-00000` });
    const answer = await send(fresh.push(fresh.pushOf(ahead)));
    assert.deepEqual(reasons(answer, 'refused'), ['clock_skew']);
    assert.equal(await rows(), before);
  });

  it('with a forged author, or of a namespace out of scope', async () => {
    const before = await rows();
    const forged = scoped.operation({
      namespace: 'team/a',
      metadata: { agent_id: 'ai:victim', attest_level: 'agent_attested' },
      write_signature: {
        signature: Buffer.alloc(64, 1).toString('base64'),
        created_at: '2026-01-01T00:00:00.000Z',
        public_key: Buffer.from(scoped.signer.publicKey).toString('base64'),
      },
    });
    const outside = scoped.operation({ namespace: 'secret' });
    const counted = await counts('operations_received_total{outcome="bad_signature"}', async () => {
      const answer = await send(scoped.push(scoped.pushOf(forged, outside)));
      assert.deepEqual(reasons(answer, 'parked'), ['bad_signature', 'out_of_scope']);
      assert.deepEqual([answer.json?.['applied'], answer.json?.['skipped']], [0, 2]);
    });
    assert.equal(counted, 1);
    assert.equal(await rows(), before);
  });

  it('without a chain, a head or a shape', async () => {
    const before = await rows();
    const stray = new TestPeer('hostile').operation({ title: 'stray' });
    const answer = await send(
      hostile.push(hostile.pushBody({ operations: [stray, null, { origin: 1 }], heads: [{}, 7] })),
    );
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.json?.['applied'], reasons(answer, 'refused')], [0, ['bad_chain']]);
    assert.equal(await rows(), before);
  });

  it('a cursor from the future pins nothing', async () => {
    const origins = await send(hostile.pull('cursor='));
    const have = origins.json!['have'] as Record<string, number>;
    const future = Object.fromEntries(Object.keys(have).map((origin) => [origin, Number.MAX_SAFE_INTEGER]));
    const answer = await send(hostile.pull(`cursor=${encodeCursor(future)}`));
    assert.deepEqual([answer.status, answer.json?.['operations'], answer.json?.['have']], [200, [], have]);
    const again = await send(hostile.pull('cursor='));
    assert.deepEqual(again.json?.['operations'], origins.json?.['operations']);
  });
});

describe('too much', () => {
  it('of everything in one message', async () => {
    const many = Array.from({ length: PUSH_OPERATIONS_MAX + 1 }, () => 0);
    assert.deepEqual(codeOf(await send(hostile.push(hostile.pushBody({ operations: many })))), [
      400,
      'VALIDATION_FAILED',
    ]);
    const large = hostile.push(hostile.pushBody({ filler: 'x'.repeat(REQUEST_BODY_BYTES_MAX) }));
    assert.deepEqual(codeOf(await send(large)), [413, 'PAYLOAD_TOO_LARGE']);
    const deep = `{"sender_agent_id":"${hostile.peerId}","memories":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    assert.ok([200, 400].includes((await send(hostile.push(deep))).status));
  });

  it('that unpacks to more', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const { headers } = hostile.push('');
    const answer = await send({
      method: 'POST',
      path: '/api/v1/sync/push',
      query: '',
      headers: { ...headers, 'content-encoding': 'gzip' },
      body: bomb,
      fingerprint: null,
    });
    assert.deepEqual(codeOf(answer), [415, 'UNSUPPORTED_MEDIA_TYPE']);
  });
});

describe('connections that hang', () => {
  const open = async (): Promise<Socket> => {
    const socket = createConnection({ host: '127.0.0.1', port });
    // Whatever the node does to it is right; the test ends it in the end.
    socket.on('error', () => {});
    await event('the connection opens', socket, 'connect');
    return socket;
  };
  const alive = async () => assert.equal((await send(hostile.push(hostile.pushOf()))).status, 200);

  it('of readers that do not read', async () => {
    const filler = Array.from({ length: 24 }, (_, index) =>
      scoped.operation({ namespace: 'team/big', title: `big ${index}`, content: 'y'.repeat(60_000) }),
    );
    assert.equal((await send(scoped.push(scoped.pushOf(...filler)))).json?.['applied'], filler.length);
    const sockets: Socket[] = [];
    for (let reader = 0; reader < 20; reader += 1) {
      const socket = await open();
      socket.pause();
      socket.write(rawRequest(hostile.pull('cursor=&limit=10000')));
      sockets.push(socket);
    }
    await alive();
    for (const socket of sockets) socket.destroy();
    await alive();
  });

  it('half way through a body are told so', async () => {
    const socket = await open();
    const whole = rawRequest(hostile.push(hostile.pushOf()));
    socket.write(whole.subarray(0, whole.length - 10));
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    await alive();
    await event('the connection is ended', socket, 'close', { withinMs: 60_000 });
    assert.match(answer, /^HTTP\/1\.1 408 /);
    await alive();
  });

  it('and never say anything, or vanish', async () => {
    const silent = await Promise.all(Array.from({ length: 50 }, open));
    const vanished = await open();
    vanished.write(rawRequest(hostile.push(hostile.pushOf())).subarray(0, 100));
    vanished.resetAndDestroy();
    await alive();
    for (const socket of silent) socket.destroy();
  });
});

it('the node has not noticed', async () => {
  assert.equal(daemon.child.exitCode, null);
  assert.equal((await fetch(`${daemon.base}/health`)).status, 200);
  assert.doesNotMatch(daemon.errors(), /unexpectedly|INTERNAL/);
});
