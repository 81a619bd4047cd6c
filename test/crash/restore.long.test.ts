import { it } from 'node:test';
import { killedRestores } from './killed-restores.js';

it('a restore leaves the old or the new database when it is killed at any step', { timeout: 600_000 }, () =>
  killedRestores(1, 1),
);
