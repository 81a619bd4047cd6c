import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFingerprintList, parsePeerFingerprints } from '../../../protocol/peers/fingerprint-list.js';

const ONE = 'ab'.repeat(32);
const TWO = '0f'.repeat(32);
const withColons = (hex: string) => hex.match(/../g)!.join(':');

describe('the allowlist file', () => {
  it('takes hex in any case, colons, a prefix, comments and blank lines', () => {
    const text = [
      '# whole line',
      '',
      `  ${ONE.toUpperCase()}  # trailing`,
      `sha256:${withColons(TWO).toUpperCase()}#tight`,
      `SHA256:${ONE}`,
      '   ',
    ].join('\r\n');
    assert.deepEqual(parseFingerprintList(text), { ok: true, value: [ONE, TWO] });
  });

  it('refuses an empty list, which would admit nobody', () => {
    for (const text of ['', '\n\n', '# nobody\n']) {
      const list = parseFingerprintList(text);
      assert.equal(list.ok, false);
      assert.match(list.ok ? '' : list.error.message, /empty/);
    }
  });

  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['white space inside', `${ONE.slice(0, 10)} ${ONE.slice(10)}`, /line 2: white space.*character 11/],
    ['a tab inside', `sha256:\t${ONE}`, /line 2: white space.*character 8/],
    ['a letter beyond f', `g${ONE.slice(1)}`, /line 2: "g" is not a hexadecimal digit/],
    ['too few digits', ONE.slice(2), /line 2: .*64.*62/],
    ['too many digits', `${ONE}00`, /line 2: .*64.*66/],
    ['another prefix', `sha1:${ONE}`, /line 2: "s"/],
  ];
  for (const [what, line, message] of wrong) {
    it(`names the line and what is wrong: ${what}`, () => {
      const list = parseFingerprintList(`${TWO}\n${line}\n`);
      assert.equal(list.ok, false);
      assert.match(list.ok ? '' : list.error.message, message);
    });
  }
});

describe('the fingerprints of peers by host', () => {
  it('has several lines for a host while its certificate changes', () => {
    const found = parsePeerFingerprints(`Node2.example ${ONE}\nnode2.example sha256:${TWO} # next\n`);
    assert.deepEqual(found.ok && [...found.value], [['node2.example', [ONE, TWO]]]);
  });

  it('refuses a line of another form', () => {
    for (const line of [ONE, `host ${ONE} more`, 'host 1234']) {
      assert.equal(parsePeerFingerprints(line).ok, false, line);
    }
  });
});
