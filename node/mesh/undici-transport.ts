import { isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import * as limits from '../../protocol/base/limits.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { PeerReply, PeerRequest, PeerTransport } from '../../protocol/wire/transport.js';
import { fingerprintOfCertificate, peerOfCertificate } from './forming/certificate.js';
import { connectTo, UntrustedError } from './tls/connect-tls.js';

/** How a peer is reached and what it must prove. */
export interface PeerTrust {
  /** The certificate that this node presents, PEM; null for no certificate. */
  readonly client: { readonly cert: string; readonly key: string } | null;
  /** Authorities that may have signed the peer's certificate, PEM; null means the public ones. */
  readonly authorities: readonly string[] | null;
  /** What the certificate must name: the peer's id, or the host of its address. */
  readonly names: 'peer' | 'host';
  /** SHA-256 of certificates, lower-case hex, of which the peer must present one; empty for any. */
  readonly fingerprints: readonly string[];
  /** True to trust a certificate of `fingerprints` whoever signed it, and no other. */
  readonly pinnedOnly?: boolean;
  /** Sent with every message, lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Route {
  readonly key: string;
  readonly pool: Pool;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Carries messages to peers over pooled connections (reference-federation §1.8). Follows no redirect, uses no proxy,
 * decodes nothing, and takes answers of at most 32 MiB. Never rejects.
 */
export class UndiciTransport implements PeerTransport {
  readonly #trustOf: (peer: Peer) => PeerTrust;
  readonly #scheduler: Scheduler;
  readonly #routes = new Map<string, Route>();
  #closed = false;

  constructor(options: {
    /** Called before each message; a changed result causes new connections. */
    readonly trustOf: (peer: Peer) => PeerTrust;
    readonly scheduler: Scheduler;
  }) {
    this.#trustOf = options.trustOf;
    this.#scheduler = options.scheduler;
  }

  async send(peer: Peer, request: PeerRequest, timeoutMs: number): Promise<PeerReply> {
    if (peer.url === null) return { kind: 'unreachable', message: `${peer.peerId} has no address` };
    if (this.#closed) return { kind: 'unreachable', message: 'this node is stopping' };
    const controller = new AbortController();
    let timedOut = false;
    const timer = this.#scheduler.after(timeoutMs, () => {
      timedOut = true;
      controller.abort();
    });
    try {
      const { pool, headers } = this.#routeOf(peer, peer.url);
      const { statusCode, body } = await pool.request({
        method: request.method,
        path: request.query === '' ? request.path : `${request.path}?${request.query}`,
        headers: { ...headers, ...request.headers },
        body: request.body,
        signal: controller.signal,
      });
      return { kind: 'answer', status: statusCode, body: new Uint8Array(await body.arrayBuffer()) };
    } catch (error) {
      if (timedOut) return { kind: 'timeout', message: `no answer within ${timeoutMs} ms` };
      const { message } = error as Error;
      return { kind: error instanceof UntrustedError ? 'untrusted' : 'unreachable', message };
    } finally {
      timer.cancel();
    }
  }

  /** Opens a connection outside the pool to a peer that has an address, and hands it over when the peer is trusted. */
  open(
    peer: Peer & { readonly url: string },
    done: (error: Error | null, socket: Socket | null) => void,
  ): void {
    const trust = this.#trustOf(peer);
    const verify = (socket: TLSSocket) => problemOf(socket, peer, peer.url, trust);
    connectTo({ ...trust, url: peer.url, verify, scheduler: this.#scheduler }, done);
  }

  /** The headers of every message to a peer. */
  headersFor(peer: Peer): Readonly<Record<string, string>> {
    return this.#trustOf(peer).headers ?? {};
  }

  /** Ends the connections to all nodes except these peers. */
  keepOnly(peerIds: ReadonlySet<string>): void {
    for (const [peerId, { pool }] of this.#routes) {
      if (peerIds.has(peerId)) continue;
      this.#routes.delete(peerId);
      pool.destroy().catch(() => undefined);
    }
  }

  /** Ends every connection; messages under way end as unreachable. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#routes.values()].map(({ pool }) => pool.destroy());
    this.#routes.clear();
    await Promise.all(pools);
  }

  #routeOf(peer: Peer, url: string): Route {
    const trust = this.#trustOf(peer);
    const key = JSON.stringify([url, trust]);
    const known = this.#routes.get(peer.peerId);
    if (known?.key === key) return known;
    // Messages under way on old connections end there.
    void known?.pool.close();
    const pool = new Pool(new URL(url).origin, {
      connections: limits.PEER_CONNECTIONS_MAX,
      pipelining: 1,
      keepAliveTimeout: limits.PEER_IDLE_MS,
      keepAliveMaxTimeout: limits.PEER_IDLE_MS,
      // The sender times the message itself.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: limits.PEER_RESPONSE_BYTES_MAX,
      connect: (_options, callback) => {
        const verify = (socket: TLSSocket) => problemOf(socket, peer, url, trust);
        connectTo({ ...trust, url, verify, scheduler: this.#scheduler }, (error, socket) => {
          if (error === null) callback(null, socket!);
          else callback(error, null);
        });
      },
    });
    const route = { key, pool, headers: trust.headers ?? {} };
    this.#routes.set(peer.peerId, route);
    return route;
  }
}

/** Why the other side is not the peer; null when it is. */
function problemOf(socket: TLSSocket, peer: Peer, url: string, trust: PeerTrust): string | null {
  // Called once: a second call returns nothing.
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'the other side presented no certificate';
  if (trust.pinnedOnly === true && trust.fingerprints.length === 0)
    return 'no certificate of the peer is known, and its authority is not to be verified';
  if (!socket.authorized && trust.pinnedOnly !== true)
    return `the certificate of the other side is not trusted: ${String(socket.authorizationError)}`;
  if (trust.names === 'peer' && peerOfCertificate(certificate) !== peer.peerId) {
    return `the certificate of the other side does not name ${peer.peerId}`;
  }
  const { fingerprints } = trust;
  if (fingerprints.length > 0) {
    // A known certificate proves more than the name in it.
    return fingerprints.includes(fingerprintOfCertificate(certificate))
      ? null
      : 'the certificate of the other side is not one of the known certificates of the peer';
  }
  if (trust.names === 'peer') return null;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const named = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return named === undefined ? `the certificate of the other side does not name ${host}` : null;
}
