import type { Exchange } from './exchange.js';
import type { ExtraHeaders } from './headers.js';

/**
 * Decides which other sites' pages may use this node: only those that the operator lists (interface §4 allows no page).
 */
export interface Cors {
  /** True when a page of this origin may read answers. */
  allows(origin: string | undefined): origin is string;
  /** Headers of an answer to a page of that origin. */
  headers(origin: string | undefined): ExtraHeaders;
  /** Answers a preflight of a path with these methods; false when the request is not a preflight. */
  preflight(exchange: Exchange, methods: string): boolean;
}

const NONE: ExtraHeaders = [];
const REQUEST_HEADERS =
  'content-type, x-api-key, authorization, x-agent-id, if-match, if-none-match, idempotency-key, accept-capabilities, accept-provenance, last-event-id, mcp-session-id, mcp-protocol-version, x-svc-timestamp, x-svc-signature';
/** Headers of an answer that pages may read, beyond those that every page may. */
const EXPOSED_HEADERS = 'etag, retry-after, mcp-session-id';
const PREFLIGHT_SECONDS = '600';

/** Origins are compared as a whole. There is no wildcard, because any page could then use the API key. */
export function corsOf(origins: readonly string[]): Cors {
  const listed = new Set(origins);
  const allows = (origin: string | undefined): origin is string =>
    origin !== undefined && listed.size > 0 && listed.has(origin);
  const headers = (origin: string | undefined): ExtraHeaders =>
    allows(origin)
      ? ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED_HEADERS]
      : NONE;
  return {
    allows,
    headers,
    preflight(exchange, methods) {
      const { method, headers: asked } = exchange.request;
      if (method !== 'OPTIONS' || asked['access-control-request-method'] === undefined) return false;
      if (allows(asked.origin)) {
        exchange.send(204, '', '', [
          'access-control-allow-methods',
          methods,
          'access-control-allow-headers',
          REQUEST_HEADERS,
          'access-control-max-age',
          PREFLIGHT_SECONDS,
        ]);
      } else {
        exchange.fail({
          code: 'FORBIDDEN',
          message:
            'pages of other sites may not use this node: their origin is not listed in [http] cors_origins',
        });
      }
      return true;
    },
  };
}
