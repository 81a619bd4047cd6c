/** Limits that only hooks have, with their units. */

/** Children of the kind exec that run at the same time. */
export const HOOK_CHILDREN_MAX = 8;
/** Runs that wait for their child, for all hooks of the kind exec, and for each of the kind daemon. */
export const HOOK_WAITING_MAX = 512;
/** What a hook may write to its standard output for one run. */
export const HOOK_OUTPUT_BYTES_MAX = 256 * 1024;
/** The end of its standard error that is kept for the log. */
export const HOOK_ERRORS_BYTES_MAX = 4096;
/** Events that have happened and wait for their hooks; further ones are dropped and counted. */
export const HOOK_EVENTS_WAITING_MAX = 256;
export const HOOK_EVENTS_WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** Chains about what has happened that run at the same time. */
export const HOOK_EVENTS_RUNNING_MAX = 4;
/** How long the end of a process waits for the hooks of what has happened. */
export const HOOK_DRAIN_MS = 5000;
/** How long it then waits for the children, one of which may not be ended. */
export const HOOK_END_MS = 5000;
/** Questions to the operator that are open at the same time; for a further one its default applies at once. */
export const HOOK_QUESTIONS_MAX = 100;
/** A question ends this long before its request would be answered in any case. */
export const HOOK_QUESTION_MARGIN_MS = 1000;
/** Failed starts of a child in a row after which it rests, and for how long. */
export const HOOK_STARTS_MAX = 5;
export const HOOK_REST_MS = 30_000;
/** A child that did not answer in time may still answer the run this long after its beginning. */
export const HOOK_LATE_MS = 1000;
/** How long what the rules say about a program is remembered. */
export const HOOK_LOOK_MS = 1000;
/** The file of hooks is looked at before a call, unless it was so shortly before. */
export const HOOK_FILE_LOOK_MS = 20;
/** A file that changed so shortly ago may be half written. */
export const HOOK_FILE_STILL_MS = 500;
/** Memories that one call looks up at the same time before its hooks run. */
export const HOOK_LOOKUPS_AT_ONCE = 8;
