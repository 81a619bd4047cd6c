import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { ACTION_STATES, actionKind, mayMove } from '../../protocol/coordination/action-kind.js';
import { waitsOf } from '../../protocol/coordination/action-rows.js';
import { edgeKind } from '../../protocol/coordination/edge-kind.js';
import { planActions } from '../../protocol/coordination/plan-actions.js';
import { transitionEnvelopeBytes } from '../../protocol/coordination/signed.js';
import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import { homeId } from '../../protocol/kinds/home.js';
import { KINDS } from '../../protocol/release.js';
import { AuthorVerifier } from '../../protocol/replication/verify-author.js';
import { aKindRow, driven, SELF } from '../protocol/decide/answerer.js';
import { replica } from '../support/replicas.js';
import { agentKey } from '../support/signing.js';
import {
  actionOf,
  adding,
  creating,
  done,
  HOME,
  moving,
  OTHER,
  refusedWith,
  START_MS,
  THIRD,
  together,
  tried,
  wanted,
} from './coordination.js';

const KEY = agentKey('a node').signer;
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const home = () => replica(HOME, START_MS);

async function made(one: ReturnType<typeof home>, fields: Parameters<typeof creating>[0] = {}) {
  const { action } = await done(one, creating(fields));
  return action.action_id;
}

/** Moves an action along some states, as one agent. */
async function along(one: ReturnType<typeof home>, id: string, ...states: Parameters<typeof moving>[2][]) {
  for (const to of states) await done(one, await moving(one, id, to));
}

describe('an action', () => {
  it('is pending, of nobody, and its home made it', async () => {
    const one = home();
    const { action } = await done(one, creating({ id: 'a1', payload: [1], priority: 3, metadata: { x: 1 } }));
    const { rest: _rest, ...shown } = action;
    const now = '2026-01-02T00:00:00.000Z';
    assert.deepEqual(shown, {
      ...{ action_id: 'a1', namespace: 'team', action_kind: 'build', title: 'build it', payload: '[1]' },
      ...{ priority: 3, state: 'pending', agent_id: null, created_by: 'ai:maker', claimed_by: null },
      ...{ metadata: { x: 1 }, created_at: now, updated_at: now, last: null, home_number: 0 },
    });
    const ids = one.db.prepare(`SELECT id FROM records WHERE kind = 'action'`).pluck().all();
    assert.deepEqual(ids, [homeId(`peer-${HOME}`, 'a1')]);
    const types = one.db.prepare('SELECT event_type FROM signed_events').pluck().all();
    assert.deepEqual(types, ['coordination.action_create']);
  });

  it('is made once for a call that is sent again', async () => {
    const one = home();
    const command = creating({ id: 'a1' });
    await done(one, command);
    await done(one, await moving(one, 'a1', 'claimed'));
    assert.equal((await done(one, command)).action.state, 'claimed');
  });

  it('moves as the table says, and not otherwise', async () => {
    const one = home();
    const path = { pending: [], claimed: ['claimed'], in_progress: ['claimed', 'in_progress'] } as const;
    const ends = { done: 'done', failed: 'failed', abandoned: 'abandoned' } as const;
    for (const from of ACTION_STATES)
      for (const to of ACTION_STATES) {
        const id = await made(one);
        const way = from in ends ? path.in_progress : path[from as keyof typeof path];
        await along(one, id, ...way, ...(from in ends ? [from] : []));
        const by = from === 'pending' && to === 'abandoned' ? 'ai:maker' : 'ai:worker';
        const move = await moving(one, id, to, by);
        if (mayMove(from, to)) assert.equal((await done(one, move)).action.state, to);
        else {
          const { message } = await refusedWith(one, move, 'ILLEGAL_TRANSITION');
          assert.equal(message, `illegal action transition: ${from} -> ${to}`);
        }
      }
  });

  it('is of the agent that claimed it until it is released', async () => {
    const one = home();
    const id = await made(one);
    await along(one, id, 'claimed');
    assert.equal((await actionOf(one, id)).claimed_by, 'ai:worker');
    await refusedWith(one, await moving(one, id, 'in_progress', 'ai:other'), 'FORBIDDEN');
    await refusedWith(one, await moving(one, id, 'pending', 'ai:other'), 'FORBIDDEN');
    await along(one, id, 'pending');
    assert.equal((await actionOf(one, id)).claimed_by, null);
    await done(one, await moving(one, id, 'claimed', 'ai:other'));
    assert.equal((await actionOf(one, id)).claimed_by, 'ai:other');
  });

  it('with an owner is claimed by the owner only, and given up by owner, creator and operator', async () => {
    const one = home();
    const id = await made(one, { agentId: 'ai:owner' });
    await refusedWith(one, await moving(one, id, 'claimed'), 'FORBIDDEN');
    await done(one, await moving(one, id, 'claimed', 'ai:owner'));
    await refusedWith(one, await moving(one, id, 'abandoned'), 'FORBIDDEN');
    await done(one, await moving(one, id, 'abandoned', 'ai:maker'));
    const other = await made(one, { agentId: 'ai:owner' });
    await done(one, await moving(one, other, 'abandoned', 'ai:someone', { operator: true }));
  });

  it('is moved by one of two callers who saw the same state', async () => {
    const one = home();
    const id = await made(one);
    const moves = [await moving(one, id, 'claimed', 'ai:a'), await moving(one, id, 'claimed', 'ai:b')];
    const [first, second] = await Promise.all(moves.map((move) => tried(one, move)));
    assert.ok(first!.ok && !second!.ok);
    assert.equal(second!.error.code, 'ACTION_STATE_CHANGED');
    assert.deepEqual(second!.error.details, { current_state: 'claimed', claimed_by: 'ai:a' });
    assert.deepEqual(
      await done(one, moves[0]!),
      first!.value,
      'the call that is sent again is answered again',
    );
  });

  it('is decided by its home alone', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const id = await made(one);
    await together(one, two);
    const error = await refusedWith(two, await moving(two, id, 'claimed'), 'NOT_HOME');
    assert.equal((error.details as { home?: string } | undefined)?.home, `peer-${HOME}`);
    await done(one, await moving(one, id, 'claimed'));
    await together(one, two);
    assert.equal((await actionOf(two, id)).state, 'claimed');
  });

  it('moves on where its home was adopted', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const id = await made(one);
    await together(one, two);
    await two.run({ kind: 'adopt-peer', peerId: `peer-${HOME}`, by: 'ai:ops' });
    await done(two, await moving(two, id, 'claimed'));
    // What the lost home did and never sent loses.
    await done(one, await moving(one, id, 'abandoned', 'ai:maker'));
    await together(one, two);
    assert.equal((await actionOf(one, id)).state, 'claimed');
    await refusedWith(one, await moving(one, id, 'in_progress'), 'NOT_HOME');
  });

  it('has the signature of the node that took the request, and peers park a wrong one', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const id = await made(one);
    const bare = await moving(one, id, 'claimed', 'ai:worker', { nonce: 'AAECAwQFBgc=' });
    const bytes = transitionEnvelopeBytes({ ...bare, action_id: id, claimed_by: bare.claimedBy });
    const signed = { publicKey: base64(KEY.publicKey), signature: base64(KEY.sign(bytes)) };
    const other = { ...signed, nonce: 'AAECAwQFBgg=' };
    await refusedWith(one, { ...bare, ...other }, 'ATTESTATION_FAILED');
    await refusedWith(one, { ...bare, ...signed, signature: null }, 'ATTESTATION_FAILED');
    await done(one, { ...bare, ...signed });
    await together(one, two);
    const payload = actionKind.payload.text(await actionOf(two, id));
    const verifier = new AuthorVerifier(systemCrypto, publicKeyProblem, KINDS);
    assert.equal(verifier.verify('action.put', payload).holds, true);
    const { last } = JSON.parse(payload) as { last: object };
    for (const change of [
      { namespace: 'other' },
      { state: 'pending' },
      { claimed_by: 'ai:thief' },
      { last: { ...last, nonce: 'AAECAwQFBgg=' } },
      { last: { ...last, signature: null } },
    ]) {
      const text = JSON.stringify({ ...JSON.parse(payload), ...change });
      assert.notEqual(text, payload);
      assert.equal(verifier.verify('action.put', text).holds, false, JSON.stringify(change));
    }
  });

  it('does not exist for anybody who names another one', async () => {
    const one = home();
    const move = { ...(await moving(one, await made(one), 'claimed')), id: 'nothing' };
    const { message } = await refusedWith(one, move, 'NOT_FOUND');
    assert.equal(message, 'action not found: nothing');
  });
});

describe('an edge', () => {
  it('makes an action wait, each type in its way', async () => {
    const one = home();
    // Who waits, whose state counts, and which ends of it let the other begin.
    const types = {
      requires: { waits: 'from', done: true, failed: false },
      gated_by: { waits: 'from', done: true, failed: false },
      blocks: { waits: 'to', done: true, failed: true },
      unlocks: { waits: 'to', done: true, failed: false },
      sibling: { waits: null, done: true, failed: true },
    } as const;
    for (const [type, { waits, ...ends }] of Object.entries(types))
      for (const end of ['done', 'failed'] as const) {
        const [from, to] = [await made(one), await made(one)];
        await done(one, adding(from, to, type as keyof typeof types));
        const [late, early] = waits === 'to' ? [to, from] : [from, to];
        if (waits !== null) {
          const error = await refusedWith(one, await moving(one, late, 'claimed'), 'ACTION_BLOCKED');
          const blocked_by = [{ id: early, edge_type: type, state: 'pending', failed: false }];
          assert.deepEqual(error.details, { blocked_by });
        }
        await along(one, early, 'claimed', 'in_progress', end);
        const move = await moving(one, late, 'claimed');
        if (ends[end]) await done(one, move);
        else {
          const error = await refusedWith(one, move, 'ACTION_BLOCKED');
          const blocked_by = [{ id: early, edge_type: type, state: end, failed: true }];
          assert.deepEqual(error.details, { blocked_by }, `${type} ${end}`);
        }
      }
  });

  it('is made once, and never closes a circle', async () => {
    const one = home();
    const [a, b, c] = [await made(one), await made(one), await made(one)];
    assert.equal((await done(one, adding(a, b))).created, true);
    assert.equal((await done(one, adding(a, b))).created, false);
    await done(one, adding(c, b, 'unlocks'));
    await refusedWith(one, adding(a, a, 'sibling'), 'ACTION_CYCLE');
    await refusedWith(one, adding(b, a), 'ACTION_CYCLE');
    await refusedWith(one, adding(c, a), 'ACTION_CYCLE');
    await refusedWith(one, adding(a, c, 'blocks'), 'ACTION_CYCLE');
    // They wait for the same in the same direction.
    await done(one, adding(b, a, 'blocks'));
    await done(one, adding(b, a, 'sibling'));
    await refusedWith(one, adding(a, 'nothing'), 'NOT_FOUND');
    await refusedWith(one, adding('nothing', a), 'NOT_FOUND');
  });

  it('is made on any node; a circle that two nodes closed blocks its actions, and they say so', async () => {
    const [one, two, three] = [home(), replica(OTHER, START_MS), replica(THIRD, START_MS)];
    const [a, b] = [await made(one), await made(one)];
    await together(one, two, three);
    await done(two, adding(a, b));
    await done(three, adding(b, a));
    await together(one, two, three);
    for (const [id, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const error = await refusedWith(one, await moving(one, id, 'claimed'), 'ACTION_BLOCKED');
      const blocked_by = [{ id: other, edge_type: 'requires', state: 'pending', failed: false, cycle: true }];
      assert.deepEqual(error.details, { blocked_by });
    }
  });

  it('of another namespace than the one that waits does not count', async () => {
    const one = home();
    const [a, b] = [await made(one), await made(one, { namespace: 'other' })];
    await done(one, adding(a, b));
    const place = `SELECT namespace FROM records WHERE kind = 'action_edge'`;
    assert.deepEqual(one.db.prepare(place).pluck().all(), ['team']);
    await refusedWith(one, await moving(one, a, 'claimed'), 'ACTION_BLOCKED');
    const elsewhere = { from_action: a, to_action: b, edge_type: 'requires', namespace: 'other' } as const;
    const edge = aKindRow(edgeKind, { ...elsewhere, created_by: 'ai:x', created_at: '', rest: {} });
    const waits = (namespace: string) =>
      driven(() => waitsOf(a, namespace), { subjects: [edge] }).value.map(({ for: other }) => other);
    assert.deepEqual([waits('team'), waits('other')], [[], [b]]);
  });
});

describe('actions that are made together', () => {
  const plan = (edges: Parameters<typeof planActions>[0]['edges'], count = 3) => {
    const actions = Array.from({ length: count }, (_, at) => wanted({ id: `t${at}` }));
    return driven((context) => planActions({ actions, edges, createdBy: 'ai:maker' }, context), {}).value;
  };

  it('stand with their edges in the answer and in the writes', () => {
    const planned = plan([
      { from: 0, to: 1, type: 'requires' },
      { from: 1, to: 2, type: 'sibling' },
      { from: 2, to: 1, type: 'blocks' },
    ]);
    assert.ok(planned.ok);
    assert.deepEqual(
      planned.value.actions.map(({ action_id }) => action_id),
      ['t0', 't1', 't2'],
    );
    const ids = planned.value.mutations.flatMap((mutation) => ('id' in mutation ? [mutation.id] : []));
    const actions = ['t0', 't1', 't2'].map((id) => homeId(SELF, id));
    assert.deepEqual(ids, [...actions, 't0|t1|requires', 't1|t2|sibling', 't2|t1|blocks']);
  });

  it('are refused with an edge that goes nowhere, to itself, or in a circle', () => {
    const codeOf = (...edges: Parameters<typeof plan>[0]) => {
      const planned = plan(edges);
      return planned.ok ? 'taken' : planned.error.code;
    };
    assert.equal(codeOf({ from: 0, to: 3, type: 'requires' }), 'VALIDATION_FAILED');
    assert.equal(codeOf({ from: -1, to: 1, type: 'sibling' }), 'VALIDATION_FAILED');
    assert.equal(codeOf({ from: 1, to: 1, type: 'sibling' }), 'VALIDATION_FAILED');
    const [there, on] = [
      { from: 0, to: 1, type: 'requires' },
      { from: 1, to: 2, type: 'gated_by' },
    ] as const;
    assert.equal(codeOf(there, on, { from: 2, to: 0, type: 'requires' }), 'ACTION_CYCLE');
    assert.equal(codeOf(there, on, { from: 0, to: 2, type: 'blocks' }), 'ACTION_CYCLE');
    assert.equal(codeOf(there, on, { from: 2, to: 0, type: 'unlocks' }), 'taken');
  });
});
