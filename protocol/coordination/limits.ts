import { METADATA_BYTES_MAX, TITLE_LENGTH_MAX } from '../base/limits.js';

/** Limits of signals, checkpoints and routines, with their units. */

/** A subject, a title or a name, in characters. */
export const NAME_LENGTH_MAX = TITLE_LENGTH_MAX;
/** A body, a condition, a template, a list of parameters, arguments or metadata, as JSON. */
export const JSON_BYTES_MAX = METADATA_BYTES_MAX;
/** A resolution and its note. */
export const RESOLUTION_BYTES_MAX = 4096;
/** A correlation id, the id of what a signal answers, and each of its references. */
export const REFERENCE_BYTES_MAX = 256;
export const REFERENCES_MAX = 64;
/** Rows of one list. */
export const COORDINATION_LIST_LIMIT = 50;
/** Agents that may resolve one checkpoint. */
export const APPROVERS_MAX = 100;
/** How far the instant under a signature may be from the clock of the node that takes it. */
export const SIGNED_SKEW_MS = 300_000;
/** Rows that one transaction of a sweep removes or ends. */
export const SWEEP_BATCH_MAX = 250;
/** How often sweeps look, in milliseconds. */
export const SWEEP_MS = 60_000;
/** How often the home looks for deadlines that have passed, in milliseconds. */
export const DEADLINES_MS = 5000;
/** Records with one id, which several nodes may have made. */
export const SAME_ID_MAX = 16;
/** Actions of one template, and what a template with its arguments may come to, in bytes. */
export const ROUTINE_ACTIONS_MAX = 100;
export const RUN_BYTES_MAX = 1024 * 1024;
