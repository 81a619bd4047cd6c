import type { z } from 'zod';
import { API_PREFIX } from '../bindings/api-prefix.js';

/** The service's own name, as `/health` and the metrics show it. */
export const SERVICE = 'mnemesh';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Headers in addition to those that every answer has: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** What a route of the node itself answers with one status. */
export interface ServiceAnswer {
  readonly description: string;
  readonly contentType: string;
  /** What its JSON holds, under its name in the API description. */
  readonly schema?: { readonly name: string; readonly of: z.ZodType };
}

/** A route of the node itself that is not an operation and exists only on HTTP. */
export interface ServiceRoute {
  readonly kind: 'service';
  /** Label in the metrics. */
  readonly name: string;
  /** The bare path; the path under the API prefix is the same route. */
  readonly path: string;
  readonly summary: string;
  /** True when no API key is needed. */
  readonly open: boolean;
  /** True when it is answered even above the cap (interface §8, admission cap). */
  readonly always: boolean;
  readonly responses: Readonly<Record<string, ServiceAnswer>>;
  /** True for a part of another route, which the API description leaves out. */
  readonly undescribed?: true;
  /** True when it exists only under the API prefix. */
  readonly prefixed?: true;
  /** True when it exists only outside the API prefix. */
  readonly bare?: true;
  /** The agent is that of the header. */
  readonly reply: (agentId: string | null) => Reply | Promise<Reply>;
}

/** The paths of a service route, or of a stream. */
export const pathsOf = ({
  path,
  prefixed,
  bare,
}: Pick<ServiceRoute, 'path' | 'prefixed' | 'bare'>): readonly string[] => [
  ...(prefixed === true ? [] : [path]),
  ...(bare === true ? [] : [`${API_PREFIX}${path}`]),
];
