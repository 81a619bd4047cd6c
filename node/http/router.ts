/** The result of routing a request line. */
export type Found<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: readonly string[] }
  | { readonly kind: 'wrong-method'; readonly allow: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'none' };

interface Endpoint<T> {
  readonly methods: Map<string, T>;
  allow: string;
}

interface Node<T> {
  readonly children: Map<string, Node<T>>;
  param: Node<T> | null;
  endpoint: Endpoint<T> | null;
}

const NO_PARAMS: readonly string[] = [];
const newNode = <T>(): Node<T> => ({ children: new Map(), param: null, endpoint: null });

/**
 * A route map, built once. Paths without parameters are one look-up; the others walk a tree of segments in which an
 * exact segment wins over a `{name}`. Values of parameters are percent-decoded, in the order of the path.
 */
export class Router<T> {
  readonly #exact = new Map<string, Endpoint<T>>();
  readonly #root = newNode<T>();

  /** Adds a route; a GET route answers HEAD too. A second route for the same method and path is a bug. */
  add(method: string, path: string, route: T): void {
    const segments = path.slice(1).split('/');
    let node = this.#root;
    for (const segment of segments) node = isParam(segment) ? paramOf(node) : childOf(node, segment);
    node.endpoint ??= { methods: new Map(), allow: '' };
    const { endpoint } = node;
    if (endpoint.methods.has(method)) throw new Error(`two routes for ${method} ${path}`);
    endpoint.methods.set(method, route);
    if (method === 'GET') endpoint.methods.set('HEAD', route);
    endpoint.allow = [...endpoint.methods.keys()].join(', ');
    if (!segments.some(isParam)) this.#exact.set(path, endpoint);
  }

  /** Finds the route of a path, as it is in the request line, without its query. */
  find(method: string, path: string): Found<T> {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return choose(exact, method, NO_PARAMS);
    const segments = path.slice(1).split('/');
    for (let index = 0; index < segments.length; index += 1) {
      const segment = segments[index]!;
      if (!segment.includes('%')) continue;
      const decoded = decode(segment);
      if (decoded === null) return { kind: 'malformed' };
      segments[index] = decoded;
    }
    const params: string[] = [];
    const endpoint = walk(this.#root, segments, 0, params);
    return endpoint === null ? { kind: 'none' } : choose(endpoint, method, params);
  }
}

const isParam = (segment: string) => segment.startsWith('{');

function paramOf<T>(node: Node<T>): Node<T> {
  node.param ??= newNode();
  return node.param;
}

function childOf<T>(node: Node<T>, segment: string): Node<T> {
  let child = node.children.get(segment);
  if (child === undefined) {
    child = newNode();
    node.children.set(segment, child);
  }
  return child;
}

function choose<T>(endpoint: Endpoint<T>, method: string, params: readonly string[]): Found<T> {
  const route = endpoint.methods.get(method);
  return route === undefined
    ? { kind: 'wrong-method', allow: endpoint.allow }
    : { kind: 'route', route, params };
}

function walk<T>(
  node: Node<T>,
  segments: readonly string[],
  at: number,
  params: string[],
): Endpoint<T> | null {
  if (at === segments.length) return node.endpoint;
  const segment = segments[at]!;
  const child = node.children.get(segment);
  if (child !== undefined) {
    const found = walk(child, segments, at + 1, params);
    if (found !== null) return found;
  }
  if (node.param === null || segment === '') return null;
  params.push(segment);
  const found = walk(node.param, segments, at + 1, params);
  if (found === null) params.pop();
  return found;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
