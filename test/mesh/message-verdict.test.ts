import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { parseSignature } from '../../protocol/wire/message-headers.js';
import { signedBytes, signMessage } from '../../protocol/wire/message-signing.js';
import { checkMessage, type MessagePolicy, type Senders } from '../../protocol/wire/message-verdict.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('one');
const other = new TestPeer('two');
const POLICY: MessagePolicy = { requireSignature: true, requireNonce: true, certificateBinding: 'warn' };

function sendersOf(...peers: readonly Peer[]): Senders {
  return {
    find: (id) => peers.find(({ peerId }) => peerId === id) ?? null,
    isListed: (id) => id === 'peer-listed',
    holderOf: (fingerprint) => peers.find((one) => one.fingerprints.includes(fingerprint))?.peerId ?? null,
  };
}

const known = sendersOf(peer.asPeer(), other.asPeer());
const tagOf = (
  message: ReceivedMessage,
  policy: Partial<MessagePolicy> = {},
  senders: Senders = known,
): string => {
  const verdict = checkMessage(message, { ...POLICY, ...policy }, senders, systemCrypto);
  return verdict.ok ? 'ok' : verdict.tag;
};
const push = (headers: Record<string, string | undefined> = {}) => peer.push(peer.pushBody(), headers);

describe('the signed bytes', () => {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');
  const get = { method: 'GET', path: '/api/v1/sync/since', query: 'since=x&peer=y', body: null } as const;
  const post = { method: 'POST', path: '/p', query: '', body: Buffer.from('{"a":1}') } as const;

  it('are those of the reference', () => {
    assert.equal(text(signedBytes(post, 'nonce')), '{"a":1}\0nonce');
    assert.equal(text(signedBytes(post, null)), '{"a":1}');
    assert.equal(text(signedBytes(get, 'nonce')), 'GET\n/api/v1/sync/since\nsince=x&peer=y\0nonce');
    assert.equal(text(signedBytes({ ...get, query: '' }, null)), 'GET\n/api/v1/sync/since\n');
  });

  it('come with the headers that a receiver asks for', () => {
    const headers = signMessage({ ...post, peerId: peer.peerId, signer: peer.signer, random: systemRandom });
    assert.match(headers['x-memory-nonce']!, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    assert.match(headers['x-memory-sig']!, /^ed25519=[A-Za-z0-9+/]{86}==$/);
    assert.equal(headers['x-peer-id'], peer.peerId);
    assert.equal(headers['content-type'], 'application/json');
  });
});

describe('the signature header', () => {
  const good = push().headers['x-memory-sig']!;
  const rows: readonly (readonly [string | undefined, string])[] = [
    [good, 'signature'],
    [` ${good} ; keyid=x`, 'signature'],
    [`${good};`, 'signature'],
    [undefined, 'missing'],
    ['', 'missing'],
    [' ; x', 'missing'],
    ['rsa=abc', 'unknown-algorithm'],
    ['=abc', 'unknown-algorithm'],
    ['ED25519=abc', 'unknown-algorithm'],
    ['abc', 'malformed'],
    ['ed25519=', 'malformed'],
    ['ed25519=abc', 'malformed'],
    [good.slice(0, -2), 'malformed'],
    [good.replace('==', 'A='), 'malformed'],
    [`${good.slice(0, -3)}B==`, 'malformed'],
    [good.replaceAll('+', '-').replaceAll('/', '_').replace('=', '=-').slice(0, -1), 'malformed'],
  ];
  for (const [header, kind] of rows) {
    it(`${JSON.stringify(header)?.slice(0, 40)} is ${kind}`, () => {
      assert.equal(parseSignature(header).kind, kind);
    });
  }
});

describe('a message', () => {
  it('of a member passes with its nonce', () => {
    const message = push();
    const verdict = checkMessage(message, POLICY, known, systemCrypto);
    assert.ok(verdict.ok);
    assert.equal(verdict.peer.peerId, peer.peerId);
    assert.equal(verdict.nonce, message.headers['x-memory-nonce']);
  });

  it('without peer id is unsigned or headless', () => {
    const nothing = { 'x-peer-id': undefined, 'x-memory-sig': undefined };
    assert.equal(tagOf(push(nothing)), 'x_memory_sig_missing');
    assert.equal(tagOf(push(nothing), { requireSignature: false }), 'peer_id_header_missing');
    assert.equal(tagOf(push({ 'x-peer-id': undefined })), 'peer_id_header_missing');
  });

  for (const id of ['', 'a b', 'a;b', '../x', '/x', 'a\u0000', 'x'.repeat(129), 'daemon', 'federation']) {
    it(`with the peer id ${JSON.stringify(id).slice(0, 20)} has none`, () => {
      assert.equal(tagOf(push({ 'x-peer-id': id })), 'peer_id_header_missing');
    });
  }

  it('of a stranger is refused before its signature is looked at', () => {
    assert.equal(tagOf(push({ 'x-peer-id': 'peer-nobody' })), 'x_peer_id_not_in_allowlist');
    assert.equal(
      tagOf(push({ 'x-peer-id': 'peer-nobody', 'x-memory-sig': undefined })),
      'x_peer_id_not_in_allowlist',
    );
    assert.equal(tagOf(push({ 'x-peer-id': 'peer-listed' })), 'peer_not_enrolled');
  });

  it('of a departed peer is refused', () => {
    const departed = sendersOf(peer.asPeer({ state: 'departed' }));
    assert.equal(tagOf(push(), {}, departed), 'x_peer_id_not_in_allowlist');
  });

  it('needs a signature, unless the operator says otherwise', () => {
    const unsigned = push({ 'x-memory-sig': undefined });
    assert.equal(tagOf(unsigned), 'x_memory_sig_missing');
    assert.equal(tagOf(unsigned, { requireSignature: false }), 'ok');
    // One that comes must hold all the same.
    assert.equal(
      tagOf(push({ 'x-memory-sig': 'ed25519=x' }), { requireSignature: false }),
      'x_memory_sig_malformed',
    );
    assert.equal(tagOf(push({ 'x-memory-sig': 'hmac=x' })), 'x_memory_sig_unknown_algorithm');
  });

  it('needs a nonce, unless the operator says otherwise', () => {
    const without = { 'x-memory-nonce': undefined };
    assert.equal(tagOf(push(without)), 'x_memory_nonce_missing');
    assert.equal(tagOf(push({ 'x-memory-nonce': '  ' })), 'x_memory_nonce_missing');
    assert.equal(tagOf(push({ 'x-memory-nonce': 'n'.repeat(129) })), 'x_memory_nonce_missing');
    // Its signature covers the nonce that it had.
    assert.equal(tagOf(push(without), { requireNonce: false }), 'x_memory_sig_bad_signature');
    const message = push(without);
    const signature = peer.signer.sign(signedBytes(message, null));
    const legacy = { ...without, 'x-memory-sig': `ed25519=${Buffer.from(signature).toString('base64')}` };
    assert.equal(
      tagOf({ ...message, headers: { ...message.headers, ...legacy } }, { requireNonce: false }),
      'ok',
    );
  });

  it('whose parts were changed is refused', () => {
    const message = push();
    const bad = 'x_memory_sig_bad_signature';
    const bytes = Buffer.from(message.body);
    bytes[bytes.length - 2]! ^= 1;
    assert.equal(tagOf({ ...message, body: bytes }), bad);
    assert.equal(tagOf(push({ 'x-memory-nonce': systemRandom.uuid() })), bad);
    assert.equal(tagOf(push({ 'x-peer-id': other.peerId })), bad);
    const pull = peer.pull('limit=1');
    assert.equal(tagOf(pull), 'ok');
    assert.equal(tagOf({ ...pull, query: 'limit=2' }), bad);
    assert.equal(tagOf({ ...pull, path: '/api/v1/sync/other' }), bad);
  });

  it('must come with the certificate of its peer', () => {
    const [own, stolen, unbound] = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)];
    const bound = sendersOf(peer.asPeer({ fingerprints: [own!] }), other.asPeer({ fingerprints: [stolen!] }));
    const from = (fingerprint: string, policy: Partial<MessagePolicy>, senders: Senders) =>
      tagOf({ ...push(), fingerprint }, policy, senders);
    assert.equal(from(own!, {}, bound), 'ok');
    assert.equal(from(stolen!, {}, bound), 'peer_id_cert_mismatch');
    assert.equal(from(unbound!, {}, bound), 'peer_id_cert_mismatch');
    const loose = sendersOf(peer.asPeer(), other.asPeer({ fingerprints: [stolen!] }));
    assert.equal(from(stolen!, {}, loose), 'peer_id_cert_mismatch');
    assert.equal(from(unbound!, {}, loose), 'ok');
    assert.equal(from(unbound!, { certificateBinding: 'enforce' }, loose), 'peer_id_cert_unbound');
  });
});
