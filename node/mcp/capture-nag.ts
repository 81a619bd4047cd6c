import { BoundedMap } from '../../protocol/base/bounded-map.js';
import type { Operation } from '../pipeline/operation.js';

/** Agents of one session whose calls are counted. */
const AGENTS_MAX = 64;

export interface NagThresholds {
  /** Calls without a write after which an agent is reminded, and reminded again; 0 never reminds. */
  readonly first: number;
  readonly second: number;
}

/** Reminds an agent that reads on and on to store what it learns (reference-gaps §4): twice, until it writes. */
export class CaptureNag {
  /** Calls without a write, by agent. */
  private readonly streaks = new BoundedMap<string, number>(AGENTS_MAX);

  constructor(private readonly thresholds: NagThresholds) {}

  /** The reminder that a call brings; null for most. */
  after(operation: Operation, agentId: string): string | null {
    if (isCapture(operation)) {
      this.streaks.set(agentId, 0);
      return null;
    }
    const streak = (this.streaks.use(agentId) ?? 0) + 1;
    this.streaks.set(agentId, streak);
    const { first, second } = this.thresholds;
    if (streak === second) {
      return `${streak} calls and nothing stored: what you learn is lost at the end of this session unless you call memory_capture_turn or memory_store now.`;
    }
    return streak === first
      ? `${streak} calls without a write: store what a later session needs with memory_capture_turn or memory_store.`
      : null;
  }
}

/** True for a tool that makes or changes rows; one that only marks what was read is none. */
const isCapture = ({ effect, guards, quorum }: Operation): boolean =>
  effect === 'write' && guards.attestation !== undefined && quorum !== 'none';
