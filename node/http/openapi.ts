import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../protocol/base/errors.js';
import { API_PREFIX, type OperationRoute, operationRoutes } from '../bindings/operation-route.js';
import { isRequired } from '../pipeline/coerce.js';
import { hasFormats } from '../pipeline/formatted-text.js';
import type { Operation } from '../pipeline/operation.js';
import { MISSED_FIELDS } from '../pipeline/replicate.js';
import { VERSION } from '../version.js';
import { JSON_TYPE } from './exchange.js';
import type { PeerRoute } from './peer-route.js';
import { pathsOf, SERVICE, type ServiceRoute } from './service-route.js';
import { EVENT_STREAM_TYPE, type StreamRoute } from './stream-route.js';

type Json = Record<string, unknown>;

/**
 * The OpenAPI 3.1 description of the whole surface, generated from the declarations that the surface runs on. Aliases
 * are described with the field that they name.
 */
export function openApiDocument(
  operations: readonly Operation[],
  services: readonly ServiceRoute[],
  peers: readonly PeerRoute[],
  streams: readonly StreamRoute[] = [],
): Json {
  const paths: Record<string, Json> = {};
  const add = (path: string, method: string, item: Json) => {
    paths[path] = { ...paths[path], [method]: item };
  };
  for (const service of services) {
    pathsOf(service).forEach((path, index) => {
      add(path, 'get', describeService(service, index));
    });
  }
  for (const stream of streams) {
    pathsOf(stream).forEach((path, index) => {
      add(path, 'get', describeStream(stream, index));
    });
  }
  for (const route of operationRoutes(operations)) {
    const { method, path } = route.binding;
    add(`${API_PREFIX}${path}`, method.toLowerCase(), describeOperation(route));
  }
  for (const route of peers)
    add(`${API_PREFIX}${route.path}`, route.method.toLowerCase(), describePeer(route));
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE,
      version: VERSION,
      description: 'A memory service for AI agents that runs as a node of a mesh.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }, {}],
    tags: [...new Set(operations.map((operation) => operation.family)), MESH_TAG].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'Needed when the node has an API key.',
        },
      },
      schemas: { Error: ERROR_SCHEMA, MissedQuorum: MISSED_SCHEMA },
      responses: {
        Error: { description: 'Refused or failed', content: content(JSON_TYPE, ERROR_REF) },
        MissedQuorum: {
          description:
            'Done here, but so far on fewer nodes than required: the ordinary body with these additional fields',
          content: content(JSON_TYPE, { $ref: '#/components/schemas/MissedQuorum' }),
        },
      },
      parameters: {
        AgentId: {
          name: 'X-Agent-Id',
          in: 'header',
          required: false,
          description: 'Who calls; a request without it is anonymous.',
          schema: { type: 'string', pattern: '^[A-Za-z0-9_\\-:@./]{1,128}$' },
        },
      },
    },
  };
}

/** Routes by which nodes talk to each other, and about each other. */
const MESH_TAG = 'mesh';

const MISSED_RESPONSE = { $ref: '#/components/responses/MissedQuorum' };

/** Interface §4.13; a write on enough nodes has its ordinary status and `quorum_acks`. */
const MISSED_SCHEMA = {
  type: 'object',
  required: [...MISSED_FIELDS],
  properties: {
    quorum_met: { const: false },
    acks: { type: 'integer', minimum: 1, description: 'Nodes that durably have it, this one included' },
    needed: { type: 'integer', minimum: 2 },
    reason: { type: 'string', enum: ['timeout', 'unreachable', 'parked', 'stopping'] },
    durability: { const: 'local' },
    op_id: { type: 'string', description: 'For GET /api/v1/mesh/operations/{id}' },
  },
  additionalProperties: true,
};

const ERROR_REF = { $ref: '#/components/schemas/Error' };
const ERROR_RESPONSE = { $ref: '#/components/responses/Error' };

const ERROR_SCHEMA = {
  type: 'object',
  description: 'Every error has a sentence for people and a stable code; some codes add fields.',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string' },
    code: {
      type: 'string',
      enum: Object.keys(ERRORS),
      description: (Object.keys(ERRORS) as ErrorCode[])
        .map((code) => `${code}: ${ERRORS[code].http}`)
        .join(', '),
    },
  },
  additionalProperties: true,
};

const content = (type: string, schema: Json) => ({ [type]: { schema } });

function describeService(service: ServiceRoute, index: number): Json {
  const responses: Record<string, unknown> = {};
  for (const [status, { description, contentType }] of Object.entries(service.responses)) {
    const schema = contentType === JSON_TYPE ? { type: 'object' } : { type: 'string' };
    responses[status] = { description, content: content(contentType, schema) };
  }
  return {
    // The bare path and the one under the prefix are one route with two ids.
    operationId: index === 0 ? service.name : `${service.name}_v1`,
    summary: service.summary,
    ...(service.open ? { security: [] } : {}),
    responses: { ...responses, default: ERROR_RESPONSE },
  };
}

function describeStream({ name, summary, description }: StreamRoute, index: number): Json {
  const lastEventId = {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The id of the event that was received last; later ones follow from the log.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  };
  return {
    operationId: index === 0 ? name : `${name}_v1`,
    summary,
    description,
    parameters: [lastEventId, { $ref: '#/components/parameters/AgentId' }],
    responses: {
      200: {
        description: 'Server-sent events, without an end',
        content: content(EVENT_STREAM_TYPE, { type: 'string' }),
      },
      default: ERROR_RESPONSE,
    },
  };
}

/** A message between nodes; its content is not part of the public interface. */
function describePeer(route: PeerRoute): Json {
  const params = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [MESH_TAG],
    ...(params.length > 0 ? { parameters: params } : {}),
    ...(route.access === 'local' ? {} : { security: [{ apiKey: [] }, {}] }),
    ...(route.method === 'POST'
      ? { requestBody: { required: true, content: content(JSON_TYPE, { type: 'object' }) } }
      : {}),
    responses: {
      200: { description: 'Answered', content: content(JSON_TYPE, { type: 'object' }) },
      default: ERROR_RESPONSE,
    },
  };
}

function describeOperation(route: OperationRoute): Json {
  const { operation, binding } = route;
  const schemas = toSchema(operation.input, 'input')['properties'] as Record<string, Json>;
  const inBody = binding.fields === 'body';
  const parameters: Json[] = route.params.map(({ field }) => ({
    name: field,
    in: 'path',
    required: true,
    schema: schemas[field] ?? {},
  }));
  for (const [header, { field }] of route.headers) {
    parameters.push({ name: header, in: 'header', required: false, schema: schemas[field] ?? {} });
  }
  if (binding.signed !== undefined) parameters.push(...signatureHeaders(binding.signed.required));
  if (!inBody) {
    for (const [name, { field }] of route.fields) {
      parameters.push({
        name,
        in: 'query',
        required: name === field && isRequired(operation, field) && !hasAlias(route, field),
        // A list is one comma-separated string.
        style: 'form',
        explode: false,
        schema: fieldSchema(name, field, schemas),
      });
    }
  }
  parameters.push({ $ref: '#/components/parameters/AgentId' });
  return {
    operationId: operationId(route),
    summary: operation.summary,
    tags: [operation.family],
    parameters,
    ...(inBody ? { requestBody: requestBody(route, schemas) } : {}),
    responses: responses(route),
  };
}

const signatureHeaders = (required: boolean): Json[] => [
  {
    name: 'X-SVC-Timestamp',
    in: 'header',
    required,
    description: 'Unix seconds; at most 300 s old and 60 s ahead.',
    schema: { type: 'string', pattern: '^[0-9]{1,12}$' },
  },
  {
    name: 'X-SVC-Signature',
    in: 'header',
    required,
    description:
      'HMAC-SHA-256 over `<timestamp>.<METHOD>.<pending_id>.<raw body>`, keyed with SHA-256 of the secret; good once.',
    schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
  },
];

function fieldSchema(name: string, field: string, schemas: Readonly<Record<string, Json>>): Json {
  const schema = schemas[field] ?? {};
  return name === field ? schema : { ...schema, description: `Another name of ${field}` };
}

function hasAlias(route: OperationRoute, field: string): boolean {
  return Object.values(route.binding.aliases ?? {}).includes(field);
}

/** An operation with several bindings has one id for each. */
function operationId({ operation, binding }: OperationRoute): string {
  const first = operation.http?.[0] === binding;
  return first ? operation.name : `${operation.name}_${binding.method.toLowerCase()}`;
}

function requestBody(route: OperationRoute, schemas: Readonly<Record<string, Json>>): Json {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [name, { field }] of route.fields) {
    properties[name] = fieldSchema(name, field, schemas);
    const mustBeGiven = route.binding.defaults?.[field] === undefined && isRequired(route.operation, field);
    if (name === field && mustBeGiven && !hasAlias(route, field)) required.push(name);
  }
  const { arrayBody, nested } = route.binding;
  if (nested !== undefined) properties[nested] = nestedSchema(properties, required);
  const object = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const schema =
    arrayBody === undefined ? object : { oneOf: [schemas[arrayBody] ?? { type: 'array' }, object] };
  return { required: route.bodyRequired, content: content(JSON_TYPE, schema) };
}

/** The member that may hold the optional fields instead of the body itself. */
function nestedSchema(fields: Readonly<Record<string, Json>>, required: readonly string[]): Json {
  const optional = Object.entries(fields).filter(([name]) => !required.includes(name));
  return {
    type: 'object',
    description: 'These fields in an object of their own',
    properties: Object.fromEntries(optional),
    additionalProperties: false,
  };
}

function responses({ operation, binding }: OperationRoute): Json {
  // A shaped answer has the form of its binding, which no schema declares.
  const schema = binding.shape === undefined ? toSchema(operation.output, 'output') : { type: 'object' };
  const rendered =
    hasFormats(operation) && binding.omit?.includes('format') !== true
      ? { ...content(JSON_TYPE, schema), ...content('text/plain', { type: 'string' }) }
      : content(JSON_TYPE, schema);
  const status = typeof binding.status === 'function' ? '2XX' : String(binding.status ?? 200);
  return {
    [status]: { description: operation.summary, content: rendered },
    ...(operation.effect === 'write' && status !== '202' ? { 202: MISSED_RESPONSE } : {}),
    default: ERROR_RESPONSE,
  };
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  return json;
}
