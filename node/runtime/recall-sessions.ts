import { SESSION_ROWS_MAX, SESSIONS_MAX } from '../../protocol/limits.js';
import type { RecallSessions } from '../pipeline/call.js';

/**
 * What each session has recalled, in memory: the last rows of each, and of the sessions those used last. Rows are
 * kept by number, so a memory that is gone only takes up its place.
 */
export class RememberedSessions implements RecallSessions {
  private readonly sessions = new Map<string, readonly number[]>();

  seen(session: string): readonly number[] {
    return this.sessions.get(session) ?? [];
  }

  add(session: string, rids: readonly number[]): void {
    const again = new Set(rids);
    const kept = this.seen(session).filter((rid) => !again.has(rid));
    // A map keeps its keys in the order of their insertion: the first is the one used longest ago.
    this.sessions.delete(session);
    this.sessions.set(session, [...kept, ...again].slice(-SESSION_ROWS_MAX));
    const oldest = this.sessions.keys().next();
    if (this.sessions.size > SESSIONS_MAX && oldest.done === false) this.sessions.delete(oldest.value);
  }
}
