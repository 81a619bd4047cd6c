import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { expireCheckpoints } from '../../actors/coordination/signals.js';
import { systemCrypto } from '../../node/seams.js';
import { RESERVED_CONDITION_TYPES } from '../../protocol/coordination/checkpoint-kind.js';
import { resolutionEnvelopeBytes } from '../../protocol/coordination/signed.js';
import {
  type CoordinationNode,
  type Fields,
  openCoordinationNode,
  type Session,
} from './coordination-node.js';

const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
const nowSeconds = () => Math.floor(Date.now() / 1000);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('checkpoints', () => {
  let node: CoordinationNode;
  let alice: Session;
  let bob: Session;
  let eve: Session;
  before(async () => {
    node = await openCoordinationNode();
    [alice, bob, eve] = [node.as(ALICE), node.as(BOB), node.as(EVE)];
  });
  after(() => node.close());

  const make = async (more: Fields = {}) => {
    await sleep(2);
    const made = await alice.run('memory_checkpoint_create', {
      namespace: 'team',
      title: 'ship it',
      ...more,
    });
    return made['checkpoint'] as Fields;
  };
  const resolve = async (who: Session, id: unknown, more: Fields = {}) =>
    (await who.run('memory_checkpoint_resolve', { id, state: 'resolved', ...more }))['checkpoint'] as Fields;

  it('have the members of the reference', async () => {
    const deadline_at = nowSeconds() + 3600;
    const { id, created_at, ...rest } = await make({ condition: { a: 1 }, deadline_at, metadata: { b: 2 } });
    assert.equal(typeof id, 'string');
    assert.ok(Math.abs(Number(created_at) - nowSeconds()) < 5);
    assert.deepEqual(rest, {
      ...{ namespace: 'team', title: 'ship it', condition_type: 'approval', condition: { a: 1 } },
      ...{ state: 'pending', created_by: ALICE, resolved_by: null, resolution: null, resolution_note: null },
      ...{ signature: null, resolver_pubkey: null, deadline_at, resolved_at: null, metadata: { b: 2 } },
    });
  });

  it('are refused with what is wrong with them', async () => {
    const good = { namespace: 'team', title: 'x' };
    const wrong: [Fields, string][] = [
      [{ title: 'x' }, 'namespace is required'],
      [{ namespace: 'team' }, 'title is required'],
      [{ ...good, title: ' ' }, 'title: must not be blank'],
      [{ ...good, namespace: '_mesh' }, 'namespace: namespaces that begin with "_"'],
      [{ ...good, condition_type: 'weather' }, 'condition_type: must be one of: approval'],
      ...RESERVED_CONDITION_TYPES.map((type): [Fields, string] => [
        { ...good, condition_type: type },
        `condition_type: "${type}" is reserved`,
      ]),
      [{ ...good, condition: [] }, 'condition: must be a JSON object'],
      [{ ...good, condition: { approvers: ['two words'] } }, 'condition: approvers must be a list'],
      [{ ...good, deadline_at: nowSeconds() - 1 }, 'deadline_at: must lie in the future'],
      [{ ...good, condition_type: 'deadline' }, 'deadline_at: is required for a deadline'],
      [{ ...good, metadata: 'x' }, 'metadata: '],
    ];
    for (const [input, message] of wrong) {
      const { code, message: said } = await alice.refused('memory_checkpoint_create', input);
      assert.equal(code, 'VALIDATION_FAILED', said);
      assert.ok(said.startsWith(message), `${said} begins with ${message}`);
    }
    const forged = await eve.refused('memory_checkpoint_create', { ...good, created_by: ALICE });
    assert.equal(forged.code, 'FORBIDDEN');
  });

  it('are resolved once, with a signature that covers the verdict', async () => {
    const { id } = await make();
    const answer = await bob.run('memory_checkpoint_resolve', {
      ...{ id, state: 'rejected', resolution: 'not yet', resolution_note: 'tests fail', resolved_by: BOB },
    });
    assert.equal(answer['attest_level'], 'self_signed');
    const checkpoint = answer['checkpoint'] as Fields;
    const { state, resolved_by, resolution, resolution_note, resolved_at } = checkpoint;
    assert.deepEqual(
      [state, resolved_by, resolution, resolution_note],
      [...['rejected', BOB, 'not yet', 'tests fail']],
    );
    const verdict = {
      ...{ checkpoint_id: String(id), namespace: 'team', state: 'rejected', resolution: 'not yet' },
      ...{ resolved_by: BOB, resolved_at: new Date(Number(resolved_at) * 1000).toISOString() },
    };
    const bytes = (text: unknown) => Buffer.from(String(text), 'base64');
    const { signature, resolver_pubkey } = checkpoint;
    assert.ok(
      systemCrypto.verify(bytes(resolver_pubkey), resolutionEnvelopeBytes(verdict), bytes(signature)),
    );
    assert.deepEqual(await eve.run('memory_checkpoint_verify', { id }), { checkpoint, verified: true });
    const { code, message, details } = await eve.refused('memory_checkpoint_resolve', {
      ...{ id, state: 'resolved' },
    });
    assert.equal(code, 'CHECKPOINT_RESOLVED');
    assert.equal(message, `checkpoint ${id} already rejected by ${BOB}; first resolution wins`);
    assert.deepEqual(details, { checkpoint_id: id, current_state: 'rejected', resolved_by: BOB });
    assert.deepEqual(await eve.run('memory_checkpoint_verify', { id }), { checkpoint, verified: true });
  });

  it('are resolved by one of several who try at once', async () => {
    const { id } = await make();
    const tries = await Promise.all(
      [bob, eve, bob, eve].map((who) => who.call('memory_checkpoint_resolve', { id, state: 'resolved' })),
    );
    assert.equal(tries.filter(({ ok }) => ok).length, 1);
    for (const tried of tries) if (!tried.ok) assert.equal(tried.error.code, 'CHECKPOINT_RESOLVED');
  });

  it('are not resolved by who may not', async () => {
    const { id: own } = await make();
    const { code, message } = await alice.refused('memory_checkpoint_resolve', {
      id: own,
      state: 'resolved',
    });
    assert.equal(code, 'FORBIDDEN');
    assert.match(message, /asked for the approval and cannot give it/);
    const { id: named } = await make({ condition: { approvers: [BOB] } });
    const refused = await eve.refused('memory_checkpoint_resolve', { id: named, state: 'resolved' });
    assert.equal(refused.code, 'FORBIDDEN');
    const other = { id: named, state: 'resolved', resolved_by: BOB };
    assert.equal((await eve.refused('memory_checkpoint_resolve', other)).code, 'FORBIDDEN');
    assert.equal((await resolve(bob, named))['state'], 'resolved');
    const { id: external } = await make({ condition_type: 'external_signal' });
    assert.equal((await resolve(alice, external))['resolved_by'], ALICE);
    const { id: operators } = await make({ condition: { approvers: [BOB] } });
    assert.equal((await resolve(node.operator, operators, { resolved_by: BOB }))['resolved_by'], BOB);
  });

  it('answer what is wrong with a resolution', async () => {
    const { id } = await make();
    const wrong: [Fields, string][] = [
      [{ id, state: 'pending' }, 'state: must be one of: resolved, rejected'],
      [{ id }, 'state: must be one of: resolved, rejected'],
      [{ id: '', state: 'resolved' }, 'id: must not be blank'],
      [{ id, state: 'resolved', resolution: '' }, 'resolution: must not be blank'],
      [{ id, state: 'resolved', resolution_note: 'x'.repeat(4097) }, 'resolution_note: must be at most'],
    ];
    for (const [input, message] of wrong) {
      const { code, message: said } = await bob.refused('memory_checkpoint_resolve', input);
      assert.equal(code, 'VALIDATION_FAILED', said);
      assert.ok(said.startsWith(message), `${said} begins with ${message}`);
    }
    const unknown = await bob.refused('memory_checkpoint_resolve', { id: 'no-such', state: 'resolved' });
    assert.deepEqual([unknown.code, unknown.message], ['NOT_FOUND', 'checkpoint not found: no-such']);
    const none = { checkpoint: null, verified: false };
    assert.deepEqual(await bob.run('memory_checkpoint_verify', { id: 'no-such' }), none);
  });

  it('of a private scope are not there for others, except for their approvers', async () => {
    const { id } = await make({
      ...{ namespace: 'secret', metadata: { scope: 'private' }, condition: { approvers: [BOB] } },
    });
    const seen = async (who: Session) =>
      ((await who.run('memory_checkpoint_query', { namespace: 'secret' }))['checkpoints'] as Fields[]).length;
    assert.deepEqual([await seen(alice), await seen(bob), await seen(eve)], [1, 1, 0]);
    const none = { checkpoint: null, verified: false };
    assert.deepEqual(await eve.run('memory_checkpoint_verify', { id }), none);
    const refused = await eve.refused('memory_checkpoint_resolve', { id, state: 'resolved' });
    assert.equal(refused.code, 'NOT_FOUND');
  });

  it('stand in a list by state and type, the newest first, page by page', async () => {
    const namespace = 'listed';
    const made: unknown[] = [];
    for (let at = 0; at < 5; at += 1)
      made.push(
        (await make({ namespace, condition_type: at % 2 === 0 ? 'approval' : 'external_signal' }))['id'],
      );
    await resolve(bob, made[2]);
    const query = async (more: Fields = {}) => {
      const page = await eve.run('memory_checkpoint_query', { namespace, ...more });
      return { ids: (page['checkpoints'] as Fields[]).map(({ id }) => id), next: page['next'] };
    };
    const whole = [...made].reverse();
    assert.deepEqual((await query()).ids, whole);
    assert.deepEqual((await query({ state: 'resolved' })).ids, [made[2]]);
    assert.deepEqual((await query({ condition_type: 'external_signal' })).ids, [made[3], made[1]]);
    const first = await query({ limit: 3 });
    assert.deepEqual(first.ids, whole.slice(0, 3));
    assert.deepEqual(await query({ limit: 3, after: first.next }), { ids: whole.slice(3), next: undefined });
    for (const bad of [{ state: 'lost' }, { condition_type: 'weather' }, { limit: 0 }, { after: 'x' }])
      assert.equal(
        (await eve.refused('memory_checkpoint_query', { namespace, ...bad })).code,
        'VALIDATION_FAILED',
      );
  });

  it('expire when their deadline passes, which the home notes', async () => {
    const { id } = await make({ namespace: 'late', deadline_at: nowSeconds() + 1 });
    const { id: open } = await make({ namespace: 'late', deadline_at: nowSeconds() + 3600 });
    await sleep(1100 + (1000 - (Date.now() % 1000)));
    const refused = await bob.refused('memory_checkpoint_resolve', { id, state: 'resolved' });
    assert.equal(refused.code, 'CHECKPOINT_RESOLVED');
    assert.match(refused.message, /the deadline of checkpoint .* has passed/);
    const { store, peerId } = node.services;
    await expireCheckpoints(store, peerId, new Date().toISOString());
    const query = async (state: string) =>
      (
        (await bob.run('memory_checkpoint_query', { namespace: 'late', state }))['checkpoints'] as Fields[]
      ).map((each) => each['id']);
    assert.deepEqual([await query('expired'), await query('pending')], [[id], [open]]);
    assert.equal(await expireCheckpoints(store, peerId, new Date().toISOString()), false);
  });

  it('write into the audit chain who made and who resolved them', async () => {
    const { id } = await make();
    await resolve(bob, id);
    const events = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 1000 });
    assert.ok(events.ok);
    const found = events.value.rows.filter(({ payload }) => String(payload).includes(String(id)));
    assert.deepEqual(
      found.map(({ event_type, agent_id }) => [event_type, agent_id]),
      [
        ['coordination.checkpoint_create', ALICE],
        ['coordination.checkpoint_resolve', BOB],
      ],
    );
  });
});
