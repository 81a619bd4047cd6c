import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import fc from '../../support/properties.js';

/** The same value with the keys of every object in the opposite order. */
function turned(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(turned);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
}

describe('canonical JSON', () => {
  it('sorts keys by code unit on every level and writes no white space', () => {
    assert.equal(
      canonicalJson({ b: [{ z: 1, a: null }], B: true, '10': 'x', '9': 'y', a: { é: 1, e: 2 } }),
      '{"10":"x","9":"y","B":true,"a":{"e":2,"é":1},"b":[{"a":null,"z":1}]}',
    );
    // U+1F600 starts with the code unit D83D, which goes before U+FF61 though its code point goes behind.
    assert.equal(canonicalJson({ '｡': 1, '😀': 2 }), '{"😀":2,"｡":1}');
  });

  it('leaves undefined members out and writes null for what JSON cannot hold in a list', () => {
    assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
    assert.equal(canonicalJson([undefined, Number.NaN, 1]), '[null,null,1]');
    assert.equal(canonicalJson(undefined), 'null');
  });

  it('escapes as JSON.stringify does, keys too', () => {
    assert.equal(canonicalJson({ 'a"\n': '\u0000\ud800"\\' }), '{"a\\"\\n":"\\u0000\\ud800\\"\\\\"}');
  });

  it('keeps a key named __proto__', () => {
    assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}')), '{"__proto__":{"a":2},"b":1}');
  });

  it('is one text for one value, in any order of keys, and reads back as that value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        assert.equal(canonicalJson(turned(value)), text);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
        assert.equal(canonicalJson(JSON.parse(text)), text);
      }),
    );
  });
});
