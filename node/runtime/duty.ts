import type { NextRound } from '../../actors/core/loop.js';
import type { PeerId } from '../../protocol/base/meanings.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import type { OwnedSemantics } from '../semantics/owned-semantics.js';

/** The parts of a node that duties use. */
export interface DutyParts {
  readonly store: Store;
  /** This node in the mesh. */
  readonly peerId: PeerId;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  /** The semantic side of the owner; null while this process does not own the database. */
  readonly semantics: () => OwnedSemantics | null;
  /** Milliseconds since the log was last seen to change. */
  readonly sinceChangeMs: () => number;
}

/** What a duty needs besides the ownership: an encoder, the look for near duplicates, a clock that is not ahead of all peers. */
export type Need = 'encoder' | 'comparison' | 'clock';

/** Background work of the process that owns the database. It does nothing while another process owns it. */
export interface Duty {
  readonly name: string;
  /** Milliseconds between two rounds, unless a round says when the next one follows. */
  readonly every: number;
  /** Milliseconds before the first round; 0 when absent. */
  readonly first?: number;
  readonly needs: readonly Need[];
  /** Changes that begin a round at once. */
  readonly wokenBy?: readonly ('ownership' | 'log')[];
  /** Makes the round of one process. */
  readonly run: (parts: DutyParts) => () => Promise<NextRound | null>;
}
