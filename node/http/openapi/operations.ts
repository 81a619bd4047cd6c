import { type OperationRoute, operationRoutes } from '../../bindings/operation-route.js';
import { isRequired } from '../../pipeline/coerce.js';
import { hasFormats } from '../../pipeline/formatted-text.js';
import type { Operation } from '../../pipeline/operation.js';
import { JSON_TYPE } from '../exchange.js';
import {
  ACCEPTED,
  AGENT_ID,
  content,
  ENTITY_TAG,
  failures,
  IDEMPOTENCY,
  IF_NONE_MATCH,
  NOT_CHANGED,
} from './common.js';
import type { ComponentSchemas, Json } from './schemas.js';

/** The path below the API prefix, the method, and what is said of the route. */
export interface Described {
  readonly path: string;
  readonly method: string;
  readonly item: Json;
}

/**
 * Describes the routes of operations. Aliases are described with the field that they name; a required field is required by
 * its own name, so that generated clients demand it.
 */
export function describeOperations(
  operations: readonly Operation[],
  schemas: ComponentSchemas,
): readonly Described[] {
  return operationRoutes(operations).map((route) => ({
    path: route.binding.path,
    method: route.binding.method.toLowerCase(),
    item: describeOperation(route, schemas),
  }));
}

function describeOperation(route: OperationRoute, schemas: ComponentSchemas): Json {
  const { operation, binding } = route;
  const fields = schemas.fieldsOf(operation.input, 'input');
  const inBody = binding.fields === 'body';
  const parameters: Json[] = route.params.map(({ field }) => ({
    name: field,
    in: 'path',
    required: true,
    schema: fields[field] ?? {},
  }));
  for (const [header, { field }] of route.headers) {
    parameters.push({
      name: header,
      in: 'header',
      required: false,
      schema: headerSchema(fields[field] ?? {}),
    });
  }
  if (binding.signed !== undefined) parameters.push(...signatureHeaders(binding.signed.required));
  if (!inBody) {
    for (const [name, { field }] of route.fields) {
      parameters.push({
        name,
        in: 'query',
        required: name === field && isRequired(operation, field),
        // A list is one comma-separated string.
        style: 'form',
        explode: false,
        schema: fieldSchema(name, field, fields),
      });
    }
  }
  if (hasTag(route)) parameters.push(IF_NONE_MATCH);
  if (operation.repeatable !== undefined) parameters.push(IDEMPOTENCY);
  parameters.push(AGENT_ID);
  return {
    operationId: operationId(route),
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [operation.family],
    parameters,
    ...(inBody ? { requestBody: requestBody(route, fields, schemas) } : {}),
    responses: responses(route, schemas),
  };
}

/** True for a route whose answers have entity tags. */
const hasTag = ({ binding }: OperationRoute) => binding.method === 'GET' && binding.tag !== 'none';

/** What a caller has to know beside the summary. */
function descriptionOf({ summary, effect, guards, http }: Operation): string {
  const said = [summary];
  if (effect === 'write')
    said.push(
      'It changes what is stored. `secrets_found` names secrets in what was sent, where some were found.',
    );
  if (guards.admin === true) said.push('Only an admin may call it.');
  if (guards.attestation === 'required')
    said.push('Without a signature it is refused where the node requires one.');
  if (http?.some(({ signed }) => signed?.required === true) === true)
    said.push('The request itself is signed.');
  return said.join(' ');
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

/** A header is text, whatever else its field takes elsewhere. */
function headerSchema({ description, type, anyOf = [], enum: words, pattern }: HeaderField): Json {
  const text = anyOf.find((choice) => choice.type === 'string') ?? { pattern };
  const isText = [type].flat().includes('string');
  return {
    type: 'string',
    ...(description === undefined ? {} : { description }),
    ...(text.pattern === undefined ? {} : { pattern: text.pattern }),
    ...(isText && words !== undefined ? { enum: words } : {}),
  };
}

interface HeaderField {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly HeaderField[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
}

function fieldSchema(name: string, field: string, fields: Readonly<Record<string, Json>>): Json {
  const schema = fields[field] ?? {};
  return name === field ? schema : { ...schema, description: `Another name of ${field}` };
}

/** An operation with several bindings has one id for each. */
function operationId({ operation, binding }: OperationRoute): string {
  const first = operation.http?.[0] === binding;
  return first ? operation.name : `${operation.name}_${binding.method.toLowerCase()}`;
}

/** `memory_store` is `MemoryStore` in the names of its schemas. */
const pascal = (name: string): string =>
  name
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');

/** The schema under the name of the operation, or of the route where another route of it has another schema. */
function namedFor(route: OperationRoute, what: string, schema: Json, schemas: ComponentSchemas): Json {
  if (schema['$ref'] !== undefined) return schema;
  const name = `${pascal(route.operation.name)}${what}`;
  return schemas.add(schemas.has(name, schema) ? name : `${pascal(operationId(route))}${what}`, schema);
}

function requestBody(
  route: OperationRoute,
  fields: Readonly<Record<string, Json>>,
  schemas: ComponentSchemas,
): Json {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [name, { field }] of route.fields) {
    properties[name] = withoutDefaults(fieldSchema(name, field, fields)) as Json;
    const mustBeGiven = route.binding.defaults?.[field] === undefined && isRequired(route.operation, field);
    if (name === field && mustBeGiven) required.push(name);
  }
  const { arrayBody, nested } = route.binding;
  if (nested !== undefined) properties[nested] = nestedSchema(properties, required);
  const object = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const named = namedFor(route, 'Input', object, schemas);
  const schema = arrayBody === undefined ? named : { oneOf: [fields[arrayBody] ?? { type: 'array' }, named] };
  return { required: route.bodyRequired, content: content(JSON_TYPE, schema) };
}

const mapped = (object: Json, change: (member: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([key, member]) => [key, change(member, key)]));

/** Defaults in words: generators take a member of a body that has one for required. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (typeof value !== 'object' || value === null) return value;
  const { default: fallback, ...schema } = value as Json;
  const bare = mapped(schema, (member, key) =>
    // Its keys are names of fields, and one may be called "default".
    key === 'properties' ? mapped(member as Json, withoutDefaults) : withoutDefaults(member),
  );
  if (fallback === undefined) return bare;
  const said = `${JSON.stringify(fallback)} unless given`;
  const { description } = bare as { description?: string };
  return { ...bare, description: description === undefined ? said : `${description}; ${said}` };
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

/** What each status below 300 means. */
const MEANINGS: Readonly<Record<number, string>> = {
  200: 'Done',
  201: 'Stored',
  202: 'Counted, and not yet decided; or done here, but so far on fewer nodes than required',
};

function responses(route: OperationRoute, schemas: ComponentSchemas): Json {
  const { operation, binding } = route;
  const answer = namedFor(route, 'Answer', schemas.of(binding.output ?? operation.output, 'output'), schemas);
  const rendered =
    hasFormats(operation) && binding.omit?.includes('format') !== true
      ? { ...content(JSON_TYPE, answer), ...content('text/plain', { type: 'string' }) }
      : content(JSON_TYPE, answer);
  const { status = 200 } = binding;
  const statuses = typeof status === 'number' ? [status] : status.among;
  const described = statuses.map((one) => [
    one,
    {
      description: MEANINGS[one]!,
      ...(hasTag(route) ? { headers: { ETag: ENTITY_TAG } } : {}),
      content: rendered,
    },
  ]);
  return {
    ...Object.fromEntries(described),
    ...(hasTag(route) ? { 304: NOT_CHANGED } : {}),
    ...(operation.effect === 'write' && !statuses.includes(202) ? { 202: ACCEPTED } : {}),
    ...failures({ named: route.params.length > 0 }),
  };
}
