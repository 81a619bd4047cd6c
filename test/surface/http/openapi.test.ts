import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { collectInput } from '../../../node/bindings/collect-input.js';
import { operationRoutes } from '../../../node/bindings/operation-route.js';
import { openApiDocument } from '../../../node/http/openapi/document.js';
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

/** The schema that a reference names. */
function component({ $ref: reference }: Json): Json {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  return schemas[(reference as string).slice('#/components/schemas/'.length)]!;
}

const bodyOf = (described: Json | undefined) =>
  (described?.['content'] as Record<string, { schema: Json; example?: unknown }> | undefined)?.[
    'application/json'
  ];

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
  const schema = component(
    (store['content'] as Record<string, { schema: Json }>)['application/json']!.schema,
  );
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
      const votes = typeof binding.status === 'object' && binding.status.among.includes(202);
      const expected = operation.effect === 'write' ? { $ref: '#/components/responses/Accepted' } : undefined;
      if (votes) assert.ok((missed as Json)['content'], `${binding.method} ${binding.path}`);
      else assert.deepEqual(missed, expected, `${binding.method} ${binding.path}`);
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
  assert.deepEqual(tagged.length, 6);
  assert.ok(tagged.every((path) => path.startsWith('/api/v1/mesh/')));
});

test('the error envelope lists every code', () => {
  const { schemas } = document['components'] as {
    schemas: { Error: { properties: { code: { enum: string[] } } } };
  };
  assert.deepEqual(schemas.Error.properties.code.enum, Object.keys(ERRORS));
});

test('every success has a number of its own, and every refusal a schema', () => {
  for (const [path, item] of Object.entries(paths())) {
    for (const [method, described] of Object.entries(item)) {
      const statuses = Object.keys(described['responses'] as Json);
      assert.ok(
        statuses.every((status) => /^([2-5]\d\d|default)$/.test(status)),
        `${method} ${path}: ${statuses}`,
      );
      assert.ok(statuses.includes('default') && statuses.includes('400'), `${method} ${path}`);
    }
  }
});

test('whole inputs and answers have names, and a shaped answer has its own schema', () => {
  for (const route of operationRoutes(OPERATIONS)) {
    const { operation, binding } = route;
    const at = `${binding.method} ${binding.path}`;
    assert.equal(binding.output !== undefined, binding.shape !== undefined, at);
    const described = paths()[`/api/v1${binding.path}`]![binding.method.toLowerCase()]!;
    const responses = described['responses'] as Record<string, Json>;
    const { status = 200 } = binding;
    for (const one of typeof status === 'number' ? [status] : status.among) {
      assert.ok(bodyOf(responses[one])!.schema['$ref'], `${at}: ${one} of ${operation.name}`);
    }
  }
});

test('what several operations share is described once', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  const homes = new Map<string, Set<string>>();
  const look = (value: unknown, home: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { description: _said, default: _fallback, ...shape } = value as Json;
    if (shape['type'] === 'object' && Object.keys((shape['properties'] ?? {}) as Json).length >= 3) {
      const key = JSON.stringify(shape);
      homes.set(key, (homes.get(key) ?? new Set()).add(home));
    }
    for (const member of Object.values(value)) look(member, home);
  };
  for (const [name, schema] of Object.entries(schemas)) look(schema, name);
  const twice = [...homes.values()].filter((names) => names.size > 1).map((names) => [...names].join(', '));
  // Two routes of one operation differ in one field, and three acts choose jobs in the same way.
  const alike = [
    'MemoryNamespaceSetStandardInput, MemoryNamespaceSetStandardPostInput',
    'JobsCancelInput, JobsPauseInput, JobsResumeInput',
  ];
  assert.deepEqual(
    twice.filter((names) => !alike.includes(names)),
    [],
  );
});

test('every example is what the route takes, or what it answers', () => {
  let inputs = 0;
  for (const route of operationRoutes(OPERATIONS)) {
    const { operation, binding } = route;
    const at = `${binding.method} ${binding.path}`;
    const described = paths()[`/api/v1${binding.path}`]![binding.method.toLowerCase()]!;
    const parameters = (described['parameters'] as Json[]).filter((parameter) => parameter['in'] === 'path');
    const example = bodyOf(described['requestBody'] as Json | undefined)?.example as Json | undefined;
    if (binding.fields === 'body') {
      const body = Array.isArray(example) ? { [binding.arrayBody!]: example } : (example ?? null);
      const params = parameters.map((parameter) => String(parameter['example']));
      const collected = collectInput(route, { params, query: new Map(), body, headers: {} });
      assert.ok(collected.ok, `${at}: ${JSON.stringify(collected)}`);
      const parsed = operation.input.safeParse(collected.value.input);
      assert.ok(parsed.success, `${at}: ${JSON.stringify(body)} ${parsed.error?.message}`);
      inputs += 1;
    }
    for (const [status, response] of Object.entries(described['responses'] as Record<string, Json>)) {
      if (!/^20[01]$/.test(status)) continue;
      const answer = bodyOf(response)!.example;
      const parsed = (binding.output ?? operation.output).safeParse(answer);
      assert.ok(parsed.success, `${at} ${status}: ${JSON.stringify(answer)} ${parsed.error?.message}`);
    }
  }
  assert.ok(inputs > 40, `only ${inputs} bodies have examples`);
});
