import type { Have } from '../../protocol/mesh/wire.js';
import type { Supervisor } from '../core/supervisor.js';
import type { Acknowledgement, MeshParts, MeshStatus, QuorumOutcome } from './parts.js';

/** Replication of one node, running. */
export interface Mesh {
  /** Its supervision tree; the mesh ends with it. */
  readonly supervisor: Supervisor;
  status(): MeshStatus;
  /**
   * Waits until enough peers durably have the own operations `from` to `to`, at the latest until `deadlineMs`
   * (monotonic). Also tells the links that there is something to push.
   */
  replicated(origin: string, from: number, to: number, deadlineMs: number): Promise<QuorumOutcome>;
  /** Who has one of this node's operations. */
  acknowledgements(origin: string, seq: number): readonly Acknowledgement[];
  /** False while writes must wait, because the database was put back and the node catches up under a new epoch. */
  accepting(): boolean;
  /** Another process or a local call has written: look at the log now. */
  wake(): void;
  /** A peer says that it has something new: ask it. */
  hint(peerId: string): void;
  /** A message of a peer arrived and was genuine; `have` when it said what it has (its cursor). */
  heard(peerId: string, have: Have | null): void;
  /** A peer knows operations of the own origin that this database has lost. */
  putBack(origin: string, peerId: string): void;
  stop(): Promise<void>;
}

/** Starts replication. */
export declare function startMesh(parts: MeshParts): Mesh;
