// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJsonBody } from '../../../node/http/json-body.js';
import { REQUEST_BODY_BYTES_MAX } from '../../../protocol/base/limits.js';

const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

function codeOf(text: string): string {
  const parsed = parseJsonBody(Buffer.from(text));
  return parsed.ok ? 'ok' : parsed.error.code;
}

describe('deep JSON', () => {
  it('is read down to 64 levels and refused below', () => {
    assert.equal(codeOf(nested(64)), 'ok');
    assert.equal(codeOf(nested(65)), 'VALIDATION_FAILED');
    assert.equal(codeOf(`{"a":[${nested(63)},${nested(62)},${nested(62)}]}`), 'VALIDATION_FAILED');
  });

  it('is told from brackets in text', () => {
    for (const text of ['['.repeat(100), `\\"${'{'.repeat(100)}`, '\\\\', `\\\\\\"${'['.repeat(100)}`]) {
      assert.equal(codeOf(`{"a":"${text}","b":[]}`), 'ok', text);
    }
    assert.equal(codeOf(`{"a":"\\\\","b":${'['.repeat(100)}`), 'VALIDATION_FAILED');
  });

  it('is refused at once', () => {
    for (const text of ['[', '{"a":']) {
      const deep = Buffer.from(text.repeat(REQUEST_BODY_BYTES_MAX / text.length));
      const beganMs = performance.now();
      const parsed = parseJsonBody(deep);
      const tookMs = performance.now() - beganMs;
      assert.equal(parsed.ok ? 'ok' : parsed.error.code, 'VALIDATION_FAILED');
      assert.ok(tookMs < 50, `${tookMs} ms`);
    }
  });
});
