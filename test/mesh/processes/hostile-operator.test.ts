// Runs alone: its nodes must answer in time.
import { describe } from 'node:test';
import { hostileOperator } from './hostile-operator.js';

describe('a mesh that one joins whose joins are killed', () =>
  hostileOperator({ killsAfterMs: [250], whole: false }));
