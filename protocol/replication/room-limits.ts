// How room is made below `[storage] max_bytes`; shares are of that limit.

/** From here on the node warns. */
export const ROOM_WARN_SHARE = 0.8;
/** From here on memories go, until the database takes less than the next share. */
export const ROOM_MAKE_SHARE = 0.9;
export const ROOM_UNTIL_SHARE = 0.85;
/** A memory that nobody changed or read for so long is unused. */
export const ROOM_UNUSED_DAYS = 30;
export const ROOM_BATCH_MAX = 100;
/** Milliseconds between two looks at the room; a write wakes the look after the shorter time. */
export const ROOM_INTERVAL_MS = 5000;
export const ROOM_REST_MS = 500;
/** The look rests so many times as long as it took. */
export const ROOM_REST = 5;
