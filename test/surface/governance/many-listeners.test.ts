import { test } from 'node:test';
import { decideBeforeListeners } from './many-listeners.js';

test('200 decisions reach each of 300 listeners once and in order', (context) =>
  decideBeforeListeners(300, context));
