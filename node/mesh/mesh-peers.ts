import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { Settings } from '../config/settings.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { MeshRoster } from './mesh-roster.js';
import { type PeerTrust, UndiciTransport } from './undici-transport.js';
import { WiredPeers } from './wired-peers.js';
import { WiredRoster } from './wired-roster.js';
import { WiredTrust } from './wired-trust.js';

export interface MeshPeersParts extends StateSeams {
  readonly settings: Settings;
  readonly peerId: string;
  /** Peers that were enrolled by hand. */
  readonly manual?: Roster | null;
  /** True to trust peers of the settings by the fingerprints of their certificates, whoever signed them. */
  readonly pinnedOnly?: boolean;
}

/** The peers of a node, and how messages reach them. */
export class MeshPeers {
  readonly state: MeshState;
  readonly roster: MeshRoster;
  readonly transport: UndiciTransport;
  readonly trust: WiredTrust;
  readonly wired: WiredPeers;
  /** Asks which node answers at an address, before it is a known peer. */
  readonly #asking: UndiciTransport;

  /** Throws StartRefusedError when the mesh's folder or a file of the flags cannot be used. */
  constructor(parts: MeshPeersParts) {
    const { settings, peerId, scheduler } = parts;
    const trust = new WiredTrust(settings, parts);
    this.trust = trust;
    this.#asking = new UndiciTransport({ trustOf: (peer) => trust.of(peer), scheduler });
    this.wired = new WiredPeers({
      ...parts,
      urls: settings.quorumPeers,
      self: peerId,
      transport: this.#asking,
    });
    this.state = new MeshState(settings.home, parts);
    this.state.open();
    const manual = parts.manual == null ? null : new WiredRoster(parts.manual, this.wired);
    this.roster = new MeshRoster(this.state, peerId, manual);
    this.transport = new UndiciTransport({ trustOf: (peer) => this.#trustOf(peer), scheduler });
  }

  /** True for another node that belongs to the mesh now, or that is enrolled by hand. */
  isMember(peerId: string): boolean {
    return this.roster.find(peerId)?.state === 'member';
  }

  /** The other nodes that belong to the mesh now. */
  members(): readonly Peer[] {
    return this.roster.peers().filter(({ state }) => state === 'member');
  }

  /** Ends the connections to peers that are no longer members. */
  keepMembers(): void {
    const members = this.roster.peers().filter(({ state }) => state === 'member');
    this.transport.keepOnly(new Set(members.map(({ peerId }) => peerId)));
  }

  /** Stops following changes of the peers. */
  unfollow(): void {
    this.trust.close();
    this.roster.close();
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await this.transport.close();
    await this.#asking.close();
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
      : this.trust.of(peer);
  }
}
