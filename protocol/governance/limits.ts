// Governance: a part of the one list of limits, which holds it (protocol/limits.ts)

/** The policy of a namespace, as JSON text. */
export const GOVERNANCE_BYTES_MAX = 16_384;
/** The command of a pending action, as JSON text: a content whose letters are all escaped, and metadata. */
export const PENDING_COMMAND_BYTES_MAX = 786_432;
/** Votes on one action. */
export const APPROVALS_MAX = 1000;
/** Actions of one agent that wait at the same time on a node. */
export const PENDINGS_OPEN_MAX = 1000;
/** Pending actions in one answer (interface §8). */
export const PENDING_LIST_DEFAULT = 100;
export const PENDING_LIST_MAX = 1000;
export const REMEMBERED_LIST_MAX = 1000;
/** How long an action waits for its approval (decisions, "after a deny"). */
export const PENDING_SECONDS_MAX = 86_400;
/** How often the home looks for votes of other nodes and for actions that waited too long. */
export const PENDING_SWEEP_MS = 5000;
export const PENDINGS_SWEPT_MAX = 1000;
