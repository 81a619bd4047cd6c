import { API_PREFIX } from '../bindings/operation-route.js';

/** The service's own name, as `/health` and the metrics carry it. */
export const SERVICE = 'mnemesh';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Beside those that every answer has: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** A route of the node itself, which is no operation: it exists on HTTP alone. */
export interface ServiceRoute {
  readonly kind: 'service';
  /** Label in the metrics. */
  readonly name: string;
  /** The bare path; the same path under the API prefix is the same route. */
  readonly path: string;
  readonly summary: string;
  /** Needs no API key. */
  readonly open: boolean;
  /** Answered however many requests are under way (interface §8, admission cap). */
  readonly always: boolean;
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly contentType: string }>
  >;
  /** Exists under the API prefix alone. */
  readonly prefixed?: true;
  readonly reply: () => Reply | Promise<Reply>;
}

/** The paths of a service route. */
export const pathsOf = ({ path, prefixed }: ServiceRoute): readonly string[] =>
  prefixed === true ? [`${API_PREFIX}${path}`] : [path, `${API_PREFIX}${path}`];
