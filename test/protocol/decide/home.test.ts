import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adoptionKind } from '../../../protocol/decide/adoption-kind.js';
import { homeOf, homeProblem, mayWrite } from '../../../protocol/decide/home.js';
import type { Mutation } from '../../../protocol/decide/mutations.js';
import { homeId, homeNumberOf, makerOf, nameOf } from '../../../protocol/kinds/home.js';
import type { Version } from '../../../protocol/kinds/version.js';
import { dropArchived } from '../../../protocol/memory/mutations.js';
import { lampKind, MORE_KINDS } from '../../support/throwaway-kinds.js';
import { aKindRow, driven, type KindRow, NOW, SELF } from './answerer.js';

const LOST = 'peer-00000000000000bb';
const HEIR = 'peer-00000000000000cc';

/** The record that a node took over the subjects of another. */
const adoption = (home: string, peer_id: string, number: number): KindRow =>
  aKindRow(adoptionKind, { peer_id, home, number, adopted_at: NOW, adopted_by: 'ops', rest: {} });

const home = (id: string, subjects: readonly KindRow[] = []) => driven(() => homeOf(id), { subjects }).value;

describe('the home of a subject', () => {
  it('is in its id, which has a name after that', () => {
    const id = homeId(LOST, 'hall/ceiling');
    assert.deepEqual([makerOf(id), nameOf(id)], [LOST, 'hall/ceiling']);
    assert.deepEqual([makerOf('plain'), nameOf('plain')], ['plain', 'plain']);
    assert.deepEqual(home(id), { peerId: LOST, number: 0 });
  });

  it('is the node that adopted it last', () => {
    const chain = [adoption(HEIR, LOST, 1), adoption(SELF, LOST, 2)];
    assert.deepEqual(home(`${LOST}/x`, chain), { peerId: SELF, number: 2 });
    assert.deepEqual(home(`${LOST}/x`, chain.toReversed()), { peerId: SELF, number: 2 });
    assert.deepEqual(home(`${HEIR}/x`, chain), { peerId: HEIR, number: 0 });
  });

  it('is the same for all where two took it over under one number', () => {
    const rivals = [adoption(HEIR, LOST, 1), adoption(SELF, LOST, 1)];
    assert.deepEqual(home(`${LOST}/x`, rivals), { peerId: HEIR, number: 1 });
    assert.deepEqual(home(`${LOST}/x`, rivals.toReversed()), { peerId: HEIR, number: 1 });
  });
});

describe('a version of a subject with a home', () => {
  const version = (number: number): Version => ({
    ...{ hlc: '1', origin: 'o', seq: 1, covers: { o: 1 }, namespace: 'team', removal: null },
    image: lampKind.payload.parse(number === 0 ? {} : { home_number: number })!,
  });
  const holds = (origin: string, number: number, subjects: readonly KindRow[] = []) =>
    driven(() => mayWrite(lampKind, `${LOST}/x`, { ...version(number), origin }), { subjects }).value;

  it('says which home wrote it, the maker without a number', () => {
    assert.deepEqual([homeNumberOf(version(0)), homeNumberOf(version(3))], [0, 3]);
    const facts = { rest: {}, home_number: 2 };
    const removal = { word: 'lamp.drop', reason: 'test', facts, was: null };
    assert.equal(homeNumberOf({ image: null, removal }), 2);
    assert.equal(homeNumberOf({ image: { home_number: 'x' }, removal: null }), 0);
  });

  it('holds of a kind that only makers write for the maker only, whatever was adopted', () => {
    const wrote = (origin: string) =>
      driven(() => mayWrite(adoptionKind, `${LOST}/x`, { ...version(0), origin }), {
        subjects: [adoption(HEIR, LOST, 1)],
      }).value;
    assert.deepEqual([wrote(`${LOST}/e`), wrote(`${HEIR}/e`)], [true, false]);
  });

  it('holds when its maker wrote it, also after an adoption: the merge gives that no say', () => {
    assert.equal(holds(`${LOST}/e`, 0), true);
    assert.equal(holds(`${LOST}/later`, 0, [adoption(HEIR, LOST, 1)]), true);
    assert.equal(holds(`${HEIR}/e`, 0), false);
    assert.equal(holds(`${HEIR}/e`, 0, [adoption(HEIR, LOST, 1)]), false);
  });

  it('holds when the node that it names had adopted it under that number', () => {
    const held = [adoption(HEIR, LOST, 1)];
    assert.equal(holds(`${HEIR}/e`, 1, held), true);
    assert.equal(holds(`${HEIR}/e`, 1), false);
    assert.equal(holds(`${HEIR}/e`, 2, held), false);
    assert.equal(holds(`${SELF}/e`, 1, held), false);
    assert.equal(holds(`${LOST}/e`, 1, held), false);
  });

  it('does not hold before the adoption in the log of that node, whenever a node asks', () => {
    const made = (origin_seq: number) => {
      const row = adoption(HEIR, LOST, 1);
      return [{ ...row, stamp: { ...row.stamp, origin: `${HEIR}/e`, origin_seq } }];
    };
    assert.equal(holds(`${HEIR}/e`, 1, made(0)), true);
    assert.equal(holds(`${HEIR}/e`, 1, made(2)), false);
  });
});

describe('a write of a subject with a home', () => {
  const writing = (id: string, number = 0): Mutation => ({
    ...{ mutation: 'write', kind: 'lamp', word: 'lamp.put', id, namespace: 'team', seen: {}, before: null },
    image: { lit: 'on', ...(number === 0 ? {} : { home_number: number }), rest: {} },
  });
  const removing = (id: string, number = 0): Mutation => ({
    ...{ mutation: 'remove', kind: 'lamp', word: 'lamp.drop', id, namespace: 'team', seen: {} },
    ...{ before: {}, reason: 'test', keepCopy: false },
    facts: { rest: {}, ...(number === 0 ? {} : { home_number: number }) },
  });
  const problem = (mutations: readonly Mutation[], subjects: readonly KindRow[] = []) =>
    driven((context) => homeProblem(mutations, context), { subjects, kinds: MORE_KINDS }).value;

  it('is for its home', () => {
    assert.equal(problem([writing(`${SELF}/x`), removing(`${SELF}/y`)]), null);
    const held = [adoption(SELF, LOST, 3)];
    assert.equal(problem([writing(`${LOST}/x`, 3), removing(`${LOST}/y`, 3)], held), null);
  });

  it('is NOT_HOME anywhere else, and names the home', () => {
    const refusal = {
      code: 'NOT_HOME',
      message: `only the home node ${LOST} may change this; send the request there`,
      details: { subject: `${LOST}/x`, home: LOST, home_number: 0 },
    };
    assert.deepEqual(problem([writing(`${LOST}/x`)]), refusal);
    assert.deepEqual(problem([writing(`${SELF}/x`), removing(`${LOST}/x`)]), refusal);
    const away = problem([writing(`${SELF}/x`)], [adoption(HEIR, SELF, 1)]);
    assert.deepEqual(away?.details, { subject: `${SELF}/x`, home: HEIR, home_number: 1 });
  });

  it('under an older number is a bug, and stopped', () => {
    const held = [adoption(SELF, LOST, 3)];
    for (const mutation of [writing(`${LOST}/x`), writing(`${LOST}/x`, 2), removing(`${LOST}/x`)]) {
      assert.throws(() => problem([mutation], held), /lacks home number 3/);
    }
  });

  it('has no say over kinds that anybody may write', () => {
    const written = { ...writing(`${LOST}/x`), kind: 'sticker', word: 'sticker.put' } as Mutation;
    assert.equal(problem([written, dropArchived({ id: `${LOST}/x` })]), null);
  });
});
