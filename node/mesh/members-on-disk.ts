import type { Scheduler } from '../../protocol/base/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Services } from '../pipeline/call.js';
import { MeshState } from './forming/mesh-state.js';
import { MeshRoster } from './mesh-roster.js';
import { openFileRoster } from './open-receiver.js';

/** A changed roster takes effect after this time. */
const REREAD_MS = 2000;

type Parts = Pick<Services, 'settings' | 'clock' | 'random' | 'crypto' | 'log'>;

/** The members of the mesh, for processes other than the daemon: read from the node's files when somebody asks. */
export class MembersOnDisk {
  readonly #state: MeshState;
  readonly #roster: MeshRoster;
  readonly #clock: Parts['clock'];
  #readAtMs: number;

  constructor(parts: Parts, peerId: string, scheduler: Scheduler) {
    this.#clock = parts.clock;
    this.#state = new MeshState(parts.settings.home, { ...parts, scheduler });
    this.#state.reload();
    this.#readAtMs = this.#clock.monotonicMs();
    this.#roster = new MeshRoster(this.#state, peerId, openFileRoster(parts));
  }

  isMember(peerId: string): boolean {
    this.#reread();
    return this.#roster.find(peerId)?.state === 'member';
  }

  members(): readonly Peer[] {
    this.#reread();
    return this.#roster.peers().filter(({ state }) => state === 'member');
  }

  #reread(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#readAtMs >= REREAD_MS) {
      this.#readAtMs = now;
      this.#state.reload();
    }
  }
}
