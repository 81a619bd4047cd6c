import { hasFormats } from '../pipeline/formatted-text.js';
import type { HttpBinding, Operation } from '../pipeline/operation.js';
import type { Repeatable } from '../pipeline/repeatable.js';

/** How the client calls an operation: what its HTTP binding says, as plain data. */
export interface ClientRoute {
  readonly name: string;
  readonly effect: 'read' | 'write';
  readonly method: HttpBinding['method'];
  readonly path: string;
  readonly fields: 'query' | 'body';
  /** Field to header. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The write may run again under the key of the call. */
  readonly repeatable?: Repeatable;
  /** The decision is signed with the secret of the node. */
  readonly decision?: NonNullable<HttpBinding['signed']>;
  /** Its input is a memory that its author signs, or has a list of them. */
  readonly signs?: 'memory' | 'memories';
  /** Its answer has other forms than JSON. */
  readonly formats?: true;
}

/** The binding that the client uses: of several the first whose fields travel in a body, which no address bounds. */
export const clientBinding = ({ http = [] }: Operation): HttpBinding | undefined =>
  http.find(({ fields }) => fields === 'body') ?? http[0];

/** The route of an operation; null for one that HTTP does not offer. */
export function clientRoute(operation: Operation): ClientRoute | null {
  const binding = clientBinding(operation);
  if (binding === undefined) return null;
  const { name, effect, repeatable, guards, input } = operation;
  const { method, path, fields, signed } = binding;
  const headers = Object.entries(binding.headers ?? {}).map(([header, field]) => [field, header]);
  const hasRows = operation.ofRows === true && Object.hasOwn(input.shape, 'memories');
  const signs = guards.attestation === 'required' ? 'memory' : hasRows ? 'memories' : undefined;
  return {
    ...{ name, effect, method, path, fields },
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(repeatable === undefined ? {} : { repeatable }),
    ...(signed === undefined ? {} : { decision: signed }),
    ...(signs === undefined ? {} : { signs }),
    ...(hasFormats(operation) && binding.omit?.includes('format') !== true ? { formats: true } : {}),
  };
}
