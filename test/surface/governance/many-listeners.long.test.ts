import { test } from 'node:test';
import { decideBeforeListeners } from './many-listeners.js';

test('200 decisions reach each of 1,000 listeners once and in order', (context) =>
  decideBeforeListeners(1000, context));
