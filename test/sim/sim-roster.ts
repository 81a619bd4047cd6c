import type { Peer, Roster } from '../../protocol/peers/peer.js';

/** Who belongs to the mesh, as one node was told; it outlives the node's runs, like the files of a real one. */
export class SimRoster implements Roster {
  private readonly known = new Map<string, Peer>();
  private readonly listeners = new Set<() => void>();

  peers(): readonly Peer[] {
    return [...this.known.values()];
  }

  find(peerId: string): Peer | null {
    return this.known.get(peerId) ?? null;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** A peer is enrolled, or becomes something else. */
  set(peer: Peer): void {
    this.known.set(peer.peerId, peer);
    for (const listener of [...this.listeners]) listener();
  }

  /** A process has ended, and with it whoever listened. */
  forgetListeners(): void {
    this.listeners.clear();
  }
}
