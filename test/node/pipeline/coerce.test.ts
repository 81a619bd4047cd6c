import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { coerceText, fieldTypes, isRequired } from '../../../node/pipeline/coerce.js';
import { anOperation } from './operations.js';

const operation = anOperation({
  input: z.object({
    text: z.string(),
    word: z.enum(['a', 'b']).optional(),
    integer: z.int().default(5),
    number: z.number().optional(),
    boolean: z.boolean().optional(),
    list: z.array(z.string()).default([]),
    textOrList: z.union([z.array(z.string()), z.string().transform((value) => value.split(','))]).optional(),
    object: z.object({ a: z.int() }).optional(),
    maybe: z.int().nullable().optional(),
    either: z.union([z.int(), z.boolean()]).optional(),
  }),
});

const CASES: readonly (readonly [field: string, text: string, value: unknown])[] = [
  ['text', '7', '7'],
  ['text', 'true', 'true'],
  ['text', '', ''],
  ['word', 'a', 'a'],
  ['word', '1', '1'],
  ['integer', '7', 7],
  ['integer', '-7', -7],
  ['integer', '+7', 7],
  ['integer', '007', 7],
  ['integer', '999999999999999', 999_999_999_999_999],
  ['integer', '7.0', 7],
  ['integer', '1e3', 1000],
  // A number that is no integer in range is the schema's to refuse.
  ['integer', '7.5', 7.5],
  ['integer', '9999999999999999', 10_000_000_000_000_000],
  // What does not read as the type stays a text, which the schema refuses too.
  ['integer', ' 7', ' 7'],
  ['integer', '0x10', '0x10'],
  ['integer', '', ''],
  ['integer', 'NaN', 'NaN'],
  ['number', '7', 7],
  ['number', '-0.5', -0.5],
  ['number', '.5', 0.5],
  ['number', '5.', 5],
  ['number', '1e3', 1000],
  ['number', '1E-3', 0.001],
  ['number', 'Infinity', 'Infinity'],
  ['number', '1e', '1e'],
  ['number', '.', '.'],
  ['number', '0x10', '0x10'],
  ['number', '1_000', '1_000'],
  ['boolean', 'true', true],
  ['boolean', 'false', false],
  ['boolean', '1', true],
  ['boolean', '0', false],
  ['boolean', 'yes', 'yes'],
  ['boolean', 'TRUE', 'TRUE'],
  ['boolean', '', ''],
  ['list', 'a,b', ['a', 'b']],
  ['list', 'a', ['a']],
  ['list', '', []],
  ['list', 'a,,b', ['a', '', 'b']],
  ['list', '["a,b","c"]', ['a,b', 'c']],
  ['list', '[]', []],
  ['list', '[broken', ['[broken']],
  ['textOrList', 'a,b', 'a,b'],
  ['object', '{"a":1}', { a: 1 }],
  ['object', '[1]', [1]],
  ['object', 'plain', 'plain'],
  ['maybe', '7', 7],
  ['maybe', 'null', 'null'],
  ['either', '1', 1],
  ['either', 'true', true],
  ['unknown', '7', '7'],
  ['constructor', '7', '7'],
];

describe('a text from a query string or a command line', () => {
  for (const [field, text, value] of CASES) {
    it(`for ${field}: ${JSON.stringify(text)} is ${JSON.stringify(value)}`, () => {
      assert.deepEqual(coerceText(operation, field, text), value);
    });
  }
});

describe('a field', () => {
  it('has the types that its schema accepts, through defaults, options and unions', () => {
    const types = (field: string) => [...fieldTypes(operation, field)].sort();
    assert.deepEqual(types('integer'), ['integer']);
    assert.deepEqual(types('word'), ['string']);
    assert.deepEqual(types('maybe'), ['integer', 'null']);
    assert.deepEqual(types('textOrList'), ['array', 'string']);
    assert.deepEqual(types('unknown'), []);
  });

  it('is required when it may neither be absent nor has a default', () => {
    const store = OPERATIONS.find(({ name }) => name === 'memory_store')!;
    const required = Object.keys(store.input.shape).filter((field) => isRequired(store, field));
    assert.deepEqual(required, ['title', 'content']);
  });
});
