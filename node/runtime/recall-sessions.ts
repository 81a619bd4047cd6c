import { SESSION_ROWS_MAX, SESSIONS_MAX } from '../../protocol/base/limits.js';
import type { RecallSessions } from '../pipeline/call.js';

/**
 * The recalled rows of each session, in memory: the last rows of each, for the most recently used sessions. Rows are
 * kept by number, so a removed memory only takes up its place.
 */
export class RememberedSessions implements RecallSessions {
  private readonly sessions = new Map<string, readonly number[]>();

  seen(session: string): readonly number[] {
    return this.sessions.get(session) ?? [];
  }

  add(session: string, rids: readonly number[]): void {
    const again = new Set(rids);
    const kept = this.seen(session).filter((rid) => !again.has(rid));
    // A map keeps its keys in the order of insertion: the first is the least recently used.
    this.sessions.delete(session);
    this.sessions.set(session, [...kept, ...again].slice(-SESSION_ROWS_MAX));
    const oldest = this.sessions.keys().next();
    if (this.sessions.size > SESSIONS_MAX && oldest.done === false) this.sessions.delete(oldest.value);
  }
}
