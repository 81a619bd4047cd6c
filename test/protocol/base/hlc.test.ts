import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatHlc, HLC_ZERO, hlcMs, nextHlc } from '../../../protocol/base/hlc.js';
import fc from '../../support/properties.js';

const WALL_MS = 1_785_240_000_000;

describe('hybrid logical clock', () => {
  it('follows the wall clock while that goes forward', () => {
    assert.equal(nextHlc(HLC_ZERO, WALL_MS), '1785240000000-00000');
    assert.equal(nextHlc('1785240000000-00042', WALL_MS + 1), '1785240000001-00000');
  });

  it('counts within one millisecond', () => {
    assert.equal(nextHlc('1785240000000-00000', WALL_MS), '1785240000000-00001');
    assert.equal(nextHlc('1785240000000-00009', WALL_MS), '1785240000000-00010');
  });

  it('goes on counting when the wall clock goes back', () => {
    assert.equal(nextHlc('1785240000000-00007', WALL_MS - 3_600_000), '1785240000000-00008');
    assert.equal(nextHlc('1785240000000-00007', 0), '1785240000000-00008');
  });

  it('carries a full counter into the next millisecond', () => {
    assert.equal(nextHlc('1785240000000-99998', WALL_MS), '1785240000000-99999');
    assert.equal(nextHlc('1785240000000-99999', WALL_MS), '1785240000001-00000');
    assert.equal(nextHlc('1785240000000-99999', 0), '1785240000001-00000');
  });

  it('orders stamps as text, of any lengths of their numbers', () => {
    const numbers = fc.tuple(fc.nat({ max: 9_999_999_999_999 }), fc.nat({ max: 99_999 }));
    fc.assert(
      fc.property(numbers, numbers, ([ms, counter], [otherMs, otherCounter]) => {
        const before = ms < otherMs || (ms === otherMs && counter < otherCounter);
        assert.equal(formatHlc(ms, counter) < formatHlc(otherMs, otherCounter), before);
        assert.equal(formatHlc(ms, counter).length, HLC_ZERO.length);
        assert.equal(hlcMs(formatHlc(ms, counter)), ms);
      }),
    );
  });

  it('rises with every stamp, whatever the wall clock does', () => {
    const walls = fc.array(fc.integer({ min: WALL_MS - 5, max: WALL_MS + 5 }), { minLength: 2 });
    const starts = fc.constantFrom(HLC_ZERO, formatHlc(WALL_MS, 99_997), formatHlc(WALL_MS + 3, 0));
    fc.assert(
      fc.property(starts, walls, (start, nows) => {
        let last = start;
        for (const now of nows) {
          const next = nextHlc(last, now);
          assert.ok(next > last, `${next} after ${last}`);
          assert.ok(hlcMs(next) >= now, 'a stamp is never behind the wall clock');
          last = next;
        }
      }),
    );
  });
});
