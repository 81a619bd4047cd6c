import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { openApiDocument } from '../../../node/http/openapi.js';
import { type MeshRoutesParts, meshRoutes } from '../../../node/mesh/mesh-routes.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { MISSED_FIELDS } from '../../../node/pipeline/replicate.js';
import { ERRORS } from '../../../protocol/base/errors.js';
import { type HttpNode, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;
let node: HttpNode;
let document: Json;

before(async () => {
  node = await openHttpNode();
  const answer = await node.send('GET', '/openapi.json');
  assert.equal(answer.status, 200);
  document = answer.json!;
});
after(() => node.close());

const paths = () => document['paths'] as Record<string, Record<string, Json>>;

test('the description is valid OpenAPI 3.1, and the same under both paths', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.equal(result.valid, true, JSON.stringify(result.errors));
  assert.equal(validator.version, '3.1');
  assert.deepEqual((await node.send('GET', '/api/v1/openapi.json')).json, document);
});

test('every binding of every operation is described, with an id of its own', () => {
  const ids: unknown[] = [];
  for (const operation of OPERATIONS) {
    for (const binding of operation.http ?? []) {
      const item = paths()[`/api/v1${binding.path}`]?.[binding.method.toLowerCase()];
      assert.ok(item, `${binding.method} ${binding.path}`);
      ids.push(item['operationId']);
    }
  }
  assert.equal(new Set(ids).size, ids.length);
  for (const path of ['/health', '/metrics', '/api/v1/metrics', '/openapi.json'])
    assert.ok(paths()[path], path);
  assert.deepEqual(paths()['/health']!['get']!['security'], []);
});

test('aliases, headers, omitted and required fields are as the surface takes them', () => {
  const store = paths()['/api/v1/memories']!['post']!['requestBody'] as Json;
  const schema = (store['content'] as Record<string, { schema: Json }>)['application/json']!.schema;
  assert.deepEqual(schema['required'], ['title', 'content']);
  assert.ok((schema['properties'] as Json)['memory_kind']);
  assert.equal(schema['additionalProperties'], false);
  const update = paths()['/api/v1/memories/{id}']!['put']!;
  const parameters = (update['parameters'] as Json[]).map(
    (parameter) => `${parameter['in']} ${parameter['name']}`,
  );
  assert.deepEqual(parameters.slice(0, 2), ['path id', 'header if-match']);
  const recall = paths()['/api/v1/recall']!['get']!['parameters'] as Json[];
  const names = recall.map((parameter) => parameter['name']);
  assert.ok(names.includes('q') && names.includes('query') && names.includes('context'));
  assert.equal(names.includes('context_tokens'), false);
});

test('every write says what it answers when its quorum is missed, and no read does', () => {
  for (const operation of OPERATIONS) {
    for (const binding of operation.http ?? []) {
      const item = paths()[`/api/v1${binding.path}`]![binding.method.toLowerCase()]!;
      const missed = (item['responses'] as Json)['202'];
      const expected =
        operation.effect === 'write' ? { $ref: '#/components/responses/MissedQuorum' } : undefined;
      assert.deepEqual(missed, expected, `${binding.method} ${binding.path}`);
    }
  }
  const { schemas } = document['components'] as { schemas: { MissedQuorum: { required: string[] } } };
  assert.deepEqual(schemas.MissedQuorum.required, [...MISSED_FIELDS]);
});

test('routes between nodes are described apart', async () => {
  const described = openApiDocument(OPERATIONS, [], meshRoutes({} as MeshRoutesParts));
  const result = await new Validator().validate(structuredClone(described));
  assert.equal(result.valid, true, JSON.stringify(result.errors));
  const all = described['paths'] as Record<string, Record<string, Json>>;
  const tagged = Object.entries(all).flatMap(([path, item]) =>
    Object.values(item).some(({ tags }) => (tags as string[]).includes('mesh')) ? [path] : [],
  );
  assert.deepEqual(tagged.length, 5);
  assert.ok(tagged.every((path) => path.startsWith('/api/v1/mesh/')));
});

test('the error envelope lists every code', () => {
  const { schemas } = document['components'] as {
    schemas: { Error: { properties: { code: { enum: string[] } } } };
  };
  assert.deepEqual(schemas.Error.properties.code.enum, Object.keys(ERRORS));
});
