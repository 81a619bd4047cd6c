import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ReceivedMessage } from '../../protocol/mesh/transport.js';
import type { Failure } from '../../protocol/result.js';
import type { Services } from '../pipeline/call.js';
import { keyGate } from './key-gate.js';
import type { TlsClient } from './listener-tls.js';

/** The one route of a surface that becomes a WebSocket. Who calls is judged by the route itself. */
export interface UpgradeRoute {
  /** Below the API prefix. */
  readonly path: string;
  /** Takes the connection over, or answers on it and ends it. */
  readonly take: (upgrade: Upgrade) => void;
}

/** A request to make a connection a WebSocket. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request. */
  readonly head: Buffer;
  readonly message: ReceivedMessage;
}

/** Why a connection may not become a WebSocket, as far as the surface can say; null where the route has the word. */
export function upgradeProblem(
  { method, headers }: ReceivedMessage,
  known: boolean,
  client: TlsClient | null,
  { settings, crypto, log }: Pick<Services, 'settings' | 'crypto' | 'log'>,
): Failure | null {
  if (!known || method !== 'GET')
    return { code: 'INVALID_REQUEST', message: 'nothing can be upgraded there' };
  if (client?.standing === 'guest') {
    return { code: 'FORBIDDEN', message: 'an invitation is good for joining alone' };
  }
  const keys = keyGate(settings.apiKey, crypto, log);
  if (client === null && keys.closed && keys.judge(headers['x-api-key'], undefined) !== 'right') {
    return { code: 'UNAUTHORIZED', message: 'missing or invalid API key' };
  }
  return null;
}
