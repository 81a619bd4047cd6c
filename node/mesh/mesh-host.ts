import { X509Certificate } from 'node:crypto';
import type { Acknowledgement, MeshStatus } from '../../actors/mesh/parts.js';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Store } from '../../storage/port.js';
import type { PeerRoute } from '../http/peer-route.js';
import { COMPARE_TIMEOUT_MS, comparePeers } from './compare-peers.js';
import { followFolder } from './follow-folder.js';
import { fingerprintOfCertificate } from './forming/certificate.js';
import type { MeshState, StateSeams } from './forming/mesh-state.js';
import type { MeshStatusAnswer, OperationStatus, PeerReachability } from './mesh-answers.js';
import { MeshListener, type OpenSurface } from './mesh-listener.js';
import type { MeshPeers } from './mesh-peers.js';
import type { MeshRoster } from './mesh-roster.js';
import { certificateGate, meshRoutes, type PeerGate } from './mesh-routes.js';
import { contactFields, RosterExchange, type SignRequest } from './roster-exchange.js';
import { removalTeller } from './tell-removal.js';
import type { WatchedFiles } from './tls/watched-files.js';
import type { UndiciTransport } from './undici-transport.js';

export interface MeshHostParts extends StateSeams {
  readonly peers: MeshPeers;
  readonly peerId: string;
  readonly store: Store;
  /** Signs the answer to who this node is, and questions to peers. */
  readonly signer: Signer;
  /** Authenticates messages of peers by their signatures, where their certificate is not a member's. */
  readonly gate?: PeerGate;
  /** Signs messages to peers. */
  readonly sign?: SignRequest;
  /** Routes of replication, served to peers in addition to those of the mesh. */
  readonly syncRoutes?: readonly PeerRoute[];
  readonly replicationStatus?: () => MeshStatus | null;
  /** Peers with a line for hints. */
  readonly hintLines?: () => readonly string[];
  /** Which nodes have an own operation. */
  readonly acknowledgements?: (origin: string, seq: number) => readonly Acknowledgement[];
}

/**
 * The mesh side of a daemon: it follows the folder `mesh` in the home, so that `mesh init` and `mesh join` take effect
 * while it runs. It listens for peers by mutual TLS, keeps the roster, and carries messages to peers.
 */
export class MeshHost {
  readonly state: MeshState;
  readonly roster: MeshRoster;
  readonly transport: UndiciTransport;
  /** For the node's own API and for the listener of peers. */
  readonly routes: readonly PeerRoute[];
  readonly #parts: MeshHostParts;
  readonly #tellRemoval: () => void;
  readonly #exchange: RosterExchange;
  readonly #listener: MeshListener;
  #watch: WatchedFiles | null = null;

  constructor(parts: MeshHostParts) {
    const { peers, scheduler, log } = parts;
    const { state, roster, transport } = peers;
    this.#parts = parts;
    this.state = state;
    this.#tellRemoval = removalTeller(state, parts.peerId, log);
    this.roster = roster;
    this.transport = transport;
    const exchange = new RosterExchange({
      ...parts,
      state,
      roster,
      transport,
      sign: parts.sign ?? UNSIGNED,
    });
    this.#exchange = exchange;
    this.#listener = new MeshListener({
      place: () => state.formed?.facts.listen ?? null,
      tls: () => state.listenerTls(),
      scheduler,
      log,
    });
    this.routes = [
      ...meshRoutes({
        ...parts,
        state,
        roster,
        gate: eitherGate(certificateGate(state, roster), parts.gate),
        isOwn: (fingerprint) => peers.trust.isOwn(fingerprint),
        compared: () => this.#compared(),
        operation: (id) => this.#operation(id),
        status: () => this.status(),
        contacted: (peerId) => exchange.contacted(peerId),
      }),
      ...(parts.syncRoutes ?? []),
    ];
  }

  /** Listens where the mesh says, and follows its folder from now on. An address that cannot be had is tried again. */
  async start(openSurface: OpenSurface): Promise<void> {
    this.#watch = followFolder(this.state, this.#parts.scheduler, () => void this.#listener.follow());
    // A removed node ends its connections; every other node ends those to the removed one.
    this.roster.onChange(() => {
      this.#parts.peers.keepMembers();
      this.#tellRemoval();
    });
    this.#tellRemoval();
    await this.#listener.start(openSurface, this.routes);
    this.#exchange.start();
    this.#parts.peers.wired.start(this.roster);
  }

  async drain(graceMs: number): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    this.#parts.peers.wired.stop();
    await this.#listener.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    this.#exchange.stop();
    this.#parts.peers.wired.stop();
    this.#parts.peers.unfollow();
    await this.#listener.close();
    await this.#parts.peers.close();
  }

  /** Peers that the operator named by address; the mesh counts as at least this large. */
  get wiredCount(): number {
    return this.#parts.peers.wired.count;
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
      name: own?.name ?? null,
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
            name: each.name ?? null,
            url: each.url,
            state: each.state,
            ...contactFields(this.#exchange.contactOf(each.peer_id)),
            allowed_namespaces: each.allowed_namespaces,
            serial: each.serial,
          })),
        ...this.#enrolledByHand(),
      ],
      wired: this.#parts.peers.wired.list(),
      hint_lines: hintLines?.() ?? [],
      replication: replicationStatus?.() ?? null,
    };
  }

  async #compared(): Promise<Result<MeshStatusAnswer>> {
    const { store, peerId, clock, random, signer } = this.#parts;
    const self = { peerId, signer };
    const { transport } = this;
    const client = new PeerClient({ self, transport, clock, random, requestTimeoutMs: COMPARE_TIMEOUT_MS });
    const compared = await comparePeers(this.roster.peers(), { store, client });
    return ok({ ...this.status(), compared });
  }

  async #operation(id: string): Promise<Result<OperationStatus>> {
    const { store, peerId, acknowledgements, replicationStatus } = this.#parts;
    const found = await store.query({ kind: 'find-operation', opId: id });
    if (!found.ok) return failed(found.error);
    const operation = found.value;
    if (operation === null)
      return fail(
        'NOT_FOUND',
        `this log has neither an operation ${id} nor an operation about a memory ${id}`,
      );
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

  #enrolledByHand(): PeerReachability[] {
    return this.roster
      .peers()
      .filter(({ peerId }) => !this.roster.isStated(peerId))
      .map(({ peerId, url, state, allowedNamespaces }) => ({
        peer_id: peerId,
        name: null,
        url,
        state,
        ...contactFields(this.#exchange.contactOf(peerId)),
        allowed_namespaces: allowedNamespaces,
        serial: 0,
      }));
  }
}

const UNSIGNED: SignRequest = () => ({ 'content-type': 'application/json' });

/** Recognises a member by its certificate, else by the signature of its message. */
function eitherGate(byCertificate: PeerGate, bySignature: PeerGate | undefined): PeerGate {
  if (bySignature === undefined) return byCertificate;
  return async (message) => {
    const admitted = await byCertificate(message);
    return admitted.ok ? admitted : bySignature(message);
  };
}
