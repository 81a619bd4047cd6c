import { Listeners } from '../../actors/core/listeners.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import { peerOfStatement } from '../../protocol/peers/roster-statement.js';
import type { MeshState } from './forming/mesh-state.js';

/**
 * The members of the mesh as this node knows them: the statements of its authority, and the peers that were enrolled by
 * hand. Where both know a peer, the authority's statement counts.
 */
export class MeshRoster implements Roster {
  readonly #state: MeshState;
  readonly #self: string;
  readonly #manual: Roster | null;
  readonly #listeners = new Listeners();
  readonly #stops: readonly (() => void)[];
  #stated: ReadonlyMap<string, Peer>;
  #seen = '';
  /** Members that this node lost when it was removed; 0 while it is a member. Its quorum must not shrink with them. */
  lostMembers = 0;

  constructor(state: MeshState, self: string, manual: Roster | null) {
    this.#state = state;
    this.#self = self;
    this.#manual = manual;
    this.#stated = new Map();
    this.#take();
    this.#stops = [
      state.onChange(() => {
        if (this.#take()) this.#listeners.tell();
      }),
      ...(manual === null ? [] : [manual.onChange(() => this.#listeners.tell())]),
    ];
  }

  peers(): readonly Peer[] {
    const manual = (this.#manual?.peers() ?? []).filter(
      ({ peerId }) => peerId !== this.#self && !this.#stated.has(peerId),
    );
    return [...this.#stated.values(), ...manual];
  }

  find(peerId: string): Peer | null {
    if (peerId === this.#self) return null;
    return this.#stated.get(peerId) ?? this.#manual?.find(peerId) ?? null;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** True for a peer with a statement of the authority. */
  isStated(peerId: string): boolean {
    return this.#stated.has(peerId);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** True when something changed. */
  #take(): boolean {
    const statements = [...(this.#state.formed?.statements.values() ?? [])];
    const seen = statements.map(({ statement }) => `${statement.peer_id} ${statement.serial}`).join('\n');
    if (seen === this.#seen) return false;
    this.#seen = seen;
    const own = statements.find(({ statement }) => statement.peer_id === this.#self)?.statement;
    // A removed node no longer talks to other nodes; the others' keys still verify what they wrote.
    const removed = own?.state === 'departed';
    const others = statements.filter(({ statement }) => statement.peer_id !== this.#self);
    this.lostMembers = removed ? others.filter(({ statement }) => statement.state === 'member').length : 0;
    this.#stated = new Map(
      statements
        .map(({ statement }) => peerOfStatement(statement))
        .filter(({ peerId }) => peerId !== this.#self)
        .map((peer) => [peer.peerId, removed ? { ...peer, state: 'departed' as const } : peer]),
    );
    return true;
  }
}
