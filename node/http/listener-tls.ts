import { constants } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { PEER_SERVER_IDLE_MS, TLS_HANDSHAKE_MS } from '../../protocol/base/limits.js';
import type { Crypto, Log } from '../../protocol/base/seams.js';

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

/**
 * `peer` may call the routes of peers; `guest` holds an open invitation and may only join, or was a peer and may only hear
 * that it was removed; null is refused.
 */
export type CertificateRole = 'peer' | 'guest' | null;

/** Decides who may open a connection. */
export interface ClientGate {
  /** The role of a certificate (DER) with this SHA-256 in lower-case hex. */
  roleOf(certificate: Uint8Array, fingerprint: string): CertificateRole;
  /** Calls back when roles may have changed; returns a function that stops this. */
  onChange(listener: () => void): () => void;
}

/** The client of a connection whose certificate was checked. */
export interface TlsClient {
  readonly fingerprint: string;
  readonly role: 'peer' | 'guest';
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
  const admission = clients === null ? null : new ClientAdmission(clients, crypto, log);
  // What serves HTTP on a new connection is called only for admitted ones.
  const serve = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (admission?.admit(socket) === false) socket.destroy();
    else for (const each of serve) each.call(server, socket);
  });
  server.on('tlsClientError', (error, socket) => {
    log.debug({ code: (error as NodeJS.ErrnoException).code }, 'a TLS handshake failed');
    socket.destroy();
  });
  const stops = [
    certificate.onChange(() => server.setSecureContext(context())),
    clients?.onChange(() => admission?.checkAgain()),
  ];
  return {
    server,
    clientOf: (socket) => admission?.clientOf(socket) ?? null,
    release: () => {
      for (const stop of stops) stop?.();
    },
  };
}

/** The clients that a listener has admitted by their certificates. */
class ClientAdmission {
  readonly #known = new Map<TLSSocket, { readonly certificate: Uint8Array; readonly client: TlsClient }>();
  readonly #clients: ClientGate;
  readonly #crypto: Crypto;
  readonly #log: Log;
  #refused = 0;

  constructor(clients: ClientGate, crypto: Crypto, log: Log) {
    this.#clients = clients;
    this.#crypto = crypto;
    this.#log = log;
  }

  admit(socket: TLSSocket): boolean {
    const der = socket.getPeerX509Certificate()?.raw;
    if (der === undefined) return false;
    const fingerprint = this.#crypto.sha256Hex(der);
    const role = this.#clients.roleOf(der, fingerprint);
    if (role === null) {
      // A stranger who knocks all day must not fill the log.
      this.#refused += 1;
      this.#log[this.#refused <= REFUSALS_WARNED_MAX ? 'warn' : 'debug'](
        { code: 'CLIENT_NOT_ADMITTED', fingerprint },
        'a client was refused: its certificate is on no list',
      );
      return false;
    }
    this.#known.set(socket, { certificate: der, client: { fingerprint, role } });
    socket.once('close', () => this.#known.delete(socket));
    return true;
  }

  /** Ends the connections whose client is admitted no longer, or as something else. */
  checkAgain(): void {
    for (const [socket, entry] of this.#known) {
      const role = this.#clients.roleOf(entry.certificate, entry.client.fingerprint);
      // What was opened as a peer, such as a line for hints, must not go on as a guest.
      if (role !== entry.client.role) socket.destroy();
    }
  }

  clientOf(socket: object): TlsClient | null {
    return this.#known.get(socket as TLSSocket)?.client ?? null;
  }
}
