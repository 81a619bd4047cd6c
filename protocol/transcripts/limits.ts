/** Limits of transcripts and offloaded contents, with their units. */

/** The text of one turn, and one offloaded content. */
export const TEXT_BYTES_MAX = 1024 * 1024;
/** What a blob may hold when it is decompressed. */
export const DECOMPRESSED_BYTES_MAX = 16 * 1024 * 1024;
/** The id of a session of a host, in characters. */
export const HOST_SESSION_LENGTH_MAX = 256;
/** The name and the version of a host, in characters. */
export const HOST_LENGTH_MAX = 64;
/** The path of the file from which a line was recovered. */
export const LINE_PATH_BYTES_MAX = 4096;
/** Calls of tools that a turn names, and what is said of one, in characters. */
export const TOOL_CALLS_MAX = 64;
export const TOOL_BRIEF_LENGTH_MAX = 200;
/** How far the instant of a turn may be ahead of this node's clock. */
export const TURN_AHEAD_MS = 300_000;
/** How long a transcript is kept, and how long when no memory is left of it. */
export const TRANSCRIPT_TTL_SECONDS = 30 * 86_400;
export const ARCHIVE_GRACE_SECONDS = 7 * 86_400;
export const TRANSCRIPT_TTL_SECONDS_MAX = 315_360_000;
/** Rows that one transaction of a sweep looks at. */
export const SWEEP_ROWS_MAX = 250;
/** How often transcripts and offloaded contents are looked through. */
export const TRANSCRIPT_SWEEP_MS = 86_400_000;
export const OFFLOAD_SWEEP_MS = 3_600_000;
/** The pause between two transactions of a sweep. */
export const SWEEP_PAUSE_MS = 10;
/** A longer text is left out of a replay that is not verbose. */
export const REPLAY_TEXT_BYTES_MAX = 102_400;
/** Transcripts on one page of a replay, and their text. */
export const REPLAY_LIMIT = 50;
export const REPLAY_BYTES_MAX = 8 * 1024 * 1024;
/** Owners of one content that the operator is shown. */
export const OFFLOAD_OWNERS_MAX = 16;
