import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { parseInput } from '../../../node/pipeline/parse.js';
import { detailsOf } from '../../../protocol/base/result.js';
import { anOperation } from './operations.js';

const operation = anOperation({
  input: z.object({
    title: z.string().min(1, 'must not be empty'),
    priority: z.int().default(5),
    citations: z
      .array(z.object({ uri: z.string(), span: z.object({ start: z.int() }).optional() }))
      .default([]),
    scope: z.enum(['private', 'team']).optional(),
  }),
});

const parse = (input: Record<string, unknown>, unknown: 'refuse' | 'ignore' = 'refuse') =>
  parseInput(operation, input, unknown);

function refused(input: Record<string, unknown>) {
  const result = parse(input);
  assert.ok(!result.ok, 'the input was taken');
  return result.error;
}

describe('parsing an input', () => {
  it('answers the fields with their defaults', () => {
    assert.deepEqual(parse({ title: 't' }), { ok: true, value: { title: 't', priority: 5, citations: [] } });
  });

  it('names the unknown fields, all of them', () => {
    assert.deepEqual(refused({ title: 't', titel: 1, Title: 2 }), {
      code: 'UNKNOWN_FIELD',
      message: 'unknown field: titel, Title',
      details: { fields: ['titel', 'Title'] },
    });
  });

  it('takes names that every object has for unknown', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const input = JSON.parse(`{"title":"t","${name}":1}`) as Record<string, unknown>;
      assert.deepEqual(refused(input).details, { fields: [name] });
    }
  });

  it('drops unknown fields where the surface tolerates them', () => {
    const result = parse({ title: 't', other: 1 }, 'ignore');
    assert.deepEqual(result.ok && Object.keys(result.value).sort(), ['citations', 'priority', 'title']);
  });

  it('says what is required', () => {
    assert.deepEqual(refused({}), {
      code: 'VALIDATION_FAILED',
      message: 'title is required',
      details: { fields: ['title'] },
    });
    assert.equal(refused({ title: undefined }).message, 'title is required');
  });

  it('does not call a null or a wrong type absent', () => {
    for (const title of [null, 7, ['t']]) assert.match(refused({ title }).message, /^title: /);
  });

  it('gives the reason of the field', () => {
    assert.equal(refused({ title: '' }).message, 'title: must not be empty');
  });

  it('names a field inside another by its path', () => {
    const error = refused({ title: 't', citations: [{ uri: 'a' }, { uri: 'b', span: { start: 'x' } }] });
    assert.match(error.message, /^citations\.1\.span\.start: /);
    assert.deepEqual(error.details, { fields: ['citations.1.span.start'] });
    const missing = refused({ title: 't', citations: [{}] });
    assert.match(missing.message, /^citations\.0\.uri: /);
  });

  it('describes the first problem and lists the fields of all, each once', () => {
    const error = refused({ title: '', priority: 'high', scope: 'world', citations: 'x' });
    assert.match(error.message, /^title: /);
    assert.deepEqual([...detailsOf(error, 'VALIDATION_FAILED')!.fields!].sort(), [
      'citations',
      'priority',
      'scope',
      'title',
    ]);
  });

  it('looks for unknown fields before anything else', () => {
    assert.equal(refused({ priority: 'x', other: 1 }).code, 'UNKNOWN_FIELD');
  });

  it('changes nothing of what it was given', () => {
    const input = Object.freeze({ title: 't' });
    parse(input);
    assert.deepEqual(input, { title: 't' });
  });
});
