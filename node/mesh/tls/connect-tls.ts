import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { PEER_CONNECT_TIMEOUT_MS, PEER_KEEPALIVE_MS } from '../../../protocol/base/limits.js';
import type { Scheduler } from '../../../protocol/base/seams.js';

/** The other side has the wrong identity. */
export class UntrustedError extends Error {}

export interface ConnectOptions {
  /** `https://host[:port]` or `http://host[:port]`. */
  readonly url: string;
  /** Presented to the other side, PEM. */
  readonly client: { readonly cert: string; readonly key: string } | null;
  /** Authorities, PEM; null means the public ones. */
  readonly authorities: readonly string[] | null;
  /**
   * Returns why the other side is not trusted, or null; called once the handshake is done and before anything is sent.
   */
  readonly verify: (socket: TLSSocket) => string | null;
  readonly scheduler: Scheduler;
}

type Connected = (error: Error | null, socket: Socket | null) => void;

/**
 * Opens a connection to a peer within 2 s, and hands it over only when the other side is trusted. Calls `done` exactly
 * once.
 */
export function connectTo(options: ConnectOptions, done: Connected): void {
  const { protocol, hostname, port } = new URL(options.url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const secure = protocol === 'https:';
  const at = { host, port: port === '' ? (secure ? 443 : 80) : Number(port) };
  const socket = secure ? openSecure(options, at) : connectPlain(at);
  let told = false;
  const tell = (error: Error | null) => {
    if (told) return;
    told = true;
    timer.cancel();
    socket.off('error', tell);
    if (error === null) return done(null, socket);
    // Further errors on an abandoned connection are ignored.
    socket.on('error', () => undefined);
    socket.destroy();
    done(error, null);
  };
  const timer = options.scheduler.after(PEER_CONNECT_TIMEOUT_MS, () => {
    tell(
      Object.assign(new Error(`no connection within ${PEER_CONNECT_TIMEOUT_MS} ms`), { code: 'ETIMEDOUT' }),
    );
  });
  socket.on('error', tell);
  socket.once('close', () => tell(new Error('the other side closed the connection')));
  socket.setKeepAlive(true, PEER_KEEPALIVE_MS);
  socket.setNoDelay(true);
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    const problem = secure ? options.verify(socket as TLSSocket) : null;
    tell(problem === null ? null : new UntrustedError(problem));
  });
}

function openSecure({ client, authorities }: ConnectOptions, at: { host: string; port: number }): TLSSocket {
  return connect({
    ...at,
    ...(client ?? {}),
    ...(authorities === null ? {} : { ca: [...authorities] }),
    ...(isIP(at.host) === 0 ? { servername: at.host } : {}),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    // `verify` decides, and returns the reason.
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
}
