import { describe, it } from 'node:test';
import { inTurn } from '../support/turn.js';
import { MUTANTS } from './mutants.js';
import { catches } from './planted-bug.js';

/** So many planted bugs for each commit, in turn; test:long has all of them. */
const BUGS = 3;

describe('planted bugs', () => {
  for (const mutant of inTurn(MUTANTS, BUGS)) {
    it(`catches ${mutant.name}: ${mutant.bug}`, (context) => catches(mutant, context));
  }
});
