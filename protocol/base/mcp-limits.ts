/** The text of a list that a tool answers: what hosts hand to their models without cutting it, about 25,000 tokens. */
export const MCP_ANSWER_BYTES_MAX = 96 * 1024;
/** A line of the MCP stream; the reference accepts the same. */
export const MCP_LINE_BYTES_MAX = 16 * 1024 * 1024;
