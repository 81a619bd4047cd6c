import { describe, it } from 'node:test';
import { findTheSame, QUESTIONS } from './same-rows.js';

describe('index and ranking', () => {
  it('find the same rows for every term of every question', () => findTheSame(QUESTIONS));
});
