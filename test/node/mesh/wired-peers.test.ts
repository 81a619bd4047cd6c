import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PeerClient } from '../../../actors/mesh/peer-client.js';
import { answerWhoami, askWhoami } from '../../../node/mesh/whoami.js';
import { WiredPeers } from '../../../node/mesh/wired-peers.js';
import { systemClock, systemCrypto, systemRandom } from '../../../node/seams.js';
import type { PeerReply, PeerTransport } from '../../../protocol/wire/transport.js';
import { HandScheduler, keptLog } from '../../support/mesh.js';
import { TestPeer } from '../../support/test-peer.js';

const [one, two, self] = [new TestPeer('one'), new TestPeer('two'), new TestPeer('this node')];
const encode = (body: object, status = 200): PeerReply => ({
  kind: 'answer',
  status,
  body: new TextEncoder().encode(JSON.stringify(body)),
});

/** Says at each address what whoever is there would say. */
class Town implements PeerTransport {
  readonly at = new Map<string, TestPeer | PeerReply>();

  send(peer: { readonly url: string | null }, { query }: { readonly query: string }): Promise<PeerReply> {
    const there = this.at.get(peer.url!);
    if (there === undefined) return Promise.resolve({ kind: 'unreachable', message: 'nobody' });
    if (!(there instanceof TestPeer)) return Promise.resolve(there);
    const said = answerWhoami(query, there.peerId, there.signer);
    assert.ok(said.ok);
    return Promise.resolve(encode(said.value));
  }
}

function wire(urls: readonly string[], enrolled: readonly TestPeer[] = [one, two]) {
  const [town, scheduler, log] = [new Town(), new HandScheduler(), keptLog()];
  const peers = new Map(enrolled.map((peer) => [peer.peerId, peer.asPeer()]));
  const wired = new WiredPeers({
    urls,
    self: self.peerId,
    transport: town,
    scheduler,
    random: systemRandom,
    crypto: systemCrypto,
    log,
  });
  const settled = () => new Promise((resume) => setImmediate(resume));
  const states = () => wired.list().map(({ state }) => state);
  const round = async () => {
    scheduler.tick();
    await settled();
    return states();
  };
  const start = async () => {
    wired.start({ find: (id) => peers.get(id) ?? null });
    await settled();
    return states();
  };
  return { wired, town, peers, log, start, round };
}

const [A, B] = ['http://a.example:1', 'http://b.example:2'] as const;

describe('addresses that are wired by hand', () => {
  it('follow nodes that come, move and change places', async () => {
    const { wired, town, start, round } = wire([`${A}/`, B]);
    let changes = 0;
    wired.onChange(() => {
      changes += 1;
    });
    assert.deepEqual(await start(), ['unreachable', 'unreachable']);
    town.at.set(A, one);
    assert.deepEqual(await round(), ['attached', 'unreachable']);
    assert.deepEqual([wired.urlOf(one.peerId), wired.urlOf(two.peerId)], [A, null]);
    town.at.set(B, two);
    await round();
    assert.deepEqual([wired.urlOf(one.peerId), wired.urlOf(two.peerId)], [A, B]);
    // One that is away stays where it was.
    town.at.delete(A);
    assert.deepEqual(await round(), ['attached', 'attached']);
    town.at.set(A, two).set(B, one);
    await round();
    await round();
    assert.deepEqual([wired.urlOf(one.peerId), wired.urlOf(two.peerId)], [B, A]);
    assert.ok(changes >= 3);
    wired.stop();
  });

  it('say why they lead to nobody', async () => {
    const { wired, town, peers, start, round } = wire([A]);
    town.at.set(A, self);
    assert.deepEqual(await start(), ['self']);
    assert.equal(wired.count, 0);
    town.at.set(A, one);
    peers.set(one.peerId, one.asPeer({ publicKey: two.signer.publicKey }));
    assert.deepEqual(await round(), ['wrong_key']);
    peers.delete(one.peerId);
    assert.deepEqual(await round(), ['not_enrolled']);
    peers.set(one.peerId, one.asPeer({ state: 'departed' }));
    assert.deepEqual(await round(), ['not_enrolled']);
    for (const rubbish of [encode({}), encode({}, 404), encode([])]) {
      town.at.set(A, rubbish);
      assert.deepEqual(await round(), ['rubbish']);
    }
    town.at.set(A, { kind: 'untrusted', message: 'a certificate' });
    assert.deepEqual(await round(), ['untrusted']);
    peers.set(one.peerId, one.asPeer());
    town.at.set(A, one);
    assert.deepEqual(await round(), ['attached']);
    wired.stop();
  });

  it('believe no word that another key, or an older challenge, was signed with', async () => {
    const said = answerWhoami('challenge=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', one.peerId, one.signer);
    assert.ok(said.ok);
    const at = one.asPeer({ url: A });
    for (const forged of [
      said.value,
      { ...said.value, peer_id: two.peerId },
      { ...said.value, signature: 'AAAA' },
    ]) {
      const transport: PeerTransport = {
        send: (_peer, { query }) =>
          Promise.resolve(
            encode({ ...forged, challenge: forged === said.value ? forged.challenge : query.slice(10) }),
          ),
      };
      const asked = await askWhoami(at, transport, { random: systemRandom, crypto: systemCrypto });
      assert.equal(asked.kind, 'rubbish');
    }
    for (const query of [
      '',
      'challenge=',
      'challenge=short',
      `challenge=${'a'.repeat(129)}`,
      'challenge=a%20b',
    ])
      assert.equal(answerWhoami(query, one.peerId, one.signer).ok, false, query);
  });
});

it('an answer of another node is no acknowledgement', async () => {
  const reply = (receiver: string) =>
    encode({
      applied: 1,
      noop: 0,
      have: { 'a/b': 1 },
      refused: [],
      parked: [],
      wall_clock: new Date().toISOString(),
      receiver_agent_id: receiver,
    });
  const push = async (receiver: string) => {
    const client = new PeerClient({
      self: { peerId: self.peerId, signer: self.signer },
      transport: { send: () => Promise.resolve(reply(receiver)) },
      clock: systemClock,
      random: systemRandom,
      requestTimeoutMs: 1000,
    });
    return client.push(one.asPeer({ url: A }), client.sign(new Uint8Array(0)));
  };
  assert.equal((await push(one.peerId)).ok, true);
  const other = await push(two.peerId);
  assert.deepEqual([other.ok, other.ok ? null : other.cause], [false, 'untrusted']);
});
