import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { MESH_POLL_MS } from '../../protocol/limits.js';
import type { Peer, Roster } from '../../protocol/mesh/peer.js';
import { StartRefusedError } from '../../protocol/start-refused.js';
import { instantFromMs } from '../../protocol/time.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import type { ListenerTls } from '../http/listener-tls.js';
import type { PeerRoute } from '../http/peer-route.js';
import type { HttpSurface } from '../http/server.js';
import { fingerprintOfCertificate } from './forming/certificate.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { MeshListener } from './mesh-listener.js';
import { MeshRoster } from './mesh-roster.js';
import { certificateGate, meshRoutes, type PeerGate } from './mesh-routes.js';
import type { MeshStatusAnswer } from './mesh-terms.js';
import { contactFields, RosterExchange, type SignRequest } from './roster-exchange.js';
import { CertificateFiles } from './tls/certificate-files.js';
import { WatchedFiles } from './tls/watched-files.js';
import { type PeerTrust, UndiciTransport } from './undici-transport.js';

export interface MeshHostParts extends StateSeams {
  readonly settings: Settings;
  readonly peerId: string;
  readonly store: Store;
  /** Peers that were enrolled by hand. */
  readonly manual?: Roster | null;
  /** Judges messages of peers; by certificate alone unless given. */
  readonly gate?: PeerGate;
  /** Signs messages to peers. */
  readonly sign?: SignRequest;
  /** Fingerprints of hosts (SVC_FED_PEER_FINGERPRINTS), lower-case names; null where none are configured. */
  readonly hostFingerprints?: ReadonlyMap<string, readonly string[]> | null;
  /** Routes of replication, served to peers beside those of the mesh. */
  readonly syncRoutes?: (roster: Roster) => readonly PeerRoute[];
  readonly replicationStatus?: () => unknown;
  readonly openSurface: (tls: ListenerTls, routes: readonly PeerRoute[]) => HttpSurface;
}

/**
 * The mesh side of a daemon: it follows the folder `mesh` in the home, so that `mesh init` and `mesh join` take effect
 * while it runs, listens for peers by mutual TLS, keeps the roster, and carries messages to peers.
 */
export class MeshHost {
  readonly state: MeshState;
  readonly roster: MeshRoster;
  readonly transport: UndiciTransport;
  /** For the node's own API and for the listener of peers. */
  readonly routes: readonly PeerRoute[];
  readonly #parts: MeshHostParts;
  readonly #exchange: RosterExchange;
  readonly #listener: MeshListener;
  /** What `--quorum-client-cert` and `--quorum-ca-cert` name. */
  readonly #clientFiles: CertificateFiles | null;
  readonly #authorities: readonly string[] | null;
  #watch: WatchedFiles | null = null;

  constructor(parts: MeshHostParts) {
    const { settings, peerId, scheduler, log } = parts;
    this.#parts = parts;
    const { quorumClientCert, quorumClientKey, quorumCaCert } = settings;
    this.#clientFiles =
      quorumClientCert === null || quorumClientKey === null
        ? null
        : new CertificateFiles(quorumClientCert, quorumClientKey, parts);
    this.#authorities = quorumCaCert === null ? null : [...rootCertificates, readAuthorities(quorumCaCert)];
    this.state = new MeshState(settings.home, parts);
    this.state.open();
    this.roster = new MeshRoster(this.state, peerId, parts.manual ?? null);
    this.transport = new UndiciTransport({ trustOf: (peer) => this.#trustOf(peer), scheduler });
    this.routes = [
      ...meshRoutes({
        ...parts,
        state: this.state,
        roster: this.roster,
        gate: parts.gate ?? certificateGate(this.state, this.roster),
        status: () => this.status(),
        heard: (peerId) => this.#exchange.heard(peerId),
      }),
      ...(parts.syncRoutes?.(this.roster) ?? []),
    ];
    this.#exchange = new RosterExchange({
      ...parts,
      state: this.state,
      roster: this.roster,
      transport: this.transport,
      sign: parts.sign ?? (() => ({ 'content-type': 'application/json' })),
    });
    this.#listener = new MeshListener({
      place: () => this.state.formed?.facts.listen ?? null,
      open: () => parts.openSurface(this.state.listenerTls(), this.routes),
      scheduler,
      log,
    });
  }

  /** Listens where the mesh says, and follows its folder from now on. A place that cannot be had is tried again. */
  async start(): Promise<void> {
    const { folder } = this.state;
    this.#watch = new WatchedFiles({
      paths: () => [
        folder.factsPath,
        folder.rosterPath,
        folder.nodeCertPath,
        folder.nodeKeyPath,
        folder.authorityCertPath,
        folder.authorityKeyPath,
      ],
      scheduler: this.#parts.scheduler,
      intervalMs: MESH_POLL_MS,
      changed: () => {
        this.state.reload();
        void this.#listener.follow();
      },
    });
    // A node that was removed ends its connections, and those to who was removed.
    this.roster.onChange(() => this.transport.keepOnly(this.#members()));
    await this.#listener.follow();
    this.#exchange.start();
  }

  async drain(graceMs: number): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    await this.#listener.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    this.#clientFiles?.close();
    this.roster.close();
    await this.#listener.close();
    await this.transport.close();
  }

  status(): MeshStatusAnswer {
    const { peerId, replicationStatus } = this.#parts;
    const formed = this.state.formed;
    const statements = [...(formed?.statements.values() ?? [])].map(({ statement }) => statement);
    const own = statements.find((each) => each.peer_id === peerId);
    const certificate = formed === null ? null : new X509Certificate(formed.pair.cert);
    const expires = certificate === null ? null : instantFromMs(Date.parse(certificate.validTo));
    return {
      peer_id: peerId,
      mesh_id: formed?.facts.mesh_id ?? null,
      url: formed?.facts.url ?? null,
      listening: this.#listener.listening,
      problem: this.#listener.problem,
      authority: formed !== null && this.state.folder.isAuthority,
      state: own?.state ?? 'none',
      certificate_fingerprint: certificate === null ? null : fingerprintOfCertificate(certificate),
      certificate_expires: expires,
      open_invites: formed === null ? 0 : this.state.invites.open(),
      peers: statements
        .filter((each) => each.peer_id !== peerId)
        .map((each) => ({
          peer_id: each.peer_id,
          url: each.url,
          state: each.state,
          ...contactFields(this.#exchange.contactOf(each.peer_id)),
          allowed_namespaces: each.allowed_namespaces,
          serial: each.serial,
        })),
      replication: replicationStatus?.() ?? null,
    };
  }

  #members(): ReadonlySet<string> {
    return new Set(
      this.roster
        .peers()
        .filter(({ state }) => state === 'member')
        .map(({ peerId }) => peerId),
    );
  }

  #trustOf(peer: Peer): PeerTrust {
    const formed = this.state.formed;
    return formed !== null && this.roster.isStated(peer.peerId)
      ? {
          client: formed.pair,
          authorities: [formed.authority],
          names: 'peer',
          fingerprints: peer.fingerprints,
        }
      : this.#trustByHand(peer);
  }

  /** Peers that were wired by hand: the flags say what is presented and believed. */
  #trustByHand(peer: Peer): PeerTrust {
    const host = peer.url === null ? '' : new URL(peer.url).hostname.toLowerCase();
    const pinned = this.#parts.hostFingerprints?.get(host);
    return {
      client: this.#clientFiles?.current() ?? null,
      authorities: this.#authorities,
      names: 'host',
      // With pins configured every peer needs one: a host without any has none that fits.
      fingerprints: pinned ?? (this.#parts.hostFingerprints == null ? peer.fingerprints : ['none']),
    };
  }
}

function readAuthorities(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? 'no PEM certificate';
    throw new StartRefusedError('CONFIG_INVALID', `cannot use the authorities in ${path}: ${why}`);
  }
}
