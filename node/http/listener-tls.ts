import { constants } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { PEER_SERVER_IDLE_MS, TLS_HANDSHAKE_MS } from '../../protocol/limits.js';
import type { Crypto, Log } from '../../protocol/seams.js';

const REFUSALS_WARNED_MAX = 20;

/** What a listener needs to speak TLS. */
export interface ListenerTls {
  /** Certificate chain and private key in force, PEM; they fit together. */
  readonly certificate: {
    current(): { readonly cert: string; readonly key: string };
    /** Calls back when another certificate is in force; answers how to stop that. */
    onChange(listener: () => void): () => void;
  };
  /** Judges the certificate that every client must present; null asks for none. */
  readonly clients: ClientGate | null;
}

/** `peer` may call what peers may, `guest` holds an open invitation and may only join; null has no connection at all. */
export type Standing = 'peer' | 'guest' | null;

/** Says who may open a connection. */
export interface ClientGate {
  /** Judges a certificate, given as DER, by its SHA-256 in lower-case hex. */
  judge(certificate: Uint8Array, fingerprint: string): Standing;
  /** Calls back when judgements may have changed; answers how to stop that. */
  onChange(listener: () => void): () => void;
}

/** The client of a connection whose certificate was judged. */
export interface TlsClient {
  readonly fingerprint: string;
  readonly standing: 'peer' | 'guest';
}

export interface TlsServer {
  readonly server: Server;
  /** Null where no certificates are asked for. */
  clientOf(socket: object): TlsClient | null;
  /** Stops following changes. */
  release(): void;
}

/**
 * An HTTPS server that follows its certificate and its gate. A connection whose client certificate is not admitted ends
 * before a byte of it reaches HTTP, and connections end whose client is admitted no longer (interface §5.2).
 */
export function createTlsServer(
  options: ServerOptions,
  tls: ListenerTls,
  { crypto, log }: { readonly crypto: Crypto; readonly log: Log },
): TlsServer {
  const { clients, certificate } = tls;
  const context = () => ({
    ...certificate.current(),
    // Client certificates are asked for once, so a connection never changes hands.
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
    // Not who signed it, but whether it is on the list decides.
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
    clients?.onChange(() => admission?.judgeAgain()),
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
  readonly #known = new Map<TLSSocket, { readonly certificate: Uint8Array; client: TlsClient }>();
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
    const standing = this.#clients.judge(der, fingerprint);
    if (standing === null) {
      // A stranger who knocks all day must not fill the log.
      this.#refused += 1;
      this.#log[this.#refused <= REFUSALS_WARNED_MAX ? 'warn' : 'debug'](
        { code: 'CLIENT_NOT_ADMITTED', fingerprint },
        'a client was refused: its certificate is on no list',
      );
      return false;
    }
    this.#known.set(socket, { certificate: der, client: { fingerprint, standing } });
    socket.once('close', () => this.#known.delete(socket));
    return true;
  }

  /** Ends the connections whose client is admitted no longer. */
  judgeAgain(): void {
    for (const [socket, entry] of this.#known) {
      const standing = this.#clients.judge(entry.certificate, entry.client.fingerprint);
      if (standing === null) socket.destroy();
      else entry.client = { ...entry.client, standing };
    }
  }

  clientOf(socket: object): TlsClient | null {
    return this.#known.get(socket as TLSSocket)?.client ?? null;
  }
}
