import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { defineOperation } from '../../../node/pipeline/operation.js';
import { ok } from '../../../protocol/base/result.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const PATH = '/api/v1/things';
const HEADERS = { 'x-agent-id': 'ai:alice' };

/** Answers what it was given, so that the tests see what reached it. */
const things = defineOperation({
  name: 'memory_things',
  family: 'other',
  summary: 'Take things.',
  input: z.object({ things: z.array(z.unknown()), loud: z.boolean().default(false) }),
  output: z.looseObject({}),
  effect: 'write',
  guards: {},
  http: [{ method: 'POST', path: '/things', fields: 'body', arrayBody: 'things' }],
  run: async (call, input) => ok({ ...input, caller: call.caller.agentId }),
});

let node: HttpNode;
before(async () => {
  node = await openHttpNode({}, { operations: [...OPERATIONS, things] });
});
after(() => node.close());

test('an array is the value of its field, whatever it holds', async () => {
  for (const body of [[], [1, null, ['x'], { deep: [] }], [{ things: [1] }]]) {
    const answer = await node.send('POST', PATH, body, HEADERS);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json, { things: body, loud: false, caller: 'ai:alice' });
  }
});

test('an object has the named fields, and names its caller as everywhere', async () => {
  const body = { things: [1], loud: true, agent_id: 'ai:alice' };
  const answer = await node.send('POST', PATH, body, HEADERS);
  assert.deepEqual(answer.json, { things: [1], loud: true, caller: 'ai:alice' });
  const other = await node.send('POST', PATH, { ...body, agent_id: 'ai:bob' }, HEADERS);
  assert.equal(other.json?.['code'], 'agent_id_body_header_mismatch');
  const unknown = await node.send('POST', PATH, { thing: [1] }, HEADERS);
  assert.equal(unknown.json?.['code'], 'UNKNOWN_FIELD');
});

test('what is neither array nor object is malformed, and what JSON cannot keep is refused inside arrays too', async () => {
  for (const body of ['7', 'null', '"x"', '[1', '[],[]', '']) {
    const answer = await node.send('POST', PATH, body, HEADERS);
    assert.equal(`${answer.status} ${answer.json?.['code']}`, '400 MALFORMED_BODY', body);
  }
  for (const body of ['[{"__proto__":1}]', '[[9007199254740993]]', '[1e999]']) {
    const answer = await node.send('POST', PATH, body, HEADERS);
    assert.equal(`${answer.status} ${answer.json?.['code']}`, '400 VALIDATION_FAILED', body);
  }
});

test('a list or an object that comes as a JSON text is that, in a body and in a query', async () => {
  const body = {
    title: 'ferry',
    content: '["at noon"]',
    namespace: 'texts',
    tags: '["harbour","timetable"]',
  };
  const stored = await node.send('POST', '/api/v1/memories', { ...body, metadata: '{"line":7}' }, HEADERS);
  assert.equal(stored.status, 201, stored.text);
  const shown = await node.send('GET', `/api/v1/memories/${stored.json!['id']}`, undefined, HEADERS);
  const memory = shown.json!['memory'] as Record<string, unknown>;
  assert.deepEqual([memory['tags'], memory['content']], [['harbour', 'timetable'], '["at noon"]']);
  assert.equal((memory['metadata'] as Record<string, unknown>)['line'], 7);
  for (const tags of ['["harbour"]', 'harbour']) {
    const query = new URLSearchParams({ namespace: 'texts', tags });
    const listed = await node.send('GET', `/api/v1/memories?${query}`, undefined, HEADERS);
    assert.equal(listed.json!['count'], 1, listed.text);
  }
});

test('elsewhere arrays are refused', async () => {
  const answer = await node.send('POST', '/api/v1/memories', [{ title: 't', content: 'c' }], HEADERS);
  assert.equal(`${answer.status} ${answer.json?.['code']}`, '400 MALFORMED_BODY');
});

test('both forms are described, in valid OpenAPI', async () => {
  const { json } = await node.send('GET', '/openapi.json');
  assert.equal((await new Validator().validate(structuredClone(json!))).valid, true);
  const paths = json!['paths'] as Record<string, Record<string, { requestBody: Record<string, unknown> }>>;
  const content = paths[PATH]!['post']!.requestBody['content'] as Record<string, { schema: unknown }>;
  assert.deepEqual(content['application/json']!.schema, {
    oneOf: [{ type: 'array', items: {} }, { $ref: '#/components/schemas/MemoryThingsInput' }],
  });
  const { schemas } = json!['components'] as { schemas: Record<string, Record<string, unknown>> };
  const { type, required, properties } = schemas['MemoryThingsInput']!;
  assert.deepEqual(
    [type, required, Object.keys(properties as object)],
    ['object', ['things'], ['things', 'loud']],
  );
});
