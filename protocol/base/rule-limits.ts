// Governance: a part of the one list of limits, which holds it (protocol/base/limits.ts)

/** The policy of a namespace, as JSON text. */
export const GOVERNANCE_BYTES_MAX = 16_384;
/** The command of a pending action, as JSON text: a content whose letters are all escaped, and metadata. */
export const PENDING_COMMAND_BYTES_MAX = 786_432;
/** Rows that one action is about, and gates at which it waits: those of the largest bulk, and some more. */
export const PENDING_ROWS_MAX = 2048;
/** The id of such a row; that of a link joins the ids of two memories. */
export const PENDING_ROW_ID_BYTES_MAX = 1024;
/** Votes on one action. */
export const APPROVALS_MAX = 1000;
/** Actions of one agent that wait at the same time on a node. */
export const PENDINGS_OPEN_MAX = 1000;
/** Pending actions in one answer (interface §8). */
export const PENDING_LIST_DEFAULT = 100;
export const PENDING_LIST_MAX = 1000;
/** Text of the actions in one answer; the newest come first, and the first one always. */
export const PENDING_LIST_BYTES_MAX = 4_194_304;
export const REMEMBERED_LIST_MAX = 1000;
/** Policies in the summary of the capabilities; also rules. */
export const RULE_SUMMARY_MAX = 50;
/** How long an action waits for its approval (decisions, "after a deny"). */
export const PENDING_SECONDS_MAX = 86_400;
/** How often the home looks for votes of other nodes and for actions that waited too long. */
export const PENDING_SWEEP_MS = 5000;
export const PENDINGS_SWEPT_MAX = 1000;
/** How long an action stays after its decision, with its votes; longer than it waits, so its late votes find it expired. */
export const PENDING_KEPT_SECONDS = 2_592_000;
/** Decided actions, and stray votes, that one round removes. */
export const PENDINGS_DROPPED_MAX = 100;
/** Refusals by policies that the audit chain records in a UTC day. */
export const POLICY_REFUSALS_OF_AGENT_MAX = 100;
export const POLICY_REFUSALS_OF_NODE_MAX = 1000;

/** Rules about actions that a node keeps; each is read when an action of its kind is checked. */
export const RULES_MAX = 1000;
/** A text in the matcher of a rule. */
export const RULE_TEXT_LENGTH_MAX = 1024;
export const RULE_MATCHER_BYTES_MAX = 16_384;
export const RULE_REASON_LENGTH_MAX = 1000;
/** A text of an action that is checked, such as a command or a path. */
export const ACTION_TEXT_LENGTH_MAX = 65_536;
export const ACTION_PATH_LENGTH_MAX = 4096;
export const ACTION_ARGS_MAX = 4096;
export const ACTION_PAYLOAD_BYTES_MAX = 65_536;
