import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { indexedText, TEXT_RULES } from '../../../protocol/ranking/index-text.js';
import { partsOf, tailsOf } from '../../../protocol/ranking/words.js';
import { inTurn } from '../../support/turn.js';
import { findTheSame, QUESTIONS, TEXTS } from './same-rows.js';

/** A quarter of them; four commits see all. */
const QUESTIONS_IN_TURN = Math.ceil(QUESTIONS.length / 4);

const termsOf = (text: string) => indexedText(text).slice(text.length).trim().split(' ');

describe('the terms of a text', () => {
  it('are none for plain English', () => {
    const text = 'The planner warms its cache for 15 minutes; see docs/plan.md, ERR_CONN_RESET.';
    assert.equal(indexedText(text), text);
  });

  it('are pairs of letters where no spaces part words, in order, down to the last letter', () => {
    assert.deepEqual(termsOf('倉庫の前'), ['倉庫', '庫の', 'の前', '前']);
  });

  it('are the parts of an identifier', () => {
    assert.deepEqual(termsOf('parseUserToken'), ['parse', 'user', 'token']);
    assert.deepEqual(partsOf('HTTPServer2'), ['http', 'server', '2']);
    assert.deepEqual(partsOf('userIDs'), ['user', 'ids']);
    assert.deepEqual(partsOf('E11000'), ['e', '11000']);
  });

  it('are not the parts of a hash', () => {
    const hash = '9f8e7d6c5b4a39281706f5e4d3c2b1a0';
    assert.equal(indexedText(hash), hash);
  });

  it('are the ends of a German compound', () => {
    assert.ok(tailsOf('wartungsvertrag').includes('vertrag'));
    assert.ok(termsOf('Datenschutzbeauftragte').includes('beauftragte'));
  });

  it('change only with the number of the rules', () => {
    const all = TEXTS.map(indexedText).join('\n');
    const digest = createHash('sha256').update(all).digest('hex').slice(0, 16);
    const known: Readonly<Record<number, string>> = { 1: '2971d4445829a737' };
    assert.equal(digest, known[TEXT_RULES], 'the terms have changed: TEXT_RULES needs a new number');
  });
});

describe('index and ranking', () => {
  it('find the same rows for every term of the questions whose turn it is', () =>
    findTheSame(inTurn(QUESTIONS, QUESTIONS_IN_TURN)));
});
