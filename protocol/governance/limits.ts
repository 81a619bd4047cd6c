// Limits of rules about actions; all others stand in protocol/limits.ts.

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
