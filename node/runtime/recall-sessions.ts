import { BoundedMap } from '../../protocol/base/bounded-map.js';
import { SESSION_ROWS_MAX, SESSIONS_MAX } from '../../protocol/base/limits.js';
import type { RecallSessions } from '../pipeline/call.js';

/**
 * The recalled rows of each session, in memory: the last rows of each, for the most recently used sessions. Rows are
 * kept by number, so a removed memory only takes up its place.
 */
export class RememberedSessions implements RecallSessions {
  private readonly sessions = new BoundedMap<string, readonly number[]>(SESSIONS_MAX);

  seen(session: string): readonly number[] {
    return this.sessions.get(session) ?? [];
  }

  add(session: string, rids: readonly number[]): void {
    const again = new Set(rids);
    const kept = this.seen(session).filter((rid) => !again.has(rid));
    this.sessions.set(session, [...kept, ...again].slice(-SESSION_ROWS_MAX));
  }
}
