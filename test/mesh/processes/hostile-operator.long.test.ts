import { describe } from 'node:test';
import { hostileOperator } from './hostile-operator.js';

describe('a mesh whose operators do strange things', () =>
  hostileOperator({ killsAfterMs: [250, 500, 900], whole: true }));
