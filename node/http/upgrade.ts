import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Failure } from '../../protocol/base/result.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import type { Services } from '../pipeline/call.js';
import { keyGate } from './key-gate.js';
import type { TlsClient } from './listener-tls.js';

/** The one route of a surface that becomes a WebSocket. The route itself checks the caller. */
export interface UpgradeRoute {
  /** Below the API prefix. */
  readonly path: string;
  /** Takes over the connection, or answers on it and closes it. */
  readonly take: (upgrade: Upgrade) => void;
}

/** A request to turn a connection into a WebSocket. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that followed the request. */
  readonly head: Buffer;
  readonly message: ReceivedMessage;
}

/** Why the surface refuses to turn a connection into a WebSocket; null when the route decides. */
export function upgradeProblem(
  { method, headers }: ReceivedMessage,
  known: boolean,
  client: TlsClient | null,
  { settings, crypto, log }: Pick<Services, 'settings' | 'crypto' | 'log'>,
): Failure | null {
  if (!known || method !== 'GET')
    return { code: 'INVALID_REQUEST', message: 'this path does not accept an upgrade' };
  if (client?.role === 'guest') {
    return { code: 'FORBIDDEN', message: 'an invitation can only be used to join' };
  }
  const keys = keyGate(settings.apiKey, crypto, log);
  if (client === null && keys.closed && keys.check(headers, undefined) !== 'right') {
    return { code: 'UNAUTHORIZED', message: 'missing or invalid API key' };
  }
  return null;
}
