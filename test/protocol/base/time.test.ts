import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  canonicalInstant,
  instantAfter,
  instantFromMs,
  parseRfc3339Ms,
} from '../../../protocol/base/time.js';
import fc from '../../support/properties.js';

const ACCEPTED: readonly (readonly [text: string, canonical: string])[] = [
  ['2026-07-28T12:00:00Z', '2026-07-28T12:00:00.000Z'],
  ['2026-07-28t12:00:00z', '2026-07-28T12:00:00.000Z'],
  ['2026-07-28T12:00:00+00:00', '2026-07-28T12:00:00.000Z'],
  ['2026-07-28T12:00:00-00:00', '2026-07-28T12:00:00.000Z'],
  ['2026-07-28T12:00:00+05:30', '2026-07-28T06:30:00.000Z'],
  ['2026-07-28T12:00:00-05:45', '2026-07-28T17:45:00.000Z'],
  ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00.000Z'],
  ['2026-12-31T23:59:59-23:59', '2027-01-01T23:58:59.000Z'],
  // Fractions: one to nine digits, cut (never rounded) to milliseconds.
  ['2026-07-28T12:00:00.1Z', '2026-07-28T12:00:00.100Z'],
  ['2026-07-28T12:00:00.12Z', '2026-07-28T12:00:00.120Z'],
  ['2026-07-28T12:00:00.123Z', '2026-07-28T12:00:00.123Z'],
  ['2026-07-28T12:00:00.1239Z', '2026-07-28T12:00:00.123Z'],
  ['2026-07-28T12:00:00.123999Z', '2026-07-28T12:00:00.123Z'],
  ['2026-07-28T12:00:00.999999999Z', '2026-07-28T12:00:00.999Z'],
  ['2026-07-28T12:00:00.000000001+02:00', '2026-07-28T10:00:00.000Z'],
  ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
  // Leap years: every fourth, not the centuries, but every fourth century.
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['1600-02-29T00:00:00Z', '1600-02-29T00:00:00.000Z'],
  ['0004-02-29T00:00:00Z', '0004-02-29T00:00:00.000Z'],
  ['0096-02-29T00:00:00Z', '0096-02-29T00:00:00.000Z'],
  // The calendar of JavaScript has no leap seconds.
  ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
  ['2017-01-01T00:59:60.5+01:00', '2016-12-31T23:59:59.500Z'],
  // The range is that of the canonical text: four digits of year, in UTC.
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0099-06-15T12:00:00Z', '0099-06-15T12:00:00.000Z'],
  ['0000-12-31T23:30:00-01:00', '0001-01-01T00:30:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
];

const REFUSED: readonly string[] = [
  '',
  'now',
  '2026-07-28',
  '12:00:00Z',
  '1700000000',
  '2026-07-28T12:00:00',
  '2026-07-28 12:00:00Z',
  '2026-07-28T12:00Z',
  '2026-07-28T12Z',
  '2026-7-28T12:00:00Z',
  '26-07-28T12:00:00Z',
  '+002026-07-28T12:00:00Z',
  '12026-07-28T12:00:00Z',
  '-026-07-28T12:00:00Z',
  '2026-07-28T12:00:00 Z',
  ' 2026-07-28T12:00:00Z',
  '2026-07-28T12:00:00Z ',
  '2026-07-28T12:00:00Z\n',
  '2026-07-28T12:00:00,5Z',
  '2026-07-28T12:00:00.Z',
  '2026-07-28T12:00:00.1234567891Z',
  '2026-07-28T12:00:00+0000',
  '2026-07-28T12:00:00+00',
  '2026-07-28T12:00:00+24:00',
  '2026-07-28T12:00:00+00:60',
  '2026-07-28T12:00:00UTC',
  '2026-07-28T12:00:00Z+00:00',
  '2026-00-28T12:00:00Z',
  '2026-13-28T12:00:00Z',
  '2026-07-00T12:00:00Z',
  '2026-07-32T12:00:00Z',
  '2026-04-31T12:00:00Z',
  '2026-06-31T12:00:00Z',
  '2026-09-31T12:00:00Z',
  '2026-11-31T12:00:00Z',
  '2026-02-30T12:00:00Z',
  '2026-02-29T12:00:00Z',
  '1900-02-29T12:00:00Z',
  '2100-02-29T12:00:00Z',
  '0100-02-29T12:00:00Z',
  '0003-02-29T12:00:00Z',
  '2026-07-28T24:00:00Z',
  '2026-07-28T23:60:00Z',
  '2026-07-28T23:59:61Z',
  '0000-06-01T00:00:00Z',
  '0001-01-01T00:30:00+01:00',
  '9999-12-31T23:30:00-01:00',
  '２０２６-07-28T12:00:00Z',
];

describe('RFC 3339', () => {
  for (const [text, canonical] of ACCEPTED) {
    it(`reads ${text}`, () => {
      assert.equal(canonicalInstant(text), canonical);
      assert.equal(parseRfc3339Ms(text), new Date(canonical).getTime());
    });
  }

  for (const text of REFUSED) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseRfc3339Ms(text), null);
      assert.equal(canonicalInstant(text), null);
    });
  }

  const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z');
  const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');
  const instants = fc.integer({ min: EARLIEST_MS, max: LATEST_MS });

  it('gives back every instant that it wrote', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        assert.equal(parseRfc3339Ms(instantFromMs(ms)), ms);
      }),
    );
  });

  it('is the same instant in every offset, with any number of digits behind the milliseconds', () => {
    const offsets = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });
    // A day inside the range, so that the local year has four digits in every offset.
    const inner = fc.integer({ min: EARLIEST_MS + 86_400_000, max: LATEST_MS - 86_400_000 });
    fc.assert(
      fc.property(inner, offsets, fc.stringMatching(/^\d{0,6}$/), (ms, offset, digits) => {
        const local = new Date(ms + offset * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(offset);
        const hours = String(Math.floor(size / 60)).padStart(2, '0');
        const minutes = String(size % 60).padStart(2, '0');
        const text = `${local}${digits}${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
        assert.equal(parseRfc3339Ms(text), ms, text);
      }),
    );
  });

  it('keeps the order of time in the order of the canonical text', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        assert.equal(instantFromMs(a) < instantFromMs(b), a < b);
      }),
    );
  });

  it('answers any text without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9TtZz:.+-]{0,32}$/)), (text) => {
        const canonical = canonicalInstant(text);
        assert.ok(canonical === null || canonicalInstant(canonical) === canonical);
      }),
    );
  });

  it('counts seconds from an instant on', () => {
    assert.equal(instantAfter('2026-12-31T23:59:59.500Z', 1), '2027-01-01T00:00:00.500Z');
    assert.equal(instantAfter('2024-02-28T12:00:00.000Z', 86_400), '2024-02-29T12:00:00.000Z');
    assert.equal(instantAfter('2026-01-01T00:00:00.000Z', 0.5), '2026-01-01T00:00:00.500Z');
  });
});
