import { z } from 'zod';
import { API_PREFIX } from '../../node/bindings/api-prefix.js';
import { type OperationRoute, operationRoutes } from '../../node/bindings/operation-route.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Dice } from './dice.js';
import { mutate } from './mutate.js';
import type { FieldSchema, Values } from './values.js';

/** A request as bytes, with what its sender knows about it. */
export interface FuzzRequest {
  readonly bytes: Buffer;
  /** A line for people. */
  readonly label: string;
  /** A whole HTTP message that must have an answer; a mutated one need not be. */
  readonly whole: boolean;
  /** Asks by HEAD, so that the answer has no body. */
  readonly head: boolean;
}

const ROUTES = operationRoutes(OPERATIONS);
const SERVICE_PATHS = [
  '/health',
  '/metrics',
  '/openapi.json',
  '/api/v1/health',
  '/api/v1/tools/list',
  '/',
  '/nowhere',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'];
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/vnd.x+json',
  'text/plain',
  'application/json; charset=latin1',
  'multipart/form-data; boundary=x',
  '',
  ';;;',
];
const HEADER_GARBAGE: readonly (readonly [string, string])[] = [
  ['x-agent-id', 'a b'],
  ['x-agent-id', '../x'],
  ['x-agent-id', 'daemon'],
  ['x-agent-id', 'x'.repeat(129)],
  ['x-agent-id', 'caf\u00e9'],
  ['x-api-key', 'guess'],
  ['accept-encoding', 'gzip'],
  ['accept-encoding', '*;q=0, gzip;;q=,'],
  ['accept-capabilities', 'v1'],
  ['accept-capabilities', '\u00ff\u00fe'],
  ['if-match', '"3"'],
  ['if-match', 'W/"x", *'],
  ['if-match', '9'.repeat(40)],
  ['origin', 'https://evil.example'],
  ['origin', 'null'],
  ['host', 'evil.example'],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'br, gzip'],
  ['expect', '100-continue'],
  ['expect', 'tea'],
  ['access-control-request-method', 'PUT'],
  ['x-forwarded-for', '10.0.0.1'],
  ['cookie', 'a=b; c'.repeat(50)],
  ['x-long', 'v'.repeat(8000)],
  ['range', 'bytes=0-1'],
  ['transfer-encoding', 'identity'],
];
const ODD_BODIES = [
  '',
  ' ',
  'null',
  '7',
  '"x"',
  '[]',
  '[[[[',
  '{}',
  '{"a":',
  '{} {}',
  '\ufeff{}',
  '{"a":1,"a":2}',
];

const schemas = new Map<string, Readonly<Record<string, FieldSchema>>>();

function fieldsOf({ operation }: OperationRoute): Readonly<Record<string, FieldSchema>> {
  let known = schemas.get(operation.name);
  if (known === undefined) {
    const json = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
    known = (json.properties ?? {}) as Record<string, FieldSchema>;
    schemas.set(operation.name, known);
  }
  return known;
}

/** Draws a request for any route that the node has: mostly sensible, often slightly wrong, sometimes broken. */
export function drawRequest(dice: Dice, values: Values): FuzzRequest {
  const request = dice.chance(0.95) ? operationRequest(dice, values) : servicePage(dice);
  if (!dice.chance(0.2)) return request;
  return { ...request, bytes: mutate(request.bytes, dice), label: `mutated ${request.label}`, whole: false };
}

function servicePage(dice: Dice): FuzzRequest {
  const path = dice.pick(SERVICE_PATHS);
  return assemble(dice.chance(0.8) ? 'GET' : dice.pick(METHODS), path, new Map(), null, dice);
}

function operationRequest(dice: Dice, values: Values): FuzzRequest {
  const route = dice.pick(ROUTES);
  values.careful = dice.chance(0.5);
  const { binding } = route;
  const schema = fieldsOf(route);
  const draw = (field: string) => values.field(field, schema[field] ?? {});
  const path = binding.path.replace(/\{(\w+)\}/g, (_, field: string) => pathPart(draw(field), dice));
  const given: Record<string, unknown> = {};
  for (const [name, plan] of route.fields) {
    const required = name === plan.field && isRequired(route, plan.field);
    if (dice.chance(required ? (values.careful ? 1 : 0.93) : 0.2)) given[name] = draw(plan.field);
  }
  if (dice.chance(0.04))
    given[dice.pick(['nonsense', '__proto__x', 'toString', '', 'agent_id'])] = values.anything(2);
  const headers = new Map<string, string>();
  for (const [header, plan] of route.headers) {
    if (dice.chance(0.3)) headers.set(header, headerText(draw(plan.field)));
  }
  const method = dice.chance(0.97) ? binding.method : dice.pick(METHODS);
  const inBody = dice.chance(0.98) ? binding.fields === 'body' : dice.chance(0.5);
  if (!inBody) return assemble(method, `${API_PREFIX}${path}${queryOf(given, dice)}`, headers, null, dice);
  return assemble(method, `${API_PREFIX}${path}`, headers, bodyOf(given, dice), dice);
}

function isRequired({ operation }: OperationRoute, field: string): boolean {
  const schema = operation.input.shape[field] as { safeParse(value: unknown): { success: boolean } };
  return !schema.safeParse(undefined).success;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
const headerText = (value: unknown) =>
  textOf(value)
    .slice(0, 2000)
    .replace(/[\r\n\0]/g, ' ');

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).slice(0, 3000).replace(/%.?$/, '');
}

function pathPart(value: unknown, dice: Dice): string {
  if (dice.chance(0.03)) return dice.pick(['..', '%2e%2e', '%ff', '%', '%00', 'a%2Fb', '', '.', '%zz']);
  return encoded(textOf(value));
}

function queryOf(given: Record<string, unknown>, dice: Dice): string {
  const pairs = Object.entries(given).map(
    ([name, value]) => `${encoded(name)}=${encoded(Array.isArray(value) ? value.join(',') : textOf(value))}`,
  );
  if (dice.chance(0.03) && pairs.length > 0) pairs.push(pairs[0]!);
  if (dice.chance(0.03))
    pairs.push(dice.pick(['%ff=1', '=', '&&', 'a=%', 'api_key=x', '%E0%A4=1', 'limit=1;x']));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function bodyOf(given: Record<string, unknown>, dice: Dice): Buffer {
  if (dice.chance(0.03)) return Buffer.from(dice.pick(ODD_BODIES));
  if (dice.chance(0.004)) return Buffer.alloc(2 * 1024 * 1024 + dice.below(3), 0x20);
  const text = JSON.stringify(given);
  if (dice.chance(0.03)) return Buffer.from(text, dice.pick(['utf16le', 'latin1']));
  return Buffer.from(text);
}

function assemble(
  method: string,
  target: string,
  headers: Map<string, string>,
  body: Buffer | null,
  dice: Dice,
): FuzzRequest {
  const lines = [`${method} ${target} HTTP/1.1`];
  if (dice.chance(0.1)) lines.push('Connection: close');
  if (dice.chance(0.6)) headers.set('x-agent-id', dice.pick(['ai:alice', 'ai:bob', 'ai:root']));
  if (body !== null)
    headers.set('content-type', dice.chance(0.95) ? CONTENT_TYPES[0]! : dice.pick(CONTENT_TYPES));
  const odd = dice.chance(0.12) ? dice.pick(HEADER_GARBAGE) : null;
  if (odd?.[0] !== 'host') lines.push('Host: 127.0.0.1');
  if (odd !== null) headers.set(...odd);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const chunked = body !== null && odd?.[0] !== 'transfer-encoding' && dice.chance(0.05);
  if (chunked) lines.push('Transfer-Encoding: chunked');
  else if (body !== null) lines.push(`Content-Length: ${body.length}`);
  // Header values travel as single bytes.
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const payload = body === null ? [] : chunked ? chunks(body) : [body];
  return {
    bytes: Buffer.concat([head, ...payload]),
    label: `${method} ${target.slice(0, 120)}`,
    whole: true,
    head: method === 'HEAD',
  };
}

function chunks(body: Buffer): Buffer[] {
  const first = body.subarray(0, 3);
  const rest = body.subarray(3);
  const chunk = (part: Buffer) =>
    part.length === 0
      ? Buffer.alloc(0)
      : Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
  return [chunk(first), chunk(rest), Buffer.from('0\r\n\r\n')];
}
