import { API_PREFIX } from '../bindings/api-prefix.js';
import { refused } from './client-error.js';
import type { ClientRoute } from './routes.js';

export type Input = Readonly<Record<string, unknown>>;

/** A request of an operation, without what every request has. */
export interface ClientRequest {
  readonly method: string;
  /** Below the address of the node, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Puts each field where the route takes it. Throws MnemeshError where one of the path is missing. */
export function requestOf(route: ClientRoute, input: Input): ClientRequest {
  const left = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const take = (field: string): unknown => {
    const value = left.get(field);
    left.delete(field);
    return value;
  };
  const path = route.path.replace(/\{(\w+)\}/g, (_whole, field: string) => {
    const value = take(field);
    if (value === undefined || value === null || value === '')
      throw refused(`${route.name} needs ${field}`, [field]);
    const text = String(value);
    if (!text.isWellFormed()) throw refused(`${field} is no valid Unicode text`, [field]);
    return encodeURIComponent(text);
  });
  const headers: Record<string, string> = {};
  for (const [field, header] of Object.entries(route.headers ?? {})) {
    const value = take(field);
    if (value !== undefined && value !== null) headers[header] = textOf(value);
  }
  const hasBody = route.fields === 'body';
  return {
    method: route.method,
    path: `${API_PREFIX}${path}${hasBody ? '' : queryOf(left)}`,
    headers: hasBody ? { ...headers, 'content-type': 'application/json' } : headers,
    body: hasBody ? jsonOf(route, Object.fromEntries(left)) : null,
  };
}

/** Throws MnemeshError for what JSON cannot say: a circle, or a bigint. */
function jsonOf({ name }: ClientRoute, input: Input): string {
  try {
    return JSON.stringify(input);
  } catch (error) {
    throw refused(`the input of ${name} is no JSON: ${(error as Error).message}`, []);
  }
}

/** Lists and objects are JSON, so that a comma in a value is no separator. */
const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

function queryOf(fields: ReadonlyMap<string, unknown>): string {
  const given = [...fields].filter(([, value]) => value !== null);
  if (given.length === 0) return '';
  const pairs = given.map(([name, value]) => [name, textOf(value)] as const);
  return `?${new URLSearchParams(Object.fromEntries(pairs))}`;
}
