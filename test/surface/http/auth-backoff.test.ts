import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { AuthBackoff, sourceOf } from '../../../node/http/auth-backoff.js';
import { openHttpNode } from './http-node.js';

function fixture(sourcesMax?: number) {
  const clock = { ms: 0, monotonicMs: () => clock.ms };
  return { clock, backoff: new AuthBackoff(clock, sourcesMax) };
}

describe('the back-off after wrong keys', () => {
  it('leaves five wrong keys free of delay, then waits 1 s and doubles it up to 300 s', () => {
    const { clock, backoff } = fixture();
    const waits: number[] = [];
    for (let failure = 1; failure <= 16; failure += 1) {
      assert.equal(backoff.waitMs('a'), 0, `before failure ${failure}`);
      backoff.failed('a');
      const wait = backoff.waitMs('a');
      waits.push(wait / 1000);
      clock.ms += wait;
    }
    assert.deepEqual(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
  });

  it('counts sources apart, halves one that succeeds and forgets one that is quiet for ten minutes', () => {
    const { clock, backoff } = fixture();
    for (let index = 0; index < 9; index += 1) backoff.failed('a');
    assert.ok(backoff.waitMs('a') > 0);
    assert.equal(backoff.waitMs('b'), 0);
    clock.ms += 16_000;
    backoff.succeeded('a');
    assert.equal(backoff.waitMs('a'), 0);
    backoff.failed('a');
    assert.equal(backoff.waitMs('a'), 1000, 'four of nine are left');
    for (let index = 0; index < 30; index += 1) backoff.failed('a');
    clock.ms += 299_999;
    assert.equal(backoff.waitMs('a'), 1);
    clock.ms += 300_001;
    assert.equal(backoff.waitMs('a'), 0);
    assert.equal(backoff.size, 0);
  });

  it('remembers a bounded number of sources, and lets the one that was quiet longest go', () => {
    const { backoff } = fixture(3);
    for (let index = 0; index < 6; index += 1) backoff.failed('guesser');
    backoff.failed('b');
    backoff.failed('c');
    backoff.failed('guesser');
    for (let index = 0; index < 1000; index += 1) {
      backoff.failed(`flood ${index % 2}`);
      assert.ok(backoff.size <= 3);
    }
    assert.ok(backoff.waitMs('guesser') > 0, 'a flood of others does not free it at once');
    backoff.failed('d');
    assert.equal(backoff.waitMs('guesser'), 0);
  });
});

const SOURCES: readonly [string | undefined, string][] = [
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0:0:ffff::1', '2001:db8:0:0::/64'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
];
for (const [address, source] of SOURCES) {
  test(`${address} counts as ${source}`, () => assert.equal(sourceOf(address), source));
}

test('guessing over HTTP ends in AUTH_BACKOFF, for the right key too, until the window is over', async () => {
  const clock = { ms: 1_000_000, nowMs: () => Date.now(), monotonicMs: () => clock.ms };
  const node = await openHttpNode(
    { apiKey: 'sesame', requestTimeoutMs: 1_000_000_000 },
    { wrap: (services) => ({ ...services, clock }) },
  );
  const ask = async (headers: Record<string, string>, path = '/api/v1/memories') => {
    const { status, json, headers: answered } = await node.send('GET', path, undefined, headers);
    return { status, code: json?.['code'], after: answered.get('retry-after'), json };
  };
  try {
    for (let index = 0; index < 20; index += 1) {
      assert.equal((await ask({})).status, 401, 'a request without a key guesses nothing');
    }
    for (let index = 0; index < 5; index += 1) {
      const wrong = await ask({ 'x-api-key': `guess ${index}`, 'x-forwarded-for': `10.0.0.${index}` });
      assert.deepEqual([wrong.status, wrong.code, wrong.after], [401, 'UNAUTHORIZED', null]);
    }
    for (const [headers, path] of [
      [{ 'x-api-key': 'guess' }, '/api/v1/memories'],
      [{ 'x-api-key': 'sesame' }, '/api/v1/memories'],
      [{ 'x-api-key': 'sesame', 'x-forwarded-for': '10.9.9.9', forwarded: 'for=10.9.9.9' }, '/metrics'],
    ] as const) {
      const held = await ask(headers as Record<string, string>, path);
      assert.deepEqual([held.status, held.code, held.after], [429, 'AUTH_BACKOFF', '1'], path);
      assert.equal(held.json?.['retry_after_secs'], 1);
      assert.doesNotMatch(JSON.stringify(held.json), /sesame|guess/);
    }
    assert.equal((await ask({}, '/health')).status, 200, 'health stays open');
    assert.equal((await ask({})).status, 401);
    clock.ms += 1000;
    assert.equal((await ask({ 'x-api-key': 'guess' })).status, 401);
    const longer = await ask({ 'x-api-key': 'sesame' });
    assert.deepEqual([longer.status, longer.after], [429, '2']);
    clock.ms += 2000;
    assert.equal((await ask({ 'x-api-key': 'sesame' })).status, 200);
    assert.equal((await ask({ 'x-api-key': 'guess' })).status, 401, 'a success halves the six wrong keys');
    assert.equal((await ask({ 'x-api-key': 'sesame' })).status, 200);
    const { text } = await node.send('GET', '/metrics', undefined, { 'x-api-key': 'sesame' });
    assert.match(text, /^svc_auth_failures_total\{reason="key"\} 7$/m);
    assert.match(text, /^svc_auth_failures_total\{reason="backoff"\} 4$/m);
  } finally {
    await node.close();
  }
});

test('a burst of guesses on many connections gets five verdicts and no more', async () => {
  const node = await openHttpNode({ apiKey: 'sesame' });
  try {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        node.send('GET', '/api/v1/memories', undefined, { 'x-api-key': `guess ${index}` }),
      ),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    assert.deepEqual([count(401), count(429)], [5, 55]);
  } finally {
    await node.close();
  }
});
