import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LINK_EARLIER_PERIODS_MAX } from '../../../protocol/base/limits.js';
import { isMutation } from '../../../protocol/decide/mutations.js';
import type { CreateLink } from '../../../protocol/graph/create-link.js';
import type { InvalidateLink } from '../../../protocol/graph/invalidate-link.js';
import { chargeQuota } from '../../../protocol/identity/mutations.js';
import type { Link } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { linking, OPERATOR, tenant } from '../../support/memories.js';
import { aKindRow, aRow, at, decideOver, NOW, refused, taken } from '../decide/answerer.js';

const source = (fields: Partial<MemoryRow> = {}) =>
  aRow({ id: 'a', namespace: 'team', metadata: { agent_id: 'ai:a' }, ...fields });
const target = (fields: Partial<MemoryRow> = {}) =>
  aRow({ id: 'b', namespace: 'other', metadata: { agent_id: 'ai:b' }, ...fields });
const ENDS = [source(), target()];
const subject = { kind: 'link', id: 'a|b|related_to' };
const signed = { signature: 'c2lnbmVk', attest_level: 'self_signed', signed_at: at(-60), public_key: 'a2V5' };
/** A link as it is to be stored, and one as it stands. */
const given: Link = { ...linking('a', 'b').link, created_at: NOW, valid_from: NOW, observed_by: 'ai:a' };
const stands: Link = { ...given, created_at: at(-60), valid_from: at(-60), ...signed };
const row = (link: Link) => aKindRow(linkKind, link, { namespace: 'where it was made' });
const UNNAMED = { valid_from: null, valid_until: null };

describe('linking', () => {
  const linkOver = (held: Link | null, command: Partial<CreateLink> = {}, rows = ENDS, more = {}) =>
    decideOver<CreateLink>(
      { kind: 'create-link', link: given, asked: UNNAMED, viewer: OPERATOR, by: 'ai:a', ...command },
      rows,
      { subjects: held === null ? [] : [row(held)], ...more },
    );

  it('writes a link where its source stands, charges the owner of its source, and records it', () => {
    const outcome = linkOver(null);
    assert.ok(outcome.result.ok);
    const { value, mutations } = outcome.result.value;
    assert.deepEqual(value, { change: 'created', link: given, notified: [] });
    const [write, charge, audit] = mutations;
    assert.deepEqual(write, {
      ...{ mutation: 'write', ...subject, word: 'link', namespace: 'team' },
      ...{ seen: {}, before: null, image: given },
    });
    assert.ok(charge !== undefined && isMutation(charge, chargeQuota));
    assert.deepEqual(
      [charge.holder, charge.namespace, charge.links, charge.memories],
      ['ai:a', 'team', 1, 0],
    );
    const payload = { source_id: 'a', target_id: 'b', relation: 'related_to', attest_level: 'unsigned' };
    const event = { agentId: 'ai:a', type: 'memory_link.created', payload };
    assert.deepEqual(audit, { mutation: 'append-audit', event });
    assert.equal(mutations.length, 3);
  });

  it('leaves a link that holds as it is, whatever the new one would say', () => {
    for (const asked of [UNNAMED, { ...UNNAMED, valid_from: at(-60) }])
      assert.deepEqual(taken(linkOver(stands, { asked })), {
        value: { change: 'unchanged', link: stands, notified: [] },
        mutations: [],
      });
    const past: Link = { ...stands, valid_from: at(-90), valid_until: at(-30) };
    const asked = { valid_from: at(-90), valid_until: at(-30) };
    assert.equal(taken(linkOver(past, { asked })).value.change, 'unchanged');
  });

  it('does not change the validity of a link that holds', () => {
    for (const asked of [
      { ...UNNAMED, valid_from: at(-61) },
      { ...UNNAMED, valid_until: at(60) },
      { valid_from: at(-60), valid_until: at(60) },
    ]) {
      const { code, details } = refused(linkOver(stands, { asked }));
      assert.deepEqual([code, details], ['CONFLICT', { valid_from: at(-60), valid_until: null }]);
    }
  });

  it('begins a new validity in the place of one that was invalidated, or has ended', () => {
    const ended: Link = { ...stands, valid_until: at(-10) };
    const retired: Link = { ...ended, valid_until: at(10), retired_at: at(-10) };
    for (const held of [ended, retired]) {
      const { value, mutations } = taken(linkOver(held));
      assert.equal(value.change, 'created');
      assert.deepEqual(value.link, { ...given, earlier: value.link.earlier });
      assert.deepEqual(mutations[0], {
        ...{ mutation: 'write', ...subject, word: 'link', namespace: 'where it was made' },
        ...{ seen: row(held).stamp.seen, before: held, image: value.link },
      });
    }
  });

  it('keeps what the link said before, each period and each end that was corrected', () => {
    const ended = { valid_from: at(-60), observed_by: 'ai:a', created_at: at(-60) };
    const held: Link = {
      ...stands,
      ...ended,
      valid_until: at(-10),
      retired_at: at(-20),
      believed_until: at(90),
    };
    const past = [
      { ...ended, valid_until: at(90), believed_from: at(-60), believed_to: at(-20) },
      { ...ended, valid_until: at(-10), believed_from: at(-20), believed_to: null },
    ];
    assert.deepEqual(taken(linkOver(held)).value.link, { ...given, earlier: past });
    const open: Link = { ...held, retired_at: null, believed_until: null };
    const [, last] = past;
    assert.deepEqual(taken(linkOver(open)).value.link.earlier, [{ ...last, believed_from: at(-60) }]);
  });

  it('keeps a bounded past: corrected ends go before periods, and the oldest first', () => {
    const max = LINK_EARLIER_PERIODS_MAX;
    const entry = (number: number, isCorrected: boolean) => ({
      ...{ created_at: at(-1000), valid_from: null, valid_until: null, observed_by: String(number) },
      ...{ believed_from: at(-1000), believed_to: isCorrected ? at(-900) : null },
    });
    const ended: Link = { ...stands, valid_until: at(-10), observed_by: 'last' };
    const names = (earlier: Link['earlier']) =>
      taken(linkOver({ ...ended, earlier })).value.link.earlier.map(({ observed_by }) => observed_by);
    const numbers = Array.from({ length: max }, (_, number) => number);
    const periods = names(numbers.map((number) => entry(number, false)));
    assert.deepEqual(periods, [...numbers.slice(1).map(String), 'last']);
    const mixed = names(numbers.map((number) => entry(number, number === 7 || number === 9)));
    assert.deepEqual(mixed, [...numbers.filter((number) => number !== 7).map(String), 'last']);
  });

  it('comes after the removal of a link that was dropped', () => {
    const seen = { 'peer-x/e': 4 };
    const outcome = linkOver(null, {}, ENDS, { tombstones: [{ ...subject, seen }] });
    const [write] = taken(outcome).mutations;
    assert.ok(write?.mutation === 'write');
    assert.deepEqual(write.seen, seen);
  });

  it('needs two ends that the caller sees, of which the source is its own', () => {
    const self = { link: { ...given, target_id: 'a' } };
    assert.equal(refused(linkOver(null, self)).code, 'VALIDATION_FAILED');
    const secret = { metadata: { agent_id: 'ai:b', scope: 'private' } };
    for (const [rows, viewer] of [
      [[source()], OPERATOR],
      [[target()], OPERATOR],
      [[source({ expires_at: NOW }), target()], OPERATOR],
      [[source(), target({ expires_at: at(-1) })], OPERATOR],
      [[source(), target(secret)], tenant('ai:a')],
      [[source({ ...secret }), target()], tenant('ai:a')],
    ] as const) {
      assert.deepEqual(refused(linkOver(null, { viewer }, [...rows])), {
        code: 'NOT_FOUND',
        message: 'memory not found',
      });
    }
    assert.equal(refused(linkOver(null, { viewer: tenant('ai:b') })).code, 'FORBIDDEN');
    assert.equal(taken(linkOver(null, { viewer: tenant('ai:a') })).value.change, 'created');
    // A source without an owner is anybody's, and the caller pays.
    const unowned = linkOver(null, { viewer: tenant('ai:c') }, [source({ metadata: {} }), target()]);
    assert.ok(unowned.result.ok);
    const charge = unowned.result.value.mutations.find(({ mutation }) => mutation === 'charge-quota');
    assert.ok(charge !== undefined && isMutation(charge, chargeQuota) && charge.holder === 'ai:c');
  });
});

describe('invalidating', () => {
  const endOver = (held: Link | null, command: Partial<InvalidateLink> = {}, rows = ENDS) =>
    decideOver<InvalidateLink>(
      {
        ...{ kind: 'invalidate-link', viewer: OPERATOR, by: 'ai:a', validUntil: null },
        ...{ link: { source_id: 'a', target_id: 'b', relation: 'related_to' }, ...command },
      },
      rows,
      { subjects: held === null ? [] : [row(held)] },
    );
  const unsigned = { signature: null, attest_level: 'unsigned', signed_at: null, public_key: null };

  it('ends the link, keeps what was believed, drops the signature, and records it', () => {
    const link: Link = { ...stands, ...unsigned, valid_until: NOW, retired_at: NOW, believed_until: null };
    const payload = { source_id: 'a', target_id: 'b', relation: 'related_to', valid_until: NOW };
    const event = { agentId: 'ai:a', type: 'memory_link.invalidated', payload };
    assert.deepEqual(taken(endOver(stands)), {
      value: { change: 'invalidated', link, previous: null },
      mutations: [
        {
          ...{ mutation: 'write', ...subject, word: 'link.invalidate', namespace: 'where it was made' },
          ...{ seen: row(stands).stamp.seen, before: stands, image: link },
        },
        { mutation: 'append-audit', event },
      ],
    });
  });

  it('ends it when the caller says, by default now, but not before it began nor after it has ended', () => {
    const until = (held: Partial<Link>, validUntil: string | null = null) =>
      taken(endOver({ ...stands, ...held }, { validUntil })).value.link;
    assert.equal(until({}, at(-30)).valid_until, at(-30));
    assert.equal(until({}, at(30)).valid_until, at(30));
    assert.equal(until({ valid_until: at(60) }).valid_until, NOW);
    assert.equal(until({ valid_until: at(60) }).believed_until, at(60));
    assert.equal(until({ valid_until: at(-20) }).valid_until, at(-20));
    assert.equal(until({ valid_from: at(20) }).valid_until, at(20));
    // Older databases hold instants as they were signed.
    assert.equal(until({ valid_until: '2026-07-28T13:59:30+02:00' }).valid_until, '2026-07-28T11:59:30.000Z');
    const early = endOver(stands, { validUntil: at(-61) });
    assert.deepEqual(refused(early).code, 'VALIDATION_FAILED');
  });

  it('changes nothing when it says the end that the link has, and moves the end otherwise', () => {
    const held: Link = { ...stands, valid_until: at(-5), retired_at: at(-5), believed_until: at(90) };
    for (const validUntil of [at(-5), null])
      assert.deepEqual(taken(endOver(held, { validUntil })), {
        value: { change: 'unchanged', link: held, previous: at(-5) },
        mutations: [],
      });
    const moved = taken(endOver(held, { validUntil: at(7) })).value;
    assert.deepEqual(
      [moved.change, moved.previous, moved.link.valid_until, moved.link.believed_until],
      ['invalidated', at(-5), at(7), at(-5)],
    );
  });

  it('is for the owner of the source, and finds no link with a hidden end', () => {
    for (const agent of ['ai:b', 'ai:c'])
      assert.equal(refused(endOver(stands, { viewer: tenant(agent) })).code, 'FORBIDDEN');
    assert.equal(taken(endOver(stands, { viewer: tenant('ai:a') })).value.change, 'invalidated');
    const hidden = target({ metadata: { agent_id: 'ai:b', scope: 'private' } });
    const outcomes = [
      endOver(null),
      endOver(stands, { viewer: tenant('ai:a') }, [source(), hidden]),
      endOver(stands, {}, [source()]),
    ];
    for (const outcome of outcomes)
      assert.deepEqual(refused(outcome), { code: 'NOT_FOUND', message: 'link not found' });
  });
});
