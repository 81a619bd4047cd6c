import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { QuorumOutcome } from '../../../actors/mesh/parts.js';
import type { Replication } from '../../../node/pipeline/call.js';
import { Commands } from '../../../protocol/decide/command.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const PATH = '/api/v1/memories';
const alice = { 'x-agent-id': 'ai:alice' };
const MISSED: QuorumOutcome = { acks: 1, needed: 2, met: false, reason: 'timeout' };
const MET: QuorumOutcome = { acks: 2, needed: 2, met: true, reason: null };

let node: HttpNode;
let outcome: QuorumOutcome = MET;
let waits: { origin: string; from: number; to: number }[] = [];
let gate: Promise<void> | null = null;

const replication: Replication = {
  quorumWrites: 2,
  quorumTimeoutMs: 2000,
  forward: () => Promise.reject(new Error('nothing is passed on here')),
  commands: new Commands([]),
  accepting: () => gate === null,
  whenAccepting: () => gate ?? Promise.resolve(),
  clockAheadMs: () => 0,
  replicated: async (origin, from, to) => {
    waits.push({ origin, from, to });
    return outcome;
  },
};

before(async () => {
  node = await openHttpNode({}, { wrap: (services) => ({ ...services, replication }) });
});
after(() => node.close());
beforeEach(() => {
  outcome = MET;
  waits = [];
  gate = null;
});

let made = 0;
const store = (body: object = {}) => {
  made += 1;
  return node.send('POST', PATH, { title: `t${made}`, content: 'c', ...body }, alice);
};

describe('a write on a node with a quorum', () => {
  it('says how many nodes have it, with its ordinary status', async () => {
    const answer = await store();
    assert.deepEqual([answer.status, answer.json!['quorum_acks']], [201, 2]);
    const { operations } = await node.counts();
    assert.deepEqual(
      waits.map(({ from, to }) => [from, to]),
      [[operations, operations]],
    );
  });

  it('is 202 with its ordinary body and the state of replication when the quorum is missed', async () => {
    outcome = MISSED;
    const answer = await store();
    assert.equal(answer.status, 202);
    const { id, namespace, ...rest } = answer.json!;
    assert.equal(typeof id, 'string');
    assert.equal(namespace, 'global');
    const { origin, to } = waits[0]!;
    const { quorum_met, acks, needed, reason, durability, op_id } = rest;
    assert.deepEqual(
      { quorum_met, acks, needed, reason, durability, op_id },
      {
        quorum_met: false,
        acks: 1,
        needed: 2,
        reason: 'timeout',
        durability: 'local',
        op_id: `${origin}/${to}`,
      },
    );
    // The write stands.
    assert.equal((await node.send('GET', `${PATH}/${id}`, undefined, alice)).status, 200);
  });

  it('says so in every shape of an answer', async () => {
    const { json } = await store();
    const path = `${PATH}/${json!['id']}`;
    const updated = await node.send('PUT', path, { content: 'new' }, alice);
    assert.deepEqual(
      [updated.status, updated.json!['quorum_acks'], updated.json!['content']],
      [200, 2, 'new'],
    );
    outcome = MISSED;
    const again = await node.send('PUT', path, { content: 'newer' }, alice);
    assert.deepEqual(
      [again.status, again.json!['quorum_met'], again.json!['content']],
      [202, false, 'newer'],
    );
    const gone = await node.send('DELETE', path, undefined, alice);
    assert.deepEqual([gone.status, gone.json!['quorum_met']], [202, false]);
  });

  it('waits once for rows that were written together, and keeps the shape of their list', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => ({ title: `bulk ${index}`, content: 'c' }));
    const answer = await node.send('POST', `${PATH}/bulk`, rows, alice);
    assert.equal(answer.json!['created'], 20);
    assert.equal((answer.json!['results'] as unknown[]).length, 20);
    assert.equal(answer.json!['quorum_acks'], 2);
    assert.equal(waits.length, 1);
    assert.equal(waits[0]!.to - waits[0]!.from, 19);
  });

  it('waits for nobody when nothing was written', async () => {
    const { json } = await store({ title: 'taken' });
    waits = [];
    const refused = await store({ title: 'taken' });
    assert.equal(refused.status, 409);
    assert.equal(
      (await node.send('GET', `${PATH}/${json!['id']}`, undefined, alice)).json!['quorum_acks'],
      undefined,
    );
    assert.deepEqual(waits, []);
  });

  it('begins when the node takes writes again', async () => {
    let open = (): void => {};
    gate = new Promise((resolve) => {
      open = () => {
        gate = null;
        resolve();
      };
    });
    const before = await node.counts();
    const answer = store();
    // A read is answered meanwhile.
    assert.equal((await node.send('GET', PATH, undefined, alice)).status, 200);
    assert.deepEqual(await node.counts(), before);
    open();
    assert.equal((await answer).status, 201);
  });
});
