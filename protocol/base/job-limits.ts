// Durable jobs: a part of the one list of limits, which holds it (protocol/base/limits.ts)

/** The input of a job, its result, and all that its steps keep, as JSON text. */
export const JOB_INPUT_BYTES_MAX = 16_384;
export const JOB_RESULT_BYTES_MAX = 16_384;
export const JOB_STEPS_BYTES_MAX = 262_144;
/** What is kept of the message of a failure. */
export const JOB_ERROR_LENGTH_MAX = 500;
/** Jobs that are done at the same time; those of one type and agent are done one after the other. */
export const JOBS_AT_ONCE = 4;
export const JOB_TURNS_PER_SECOND = 50;
/** How often the owner of the database looks for jobs, and whether those under way were paused or cancelled. */
export const JOB_POLL_MS = 500;
/** How often it looks whether there is room for another one. */
export const JOB_ROOM_MS = 50;
/** How long one run may take. */
export const JOB_RUN_MS_MAX = 600_000;
/** Waits after failed attempts: the first, and the longest; each is twice the one before. */
export const JOB_RETRY_MS = 60_000;
export const JOB_RETRY_MS_MAX = 3_600_000;
/** Waits while what a job needs is not there, which is no failure of the job. */
export const JOB_WAIT_MS = 5000;
export const JOB_WAIT_MS_MAX = 600_000;
/** When so many jobs fail at a model, and none is done, the model is at fault. */
export const JOBS_FAILED_TOGETHER = 3;
/** A job is planned at most until the next day; one that lies further ahead was planned before the clock was set back. */
export const JOB_AHEAD_MS_MAX = 90_000_000;
/** How often the process may end while a job runs until the job counts as the cause. */
export const JOB_INTERRUPTIONS_MAX = 10;
/** How long a job is kept after its end. */
export const JOB_KEPT_SECONDS = 7 * 86_400;
export const JOB_PRUNE_MS = 60_000;
/** Jobs that one command changes or drops, and that one answer lists. */
export const JOBS_CHANGED_MAX = 1000;
export const JOBS_LISTED_MAX = 1000;
