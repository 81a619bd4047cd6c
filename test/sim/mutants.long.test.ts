import { describe, it } from 'node:test';
import { MUTANTS } from './mutants.js';
import { catches } from './planted-bug.js';

describe('all planted bugs', () => {
  for (const mutant of MUTANTS)
    it(`catches ${mutant.name}: ${mutant.bug}`, (context) => catches(mutant, context));
});
