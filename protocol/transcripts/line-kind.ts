import type { Instant, MemoryId } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';
import type { Transcript } from './transcript-kind.js';

/** A turn or a line that was stored here, also when its transcript is gone (interface §9.5). */
export interface TranscriptLine {
  /** SHA-256 of the turn or the line, with its agent. */
  readonly sha256: string;
  readonly memory_id: MemoryId;
  readonly host_kind: string;
  readonly transcript_path: string | null;
  /** The session with its agent, because two agents may use one name. */
  readonly host_session_id: string;
  readonly host_turn_index: number;
  readonly recovered_at: Instant;
}

/** A session as the table holds it. */
export const sessionKey = ({
  agent_id,
  host_session_id,
}: Pick<Transcript, 'agent_id' | 'host_session_id'>): string => `${agent_id}|${host_session_id}`;

export const transcriptLineKind = localKind<TranscriptLine>({
  name: 'transcript-line',
  table: 'transcript_line_dedup',
  key: ['sha256'],
  members: {
    sha256: 'text',
    memory_id: 'text',
    host_kind: 'text',
    transcript_path: 'text?',
    host_session_id: 'text',
    host_turn_index: 'integer',
    recovered_at: 'text',
  },
  indexes: [['host_session_id', 'host_turn_index']],
});
