import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReplicationProgress } from '../../../actors/mesh/replication-progress.js';

const OWN = 'peer-0000000000000000/e1';

function replication(): ReplicationProgress {
  const made = new ReplicationProgress();
  made.follow(OWN);
  return made;
}

describe('the standing of a peer', () => {
  it('rises with its answers, and falls alone with an answer to a later question', () => {
    const peer = replication();
    const early = peer.ticket();
    const other = peer.ticket();
    assert.equal(peer.observe(5, other), 'raised');
    // An answer that was under way when the higher figure came.
    assert.equal(peer.observe(3, early), 'same');
    assert.equal(peer.acked, 5);
    assert.equal(peer.observe(3, peer.ticket()), 'lowered');
    assert.equal(peer.acked, 3);
  });

  it('a parked operation is no copy of any range that holds it', () => {
    const peer = replication();
    peer.observe(10, peer.ticket());
    peer.setParked(1, 10, [{ op_id: `${OWN}/4`, reason: 'invalid' }]);
    assert.equal(peer.verdict(OWN, 4, 4), 'waiting');
    assert.equal(peer.from, 9);
    peer.prove(10);
    assert.equal(peer.from, 10);
    assert.equal(peer.verdict(OWN, 4, 4), 'parked');
    assert.equal(peer.verdict(OWN, 1, 10), 'parked');
    assert.equal(peer.verdict(OWN, 5, 10), 'durable');
    assert.equal(peer.verdict(OWN, 5, 11), 'waiting');
    assert.equal(peer.verdict('peer-0000000000000000/e0', 5, 10), 'waiting');
    peer.setParked(1, 10, []);
    assert.equal(peer.verdict(OWN, 4, 4), 'durable');
  });

  it('what no answer reported on may be parked there, and is asked after', () => {
    const peer = replication();
    peer.observe(3, peer.ticket());
    peer.setParked(1, 3, []);
    peer.prove(3);
    // The answer to 4 and 5 is lost; that the peer has them is heard otherwise, and 6 is taken.
    peer.observe(5, peer.ticket());
    peer.observe(6, peer.ticket());
    peer.setParked(6, 6, []);
    peer.prove(6);
    assert.equal(peer.verdict(OWN, 6, 6), 'durable');
    assert.equal(peer.from, 6);
    assert.equal(peer.verdict(OWN, 5, 5), 'waiting');
    assert.equal(peer.from, 4, 'it is sent again');
    peer.setParked(5, 6, [{ op_id: `${OWN}/5`, reason: 'internal' }]);
    assert.equal(peer.verdict(OWN, 5, 5), 'parked');
    assert.equal(peer.from, 6);
    assert.equal(peer.verdict(OWN, 3, 3), 'durable');
  });

  it('a peer that only calls is taken at its word', () => {
    const peer = replication();
    peer.observe(4, peer.ticket());
    peer.trust();
    assert.equal(peer.verdict(OWN, 1, 4), 'durable');
  });

  it('what the peer has lost is not parked there', () => {
    const peer = replication();
    peer.observe(10, peer.ticket());
    peer.setParked(1, 10, [{ op_id: `${OWN}/4`, reason: 'invalid' }]);
    peer.observe(2, peer.ticket());
    assert.equal(peer.parked.size, 0);
  });

  it('begins anew under another origin', () => {
    const peer = replication();
    peer.observe(10, peer.ticket());
    peer.follow('peer-0000000000000000/e2');
    assert.equal(peer.acked, 0);
    peer.follow('peer-0000000000000000/e2', 7);
    assert.equal(peer.acked, 0);
  });

  it('remembers a bounded number of parked operations', () => {
    const peer = replication();
    peer.observe(30_000, peer.ticket());
    peer.prove(30_000);
    const parked = Array.from({ length: 30_000 }, (_, index) => ({
      op_id: `${OWN}/${index + 1}`,
      reason: 'invalid' as const,
    }));
    peer.setParked(1, 30_000, parked);
    assert.equal(peer.parked.size, 10_000);
    assert.equal(peer.verdict(OWN, 30_000, 30_000), 'parked');
  });
});
