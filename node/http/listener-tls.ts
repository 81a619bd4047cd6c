import { constants } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { PEER_SERVER_IDLE_MS, TLS_HANDSHAKE_MS } from '../../protocol/limits.js';
import type { Crypto, Log } from '../../protocol/seams.js';

const REFUSALS_WARNED_MAX = 20;

/** What a listener needs to speak TLS. */
export interface ListenerTls {
  /** Certificate chain and private key in force, PEM; they match. */
  readonly certificate: {
    current(): { readonly cert: string; readonly key: string };
    /** Calls back when another certificate is in force; returns a function that stops this. */
    onChange(listener: () => void): () => void;
  };
  /** Checks the certificate that every client must present; null when none is required. */
  readonly clients: ClientGate | null;
}

/** `peer` may call the routes of peers, `guest` holds an open invitation and may only join; null is refused. */
export type Standing = 'peer' | 'guest' | null;

/** Decides who may open a connection. */
export interface ClientGate {
  /** The role of a certificate (DER) with this SHA-256 in lower-case hex. */
  judge(certificate: Uint8Array, fingerprint: string): Standing;
  /** Calls back when roles may have changed; returns a function that stops this. */
  onChange(listener: () => void): () => void;
}

/** The client of a connection whose certificate was checked. */
export interface TlsClient {
  readonly fingerprint: string;
  readonly standing: 'peer' | 'guest';
}

export interface TlsServer {
  readonly server: Server;
  /** Null when no certificates are required. */
  clientOf(socket: object): TlsClient | null;
  /** Stops following changes. */
  release(): void;
}

/**
 * An HTTPS server that follows its certificate and its gate. A connection whose client certificate is not admitted ends
 * before any of its bytes reach HTTP, and connections end when their client is no longer admitted (interface §5.2).
 */
export function createTlsServer(
  options: ServerOptions,
  tls: ListenerTls,
  { crypto, log }: { readonly crypto: Crypto; readonly log: Log },
): TlsServer {
  const { clients, certificate } = tls;
  const context = () => ({
    ...certificate.current(),
    // A client certificate is requested only once, so a connection never changes its client.
    minVersion: clients === null ? ('TLSv1.2' as const) : ('TLSv1.3' as const),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
  });
  const server = createServer({
    ...options,
    ...context(),
    ...(clients === null ? {} : { keepAliveTimeout: PEER_SERVER_IDLE_MS }),
    handshakeTimeout: TLS_HANDSHAKE_MS,
    ALPNProtocols: ['http/1.1'],
    requestCert: clients !== null,
    // The list decides, not the signer of the certificate.
    rejectUnauthorized: false,
  });
  let refused = 0;
  const known = new Map<TLSSocket, { readonly certificate: Uint8Array; client: TlsClient }>();
  const admit = (socket: TLSSocket): boolean => {
    if (clients === null) return true;
    const der = socket.getPeerX509Certificate()?.raw;
    if (der === undefined) return false;
    const fingerprint = crypto.sha256Hex(der);
    const standing = clients.judge(der, fingerprint);
    if (standing === null) {
      // A stranger that tries again and again must not fill the log.
      refused += 1;
      log[refused <= REFUSALS_WARNED_MAX ? 'warn' : 'debug'](
        { code: 'CLIENT_NOT_ADMITTED', fingerprint },
        'a client was refused: its certificate is not on any list',
      );
      return false;
    }
    known.set(socket, { certificate: der, client: { fingerprint, standing } });
    socket.once('close', () => known.delete(socket));
    return true;
  };
  // HTTP is served only on admitted connections.
  const serve = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (!admit(socket)) socket.destroy();
    else for (const each of serve) each.call(server, socket);
  });
  server.on('tlsClientError', (error, socket) => {
    log.debug({ code: (error as NodeJS.ErrnoException).code }, 'a TLS handshake failed');
    socket.destroy();
  });
  const stops = [
    certificate.onChange(() => server.setSecureContext(context())),
    clients?.onChange(() => {
      for (const [socket, entry] of known) {
        const standing = clients.judge(entry.certificate, entry.client.fingerprint);
        if (standing === null) socket.destroy();
        else entry.client = { ...entry.client, standing };
      }
    }),
  ];
  return {
    server,
    clientOf: (socket) => known.get(socket as TLSSocket)?.client ?? null,
    release: () => {
      for (const stop of stops) stop?.();
    },
  };
}
