import type { Roster } from '../../protocol/peers/peer.js';
import type { ExitReason, RunningChild } from '../core/child.js';
import type { SupervisorSeams } from '../core/child-runner.js';
import type { RestartPolicy } from '../core/restart-policy.js';
import type { FailureReport } from '../core/supervision.js';
import { type Supervisor, startSupervisor } from '../core/supervisor.js';
import { PeerConnection, type PeerConnectionParts } from './peer-connection.js';
import type { PeerRecord } from './peer-record.js';

export interface PeerConnectionsParts {
  readonly roster: Roster;
  readonly seams: SupervisorSeams;
  readonly policy: RestartPolicy;
  readonly connection: PeerConnectionParts;
  /** The record of a member; a new member gets a new record. */
  readonly recordOf: (peerId: string) => PeerRecord;
  /** Called when the members have changed. */
  readonly onMembers: (members: readonly PeerRecord[]) => void;
  readonly onFailure: (report: FailureReport) => void;
}

interface Running {
  readonly supervisor: Supervisor;
  readonly connection: { current: PeerConnection | null };
}

/**
 * One connection for each member of the roster, each under its own supervisor, so that a failure of one does not affect
 * the others.
 */
export class PeerConnections implements RunningChild {
  readonly stopped: Promise<ExitReason>;
  private end!: (reason: ExitReason) => void;
  private readonly running = new Map<string, Running>();
  private readonly unsubscribe: () => void;
  private stopping = false;

  constructor(private readonly parts: PeerConnectionsParts) {
    this.stopped = new Promise((resolve) => {
      this.end = resolve;
    });
    this.unsubscribe = parts.roster.onChange(() => this.follow());
    this.follow();
  }

  wake(peerId: string): void {
    this.running.get(peerId)?.connection.current?.wake();
  }

  wakeAll(): void {
    for (const { connection } of this.running.values()) connection.current?.wake();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.unsubscribe();
    await Promise.all([...this.running.values()].map(({ supervisor }) => supervisor.stop()));
    this.end({ kind: 'stopped' });
  }

  private follow(): void {
    if (this.stopping) return;
    const { parts } = this;
    const members = parts.roster.peers().filter(({ state }) => state === 'member');
    const ids = new Set(members.map(({ peerId }) => peerId));
    for (const [peerId, { supervisor }] of this.running) {
      if (ids.has(peerId)) continue;
      this.running.delete(peerId);
      void supervisor.stop().catch(() => {});
    }
    const records = members.map((peer) => {
      const record = parts.recordOf(peer.peerId);
      const moved = record.peer.url !== peer.url;
      record.peer = peer;
      if (moved) record.contacted();
      return record;
    });
    for (const record of records)
      if (!this.running.has(record.peerId)) this.running.set(record.peerId, this.start(record));
    parts.onMembers(records);
    this.wakeAll();
  }

  private start(record: PeerRecord): Running {
    const { seams, policy, onFailure, connection: connectionParts } = this.parts;
    const connection: Running['connection'] = { current: null };
    const spec = {
      id: `peer-link ${record.peerId}`,
      policy,
      start: () => {
        connection.current = new PeerConnection(record, connectionParts);
        return Promise.resolve(connection.current);
      },
    };
    return { supervisor: startSupervisor({ ...seams, children: [spec], onFailure }), connection };
  }
}

/** Members in the order of their ids, starting after this node's own id. */
export function ringFrom(peerId: string, members: readonly PeerRecord[]): PeerRecord[] {
  const sorted = [...members].sort((a, b) => (a.peerId < b.peerId ? -1 : 1));
  const behind = sorted.filter((each) => each.peerId > peerId);
  return [...behind, ...sorted.filter((each) => each.peerId <= peerId)];
}
