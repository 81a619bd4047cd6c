import type { IncomingHttpHeaders } from 'node:http';
import { type Failure, fail, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { Claim } from '../identity/http-caller.js';
import { coerceText } from '../pipeline/coerce.js';
import type { FieldPlan, OperationRoute } from './operation-route.js';

/** The values of a request, as the surface read them. */
export interface Sources {
  readonly params: readonly string[];
  readonly query: ReadonlyMap<string, string>;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly headers: IncomingHttpHeaders;
}

export interface Collected {
  /** Values by field; only the existence of the fields is checked so far. */
  readonly input: Record<string, unknown>;
  /** The `agent_id` that names the caller, if it is not a filter. */
  readonly claim: Claim | null;
}

/** An error names at most this many unknown fields, each cut to this length. */
const NAMED_FIELDS_MAX = 16;
const NAMED_FIELD_LENGTH_MAX = 64;

/** The query parameter of the API key belongs to every route. */
const KEY_PARAMETER = 'api_key';
const AGENT_ID = 'agent_id';

/**
 * Collects the fields of an operation from the places that its binding names. UNKNOWN_FIELD names everything else that
 * was sent, including a field in the wrong place; VALIDATION_FAILED when a field comes twice, by two of its names.
 */
export function collectInput(route: OperationRoute, sources: Sources): Result<Collected> {
  const collector = new Collector(route);
  for (const [name, text] of sources.query) {
    if (name !== KEY_PARAMETER) collector.takeNamed('query', name, text);
  }
  if (sources.body !== null) {
    for (const name of Object.keys(sources.body)) {
      const value = sources.body[name];
      if (name === route.binding.nested) collector.takeNested(name, value);
      else collector.takeNamed('body', name, value);
    }
  }
  if (collector.unknown.length > 0) return failed(unknownFields(collector.unknown));
  const { noObject } = collector;
  if (noObject !== null)
    return fail('VALIDATION_FAILED', `${noObject}: must be an object`, { fields: [noObject] });

  if (isUncompared(route, sources.headers)) {
    const message = 'If-Match: this route compares no version, so nothing was changed; leave the header out';
    return fail('VALIDATION_FAILED', message, { fields: ['if-match'] });
  }
  for (const [header, plan] of route.headers) {
    const text = sources.headers[header];
    if (typeof text === 'string') collector.take(plan, textValue(route, plan, text));
  }
  for (let index = 0; index < route.params.length; index += 1) {
    const plan = route.params[index]!;
    collector.take(plan, textValue(route, plan, sources.params[index]!));
  }
  const { input, claim, twice } = collector;
  if (twice !== null) return fail('VALIDATION_FAILED', `${twice} is given twice`, { fields: [twice] });

  const { defaults } = route.binding;
  for (const field in defaults) {
    if (input[field] === undefined) input[field] = defaults[field];
  }
  return ok({ input, claim });
}

/** True for a write under a condition that nobody would check. */
const isUncompared = ({ operation, headers }: OperationRoute, sent: IncomingHttpHeaders): boolean =>
  sent['if-match'] !== undefined &&
  operation.effect === 'write' &&
  headers.every(([header]) => header !== 'if-match');

class Collector {
  readonly input: Record<string, unknown> = {};
  readonly unknown: string[] = [];
  claim: Claim | null = null;
  twice: string | null = null;
  /** A member that holds fields and is no object. */
  noObject: string | null = null;
  readonly #route: OperationRoute;

  constructor(route: OperationRoute) {
    this.#route = route;
  }

  takeNamed(source: 'query' | 'body', name: string, value: unknown): void {
    const route = this.#route;
    const inPlace = source === route.binding.fields;
    const plan = inPlace ? route.fields.get(name) : undefined;
    if (inPlace && route.claims && name === AGENT_ID) {
      const ofAny = route.binding.agentId === 'subject';
      if (value !== null) this.claim = { value, source, ofAny };
      if (plan === undefined) return;
    }
    if (plan === undefined) this.unknown.push(name);
    else this.take(plan, source === 'query' ? textValue(route, plan, value as string) : value);
  }

  /** Takes the fields of an object in the body. Who calls is said outside of it. */
  takeNested(member: string, fields: unknown): void {
    if (fields === null) return;
    if (typeof fields !== 'object' || Array.isArray(fields)) {
      this.noObject = member;
      return;
    }
    for (const [name, value] of Object.entries(fields)) {
      const plan = name === AGENT_ID ? undefined : this.#route.fields.get(name);
      if (plan === undefined) this.unknown.push(`${member}.${name}`);
      else this.take(plan, value);
    }
  }

  take(plan: FieldPlan, value: unknown): void {
    if (value === null && !plan.nullable) return;
    if (this.input[plan.field] !== undefined) this.twice = plan.field;
    this.input[plan.field] = value;
  }
}

function textValue(route: OperationRoute, plan: FieldPlan, text: string): unknown {
  return plan.coerced ? coerceText(route.operation, plan.field, text) : text;
}

function unknownFields(names: readonly string[]): Failure {
  const fields = names.slice(0, NAMED_FIELDS_MAX).map((name) => name.slice(0, NAMED_FIELD_LENGTH_MAX));
  const more = names.length > fields.length ? ` and ${names.length - fields.length} more` : '';
  return failure('UNKNOWN_FIELD', `unknown field: ${fields.join(', ')}${more}`, { fields });
}
