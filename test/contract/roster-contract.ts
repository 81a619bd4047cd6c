import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import { TestPeer } from '../support/test-peer.js';

export interface RosterUnderTest {
  readonly roster: Roster;
  /** A peer belongs to the mesh from now on; one that did already has these fingerprints. */
  put(peer: Peer): void;
  /** It does no longer. */
  drop(peer: Peer): void;
  /** The roster looks, where it does so by itself only now and then. */
  look(): void;
  close(): void;
}

const [one, two] = [new TestPeer('one').asPeer(), new TestPeer('two').asPeer()];

const ids = (roster: Roster) =>
  roster
    .peers()
    .map(({ peerId }) => peerId)
    .sort();
const members = (roster: Roster) =>
  roster
    .peers()
    .filter(({ state }) => state === 'member')
    .map(({ peerId }) => peerId)
    .sort();

/** What everything that says who belongs to the mesh does. */
export function rosterContract(name: string, open: () => RosterUnderTest): void {
  describe(`roster: ${name}`, () => {
    let under: RosterUnderTest;
    beforeEach(() => {
      under = open();
    });
    afterEach(() => under.close());
    const put = (...peers: Peer[]) => {
      for (const peer of peers) under.put(peer);
      under.look();
    };
    const counted = () => {
      const calls = { count: 0, stop: () => {} };
      calls.stop = under.roster.onChange(() => {
        calls.count += 1;
      });
      return calls;
    };

    it('knows nobody at first', () => {
      assert.deepEqual(under.roster.peers(), []);
      assert.equal(under.roster.find(one.peerId), null);
    });

    it('lists each peer once and finds the same by its id, with its key', () => {
      put(one, two, one);
      assert.deepEqual(ids(under.roster), [one.peerId, two.peerId].sort());
      for (const peer of under.roster.peers()) assert.deepEqual(under.roster.find(peer.peerId), peer);
      assert.deepEqual([...under.roster.find(one.peerId)!.publicKey], [...one.publicKey]);
      assert.equal(under.roster.find(one.peerId)!.state, 'member');
      assert.equal(under.roster.find('peer-00000000000000ff'), null);
    });

    it('tells every change after it has come, and nothing to those who stopped listening', () => {
      const seen: (readonly string[])[] = [];
      const stop = under.roster.onChange(() => void seen.push(members(under.roster)));
      const other = counted();
      put(one);
      assert.deepEqual(seen.at(-1), [one.peerId], 'a listener sees what it is told of');
      put(two);
      assert.deepEqual(seen.at(-1), [one.peerId, two.peerId].sort());
      const [told, others] = [seen.length, other.count];
      assert.ok(others >= 2);
      stop();
      stop();
      under.drop(one);
      under.look();
      assert.equal(seen.length, told);
      assert.ok(other.count > others, 'the other one is still told');
    });

    it('tells all others when one of them stops while it is told', () => {
      const first = counted();
      const stop = under.roster.onChange(() => stop());
      const last = counted();
      put(one);
      assert.ok(first.count > 0 && last.count > 0);
    });

    it('says another certificate of a peer, and leaves the lists that it gave before', () => {
      put(one);
      const before = under.roster.peers();
      const calls = counted();
      const fingerprints = ['ab'.repeat(32)];
      put({ ...one, fingerprints });
      assert.deepEqual(under.roster.find(one.peerId)!.fingerprints, fingerprints);
      assert.ok(calls.count > 0);
      put(two);
      assert.deepEqual(
        before.map((peer) => [peer.peerId, peer.fingerprints]),
        [[one.peerId, []]],
      );
    });

    it('has no member any more who went', () => {
      put(one, two);
      const calls = counted();
      under.drop(one);
      under.look();
      assert.deepEqual(members(under.roster), [two.peerId]);
      assert.notEqual(under.roster.find(one.peerId)?.state, 'member');
      assert.ok(calls.count > 0);
    });
  });
}
