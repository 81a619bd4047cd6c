import { ERRORS } from '../../protocol/base/errors.js';
import type { Failure } from '../../protocol/base/result.js';
import type { McpRequest } from '../bindings/mcp-request.js';
import type { TokenGrant } from '../identity/http-caller.js';
import { EVENT_STREAM_TYPE } from './event-stream.js';
import { type Exchange, JSON_TYPE } from './exchange.js';
import type { ExtraHeaders } from './headers.js';
import { parseJsonBody } from './json-body.js';

/** Where clients reach MCP over HTTP; only here, as clients are configured with a whole address. */
export const MCP_PATH = '/mcp';

/** MCP over HTTP (streamable HTTP): requests come by POST, GET follows a session, DELETE ends it. */
export interface McpRoute {
  readonly kind: 'mcp';
  /** Label in the metrics. */
  readonly name: string;
  readonly answer: (request: McpRequest) => Promise<Response>;
}

/** Headers of an answer that this surface passes on; it writes the others itself. */
const PASSED: readonly string[] = ['mcp-session-id', 'allow'];

interface Given {
  readonly profile: string | null;
  readonly client: string | null;
  readonly body: Buffer | null;
  readonly grant: TokenGrant | undefined;
}

/** Answers a request of an MCP client. */
export async function converse(exchange: Exchange, route: McpRoute, given: Given): Promise<void> {
  const { method, headers } = exchange.request;
  if (method !== 'POST' && method !== 'GET' && method !== 'DELETE') {
    const message = `${method} is not allowed here`;
    return exchange.fail({ code: 'METHOD_NOT_ALLOWED', message }, ['allow', 'POST, GET, DELETE']);
  }
  const parsed = given.body === null || given.body.length === 0 ? null : parseJsonBody(given.body);
  if (parsed?.ok === false) return refuse(exchange, parsed.error);
  const { profile, client, grant } = given;
  let answered = () => {};
  const end = new Promise<void>((resolve) => {
    answered = resolve;
  });
  exchange.effective = method === 'POST';
  try {
    const message = parsed === null ? null : parsed.value;
    const response = await route.answer({ method, headers, profile, client, message, grant, answered: end });
    await write(exchange, response, method === 'POST');
  } finally {
    answered();
  }
}

async function write(exchange: Exchange, response: Response, answers: boolean): Promise<void> {
  const extra = PASSED.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [name, value];
  });
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith(EVENT_STREAM_TYPE) && response.body !== null) {
    await exchange.pipe(response.body, extra, { answers });
  } else exchange.send(response.status, type, await response.text(), extra as ExtraHeaders);
}

/** A body that is no message is answered as JSON-RPC asks, under no id. */
function refuse(exchange: Exchange, { code, message }: Failure): void {
  const { http, jsonRpc = -32600 } = ERRORS[code] as { readonly http: number; readonly jsonRpc?: number };
  const error = { code: jsonRpc, message, data: { error: message, code } };
  exchange.send(http, JSON_TYPE, JSON.stringify({ jsonrpc: '2.0', id: null, error }));
}
