/** One request to a chat model (reference-mcp-cli §4). */
export const MODEL_CALL_TIMEOUT_MS = 30_000;
export const MODEL_CONNECT_TIMEOUT_MS = 5000;
export const MODEL_RESPONSE_BYTES_MAX = 16 * 1024 * 1024;
/** Questions that a process asks at the same time, and those that wait for their turn. */
export const MODEL_QUESTIONS_MAX = 4;
export const MODEL_QUESTIONS_WAITING_MAX = 32;
/** Requests to chat models in a day; 0 permits any number. */
export const MODEL_CALLS_PER_DAY = 0;
/** Bytes of one text of a memory that a chat model is shown. */
export const MODEL_TEXT_BYTES_MAX = 24 * 1024;
/** How long the start of a session waits for its summary. */
export const SESSION_SUMMARY_MS = 5000;
/** Days for which the use of models is kept. */
export const MODEL_USE_DAYS = 90;
/** Characters of an answer that a reader looks at. */
export const MODEL_ANSWER_CHARACTERS_MAX = 65_536;
/** The first rows of a ranking that a reranker orders (reference-gaps §8), and the share of its word. */
export const RERANK_ROWS_MAX = 20;
export const RERANK_WEIGHT = 0.4;
/** Estimated tokens of a text that a reranker reads. */
export const RERANK_TEXT_TOKENS = 250;
/** One request to a reranker: a recall waits for it. */
export const RERANK_TIMEOUT_MS = 1000;
export const RERANK_CONNECT_TIMEOUT_MS = 1000;
export const RERANK_RESPONSE_BYTES_MAX = 256 * 1024;
/** Requests at the same time; further recalls keep the order of the ranking. */
export const RERANK_REQUESTS_MAX = 8;
