import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EncoderRef, Encoders } from '../../../protocol/maintenance/encoder-ref.js';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import { decideOver, taken } from '../decide/answerer.js';

const OLD: EncoderRef = { model: 'builtin/old', dim: 512 };
const NEW: EncoderRef = { model: 'compatible/new', dim: 384 };
const OTHER: EncoderRef = { model: 'compatible/other', dim: 384 };

const plan = (configured: EncoderRef, encoders: Encoders, replace = false) =>
  taken(decideOver({ kind: 'plan-encoder', configured, replace }, [], { encoders }));
const holding = (
  searched: EncoderRef | null,
  coming: EncoderRef | null = null,
  hasVectors = true,
): Encoders => ({
  searched,
  coming,
  isRecorded: searched !== null,
  hasVectors,
});

describe('the plan for an encoder', () => {
  it('searches the first encoder of a database at once', () => {
    const { value, mutations } = plan(NEW, holding(null, null, false));
    assert.deepEqual(value, { searched: NEW, coming: null });
    assert.deepEqual(mutations, [{ mutation: 'put-encoder', role: 'searched', encoder: NEW }]);
  });

  it('leaves the searched encoder alone', () => {
    assert.deepEqual(plan(OLD, holding(OLD)).mutations, []);
  });

  it('records the encoder that was only found in the vectors', () => {
    const found = { ...holding(OLD), isRecorded: false };
    const record = { mutation: 'put-encoder', role: 'searched', encoder: OLD };
    assert.deepEqual(plan(OLD, found).mutations, [record]);
    const { value, mutations } = plan(NEW, found);
    assert.deepEqual(value, { searched: OLD, coming: NEW });
    assert.deepEqual(mutations, [record, { mutation: 'put-encoder', role: 'coming', encoder: NEW }]);
  });

  it('lets another encoder come while the old one is searched, and continues that', () => {
    const begun = plan(NEW, holding(OLD));
    assert.deepEqual(begun.value, { searched: OLD, coming: NEW });
    assert.deepEqual(begun.mutations, [{ mutation: 'put-encoder', role: 'coming', encoder: NEW }]);
    const continued = plan(NEW, holding(OLD, NEW));
    assert.deepEqual(continued.value, begun.value);
    assert.deepEqual(continued.mutations, []);
  });

  it('lets a third encoder take the place of one that comes', () => {
    const { value, mutations } = plan(OTHER, holding(OLD, NEW));
    assert.deepEqual(value, { searched: OLD, coming: OTHER });
    assert.deepEqual(mutations, [{ mutation: 'put-encoder', role: 'coming', encoder: OTHER }]);
  });

  it('drops the coming encoder when the operator returns to the old one', () => {
    const { value, mutations } = plan(OLD, holding(OLD, NEW));
    assert.deepEqual(value, { searched: OLD, coming: null });
    assert.deepEqual(mutations, [{ mutation: 'put-encoder', role: 'coming', encoder: null }]);
  });

  it('searches the new encoder at once when there is nothing to lose, or the old one cannot be asked', () => {
    const expected = [
      { mutation: 'clear-searched' },
      { mutation: 'put-encoder', role: 'searched', encoder: NEW },
    ];
    assert.deepEqual(plan(NEW, holding(OLD, null, false)).mutations, expected);
    const replaced = plan(NEW, holding(OLD, NEW), true);
    assert.deepEqual(replaced.mutations, [
      { mutation: 'put-encoder', role: 'coming', encoder: null },
      ...expected,
    ]);
    assert.deepEqual(replaced.value, { searched: NEW, coming: null });
  });
});

describe('the switch to the coming encoder', () => {
  const attempt = (coming: EncoderRef, encoders: Encoders, comingIncomplete: boolean) =>
    taken(decideOver({ kind: 'switch-encoder', coming }, [], { encoders, comingIncomplete }));

  it('waits for every memory', () => {
    assert.deepEqual(attempt(NEW, holding(OLD, NEW), true).mutations, []);
    assert.deepEqual(attempt(NEW, holding(OLD, NEW), false).mutations, [
      { mutation: 'switch-encoder', encoder: NEW },
    ]);
  });

  it('is only for the encoder that comes', () => {
    assert.deepEqual(attempt(OTHER, holding(OLD, NEW), false).value, { switched: false });
    assert.deepEqual(attempt(NEW, holding(NEW), false).value, { switched: false });
  });
});

describe('vectors of an encoder that lost its role meanwhile', () => {
  it('are not stored', () => {
    const row = {
      rid: 1,
      id: 'a',
      version: 1,
      state: EMBED_STATES.embedded,
      ...OLD,
      vectors: new Uint8Array(4),
    };
    for (const [coming, encoders] of [
      [false, holding(NEW)],
      [true, holding(OLD)],
      [true, holding(OLD, NEW)],
    ] as const) {
      const { value } = taken(decideOver({ kind: 'put-embeddings', rows: [row], coming }, [], { encoders }));
      assert.deepEqual(value, { stored: 0 });
    }
  });
});
