import type { IncomingMessage } from 'node:http';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import type { Exchange } from './exchange.js';
import type { TlsClient } from './listener-tls.js';

/** The message that a request carries. A repeated header has the form in which Node joins it. */
export function messageOf(
  exchange: Exchange,
  body: Buffer | null,
  client: TlsClient | null,
): ReceivedMessage {
  return messageFrom(exchange.request, body, client);
}

/** The same for a request without an exchange. */
export function messageFrom(
  { method, url = '/', headers }: IncomingMessage,
  body: Buffer | null,
  client: TlsClient | null,
): ReceivedMessage {
  const mark = url.indexOf('?');
  const single = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return {
    method: method === 'POST' ? 'POST' : 'GET',
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    headers: Object.fromEntries(single) as ReceivedMessage['headers'],
    body: body ?? new Uint8Array(0),
    fingerprint: client?.fingerprint ?? null,
  };
}
