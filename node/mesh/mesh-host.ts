import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { Acknowledgement, MeshStatus } from '../../actors/mesh/parts.js';
import { MESH_POLL_MS } from '../../protocol/limits.js';
import type { Peer, Roster } from '../../protocol/mesh/peer.js';
import { peerOfStatement } from '../../protocol/mesh/roster-statement.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { Signer } from '../../protocol/seams.js';
import { StartRefusedError } from '../../protocol/start-refused.js';
import { instantFromMs } from '../../protocol/time.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { isLoopbackHost } from '../http/host-guard.js';
import type { PeerRoute } from '../http/peer-route.js';
import { comparePeers } from './compare-peers.js';
import { fingerprintOfCertificate } from './forming/certificate.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { MeshListener, type OpenSurface } from './mesh-listener.js';
import { MeshRoster } from './mesh-roster.js';
import { certificateGate, meshRoutes, type PeerGate } from './mesh-routes.js';
import type { MeshStatusAnswer, OperationStanding, PeerStanding } from './mesh-terms.js';
import { contactFields, RosterExchange, type SignRequest } from './roster-exchange.js';
import { CertificateFiles, fingerprintOfPem } from './tls/certificate-files.js';
import { PeerFingerprintsFile } from './tls/peer-fingerprints-file.js';
import { WatchedFiles } from './tls/watched-files.js';
import { type PeerTrust, UndiciTransport } from './undici-transport.js';
import { WiredPeers } from './wired-peers.js';
import { WiredRoster } from './wired-roster.js';

export interface MeshHostParts extends StateSeams {
  readonly settings: Settings;
  readonly peerId: string;
  readonly store: Store;
  /** Peers that were enrolled by hand. */
  readonly manual?: Roster | null;
  /** Says who this node is; null without a key. */
  readonly signer?: Signer | null;
  /** Judges messages of peers whose certificate is no member's, by their signatures. */
  readonly gate?: PeerGate;
  /** Signs messages to peers. */
  readonly sign?: SignRequest;
  /** Routes of replication, served to peers beside those of the mesh. */
  readonly syncRoutes?: (roster: Roster) => readonly PeerRoute[];
  readonly replicationStatus?: () => MeshStatus | null;
  /** Peers to whom there is a line for hints. */
  readonly hintLines?: () => readonly string[];
  /** Who has an own operation. */
  readonly acknowledgements?: (origin: string, seq: number) => readonly Acknowledgement[];
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
  readonly #pins: PeerFingerprintsFile | null;
  readonly #wired: WiredPeers;
  /** Asks who answers at an address, before that is anybody. */
  readonly #asking: UndiciTransport;
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
    const { fedPeerFingerprints, quorumPeers } = settings;
    this.#pins = fedPeerFingerprints === null ? null : new PeerFingerprintsFile(fedPeerFingerprints, parts);
    this.#asking = new UndiciTransport({ trustOf: (peer) => this.#trustByHand(peer), scheduler });
    this.#wired = new WiredPeers({
      ...parts,
      urls: quorumPeers,
      self: peerId,
      find: (id) => this.roster.find(id),
      transport: this.#asking,
    });
    this.state = new MeshState(settings.home, parts);
    this.state.open();
    const manual = parts.manual == null ? null : new WiredRoster(parts.manual, this.#wired);
    this.roster = new MeshRoster(this.state, peerId, manual);
    this.transport = new UndiciTransport({ trustOf: (peer) => this.#trustOf(peer), scheduler });
    this.routes = [
      ...meshRoutes({
        ...parts,
        state: this.state,
        roster: this.roster,
        gate: eitherGate(certificateGate(this.state, this.roster), parts.gate),
        isOwn: (fingerprint) =>
          this.#clientFiles !== null && fingerprintOfPem(this.#clientFiles.current().cert) === fingerprint,
        compared: () => this.#compared(),
        operation: (id) => this.#operation(id),
        signer: parts.signer ?? null,
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
      sign: parts.sign ?? UNSIGNED,
    });
    this.#listener = new MeshListener({
      place: () => this.state.formed?.facts.listen ?? null,
      tls: () => this.state.listenerTls(),
      routes: this.routes,
      scheduler,
      log,
    });
  }

  /** Listens where the mesh says, and follows its folder from now on. A place that cannot be had is tried again. */
  async start(openSurface: OpenSurface): Promise<void> {
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
    await this.#listener.start(openSurface);
    this.#exchange.start();
    this.#wired.start();
  }

  async drain(graceMs: number): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    this.#wired.stop();
    await this.#listener.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    this.#wired.stop();
    this.#pins?.close();
    this.#clientFiles?.close();
    this.roster.close();
    await this.#listener.close();
    await this.transport.close();
    await this.#asking.close();
  }

  /** Peers that the operator named by address; the mesh is meant to be no smaller. */
  get wiredCount(): number {
    return this.#wired.count;
  }

  status(): MeshStatusAnswer {
    const { peerId, replicationStatus, hintLines } = this.#parts;
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
      peers: [
        ...statements
          .filter((each) => each.peer_id !== peerId)
          .map((each) => ({
            peer_id: each.peer_id,
            url: each.url,
            state: each.state,
            ...contactFields(this.#exchange.contactOf(each.peer_id)),
            allowed_namespaces: each.allowed_namespaces,
            serial: each.serial,
          })),
        ...this.#enrolledByHand(),
      ],
      wired: this.#wired.list(),
      hint_lines: hintLines?.() ?? [],
      replication: replicationStatus?.() ?? null,
    };
  }

  async #compared(): Promise<Result<MeshStatusAnswer>> {
    const { store, peerId, clock, sign } = this.#parts;
    const digests = await store.query({ kind: 'read-digests' });
    if (!digests.ok) return failed(digests.error);
    const own = this.state.formed?.statements.get(peerId)?.statement;
    const compared = await comparePeers({
      peers: this.roster.peers(),
      scope: own === undefined ? { allowedNamespaces: null } : peerOfStatement(own),
      digests: digests.value,
      transport: this.transport,
      sign: sign ?? UNSIGNED,
      clock,
    });
    return ok({ ...this.status(), compared });
  }

  async #operation(id: string): Promise<Result<OperationStanding>> {
    const { store, peerId, acknowledgements, replicationStatus } = this.#parts;
    const found = await store.query({ kind: 'find-operation', opId: id });
    if (!found.ok) return failed(found.error);
    const operation = found.value;
    if (operation === null)
      return fail('NOT_FOUND', `there is no operation ${id} in this log, and none about it`);
    const listed = acknowledgements?.(operation.origin, operation.seq) ?? [];
    const here = operation.parked === null ? 1 : 0;
    const acks = here + listed.filter(({ state }) => state === 'durable').length;
    const needed = replicationStatus?.()?.quorum.needed ?? 1;
    return ok({
      ...operation,
      peer_id: peerId,
      acks,
      needed,
      met: acks >= needed,
      acknowledgements: listed.map(({ peerId: peer, state, reason }) => ({ peer_id: peer, state, reason })),
    });
  }

  #enrolledByHand(): PeerStanding[] {
    return this.roster
      .peers()
      .filter(({ peerId }) => !this.roster.isStated(peerId))
      .map(({ peerId, url, state, allowedNamespaces }) => ({
        peer_id: peerId,
        url,
        state,
        ...contactFields(this.#exchange.contactOf(peerId)),
        allowed_namespaces: allowedNamespaces,
        serial: 0,
      }));
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
    const pinned = this.#pins?.get(host);
    const { apiKey } = this.#parts.settings;
    // In the clear the key goes to this machine alone.
    const isSafe = peer.url !== null && (peer.url.startsWith('https:') || isLoopbackHost(host));
    return {
      client: this.#clientFiles?.current() ?? null,
      authorities: this.#authorities,
      names: 'host',
      // With pins configured every peer needs one: a host without any has none that fits.
      fingerprints: pinned ?? (this.#pins === null ? peer.fingerprints : ['none']),
      ...(apiKey !== null && isSafe ? { headers: { 'x-api-key': apiKey.reveal() } } : {}),
    };
  }
}

const UNSIGNED: SignRequest = () => ({ 'content-type': 'application/json' });

/** A member by its certificate, else by what it signed. */
function eitherGate(byCertificate: PeerGate, bySignature: PeerGate | undefined): PeerGate {
  if (bySignature === undefined) return byCertificate;
  return async (message) => {
    const judged = await byCertificate(message);
    return judged.ok ? judged : bySignature(message);
  };
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
