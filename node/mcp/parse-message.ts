import {
  type JSONRPCMessage,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from './rpc-error.js';

/** The content of a line: a message, a refusal to send, or nothing to answer. */
export type Parsed =
  | { readonly kind: 'message'; readonly message: JSONRPCMessage }
  | {
      readonly kind: 'refusal';
      readonly id: RequestId | null;
      readonly code: number;
      readonly message: string;
    }
  | { readonly kind: 'nothing' };

const NOTHING: Parsed = { kind: 'nothing' };

const refusal = (id: RequestId | null, code: number, message: string): Parsed => ({
  kind: 'refusal',
  id,
  code,
  message,
});

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads one line (reference-mcp-cli §5.1). A message without an id, or with a null one, is a notification and is
 * never answered; neither is a response, since this server sends no requests.
 */
export function parseMessage(line: Uint8Array): Parsed {
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return refusal(null, PARSE_ERROR, 'the line is not valid UTF-8');
  }
  if (text.trim() === '') return NOTHING;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refusal(null, PARSE_ERROR, 'the line is not valid JSON');
  }
  return parseRequest(value);
}

function parseRequest(value: unknown): Parsed {
  if (Array.isArray(value)) return refusal(null, INVALID_REQUEST, 'batches are not supported');
  if (typeof value !== 'object' || value === null) {
    return refusal(null, INVALID_REQUEST, 'a request must be an object');
  }
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  const answerTo = isRequestId(id) ? id : null;
  if (jsonrpc !== '2.0') return refusal(answerTo, INVALID_REQUEST, 'jsonrpc must be "2.0"');
  if (method === undefined && ('result' in value || 'error' in value)) return NOTHING;
  if (typeof method !== 'string') return refusal(answerTo, INVALID_REQUEST, 'method must be a string');
  // Members that the protocol does not define are removed, because the SDK would drop the whole message.
  const given = params === undefined || params === null ? {} : { params };
  if (id === undefined || id === null) {
    const notification = JSONRPCNotificationSchema.safeParse({ jsonrpc, method, ...given });
    return notification.success ? { kind: 'message', message: notification.data } : NOTHING;
  }
  if (answerTo === null) {
    return refusal(null, INVALID_REQUEST, 'id must be a string or an integer');
  }
  // The schema looks at nothing else of a request; it is most of the cost of reading one.
  if (isPlain(params) && params['_meta'] === undefined)
    return { kind: 'message', message: { jsonrpc, id: answerTo, method, params } };
  const request = JSONRPCRequestSchema.safeParse({ jsonrpc, id, method, ...given });
  if (request.success) return { kind: 'message', message: request.data };
  return refusal(answerTo, INVALID_PARAMS, 'params must be an object with valid metadata');
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}
