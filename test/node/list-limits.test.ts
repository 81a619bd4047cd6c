import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATIONS } from '../../node/operations/registry.js';

/** Limits that the interface bounds with an error of their own: see §4.6 (taxonomy) and §7. */
const REFUSING = ['memory_get_taxonomy'];

describe('the limit of a list', () => {
  const limited = OPERATIONS.flatMap(({ name, input }) => {
    const limit = (input.shape as Record<string, { safeParse(value: unknown): { success: boolean } }>)[
      'limit'
    ];
    return limit === undefined ? [] : [{ name, limit }];
  });

  it('is cut to its maximum and never refused for being above it', () => {
    assert.ok(limited.length > 10);
    for (const { name, limit } of limited) {
      if (REFUSING.includes(name)) continue;
      for (const value of [1001, 1_000_000])
        assert.ok(limit.safeParse(value).success, `${name} refuses a limit of ${value}`);
    }
  });

  it('is refused where it is no whole number from 1 on', () => {
    for (const { name, limit } of limited) {
      if (REFUSING.includes(name) || name === 'memory_recall') continue;
      for (const value of [0, -1, 1.5, 'x'])
        assert.ok(!limit.safeParse(value).success, `${name} takes ${value}`);
    }
  });
});
