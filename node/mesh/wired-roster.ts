import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { WiredPeers } from './wired-peers.js';

/**
 * The peers that were enrolled by hand, with the addresses at which they were found. An enrolled peer that
 * `--quorum-peers` names receives all that this node writes, so it may also read.
 */
export class WiredRoster implements Roster {
  readonly #enrolled: Roster;
  readonly #wired: Pick<WiredPeers, 'urlOf' | 'onChange'>;

  constructor(enrolled: Roster, wired: Pick<WiredPeers, 'urlOf' | 'onChange'>) {
    this.#enrolled = enrolled;
    this.#wired = wired;
  }

  peers(): readonly Peer[] {
    return this.#enrolled.peers().map((peer) => this.#placed(peer));
  }

  find(peerId: string): Peer | null {
    const peer = this.#enrolled.find(peerId);
    return peer === null ? null : this.#placed(peer);
  }

  onChange(listener: () => void): () => void {
    const stops = [this.#enrolled.onChange(listener), this.#wired.onChange(listener)];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #placed(peer: Peer): Peer {
    const url = this.#wired.urlOf(peer.peerId);
    if (url === null) return peer;
    const { pullDenied: _denied, ...open } = peer;
    return { ...open, url };
  }
}
