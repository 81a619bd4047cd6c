/**
 * Every limit of the service, with its unit in its name (interface §8, decisions "Memory"). Limits that an operator
 * may tune are the defaults of their settings.
 */

// Memories
export const TITLE_LENGTH_MAX = 512;
export const CONTENT_BYTES_MAX = 65_536;
/** One file of an encoder that is installed. */
export const MODEL_FILE_BYTES_MAX = 8 * 1024 ** 3;
export const TAGS_MAX = 50;
export const TAG_BYTES_MAX = 128;
export const METADATA_BYTES_MAX = 65_536;
export const METADATA_DEPTH_MAX = 32;
export const SOURCE_BYTES_MAX = 64;
export const SOURCE_URI_BYTES_MAX = 4096;
export const CITATIONS_MAX = 64;
export const NAMESPACE_LENGTH_MAX = 512;
export const NAMESPACE_DEPTH_MAX = 8;
export const ID_LENGTH_MAX = 128;
export const AGENT_ID_LENGTH_MAX = 128;
export const TTL_SECONDS_MIN = 1;
export const TTL_SECONDS_MAX = 31_536_000;
export const PRIORITY_MIN = 1;
export const PRIORITY_MAX = 10;
export const ACCESS_COUNT_MAX = 1_000_000;
/** `on_conflict: version` tries `title (2)` up to this number. */
export const TITLE_VERSION_MAX = 1000;

// Payloads of peers: twice what a local write may have, so that a later release can raise its limits
export const REPLICATED_TITLE_BYTES_MAX = 8 * TITLE_LENGTH_MAX;
export const REPLICATED_CONTENT_BYTES_MAX = 2 * CONTENT_BYTES_MAX;
export const REPLICATED_TAGS_MAX = 2 * TAGS_MAX;
export const REPLICATED_TAG_BYTES_MAX = 2 * TAG_BYTES_MAX;
/** Metadata, and every other member that is a JSON value. */
export const REPLICATED_JSON_BYTES_MAX = 2 * METADATA_BYTES_MAX;
export const REPLICATED_JSON_DEPTH_MAX = 2 * METADATA_DEPTH_MAX;
export const REPLICATED_SOURCE_URI_BYTES_MAX = 2 * SOURCE_URI_BYTES_MAX;
export const REPLICATED_CITATIONS_MAX = 2 * CITATIONS_MAX;
/** A word, a label, an id of an entity or agent, and the text of an instant or signature. */
export const REPLICATED_WORD_BYTES_MAX = 4 * ID_LENGTH_MAX;
/** The highest version number of a memory; adding one to a number beyond 2^53 changes nothing. */
export const REPLICATED_VERSION_MAX = 4_294_967_294;

// Life cycle (reference-http §2.2)
export const TTL_SECONDS = { short: 21_600, mid: 7_776_000, long: null } as const;
/** A touch moves an expiry at least this far from now. */
export const EXTEND_SECONDS = { short: 3600, mid: 7_776_000, long: null } as const;
/** A mid row becomes long at this access. */
export const PROMOTE_ACCESS_COUNT = 5;
/** Life operations (expiry extension) of one row are at least this far apart, and this part of the extension. */
export const LIFE_INTERVAL_SECONDS = 3600;
export const LIFE_STEPS = 90;
/** A larger configured time to live or extension is reduced to this. */
export const TTL_CONFIGURED_SECONDS_MAX = 315_360_000;

// Federation
export const DLQ_REPLAY_BATCH_MIN = 64;
export const DLQ_REPLAY_BATCH_MAX = 2048;
/** Operations at the end of a log that are read on the caller's thread, and the text of their payloads. */
export const LOG_TAIL_OPERATIONS_MAX = 64;
export const LOG_TAIL_BYTES_MAX = 256 * 1024;
/** Characters of an origin, and of a word, in a header; a header of a later release must be readable too. */
export const HEADER_ORIGIN_LENGTH_MAX = 256;
/** Characters of the id of an operation: its origin, a slash, and its number. */
export const OPERATION_ID_LENGTH_MAX = HEADER_ORIGIN_LENGTH_MAX + 17;
export const HEADER_WORD_LENGTH_MAX = 128;
/** Characters of a subject and of a namespace in a header. */
export const HEADER_TEXT_LENGTH_MAX = 4096;
/** Origins in the version vector of an operation. */
export const HEADER_ORIGINS_SEEN_MAX = 4096;
/** Origins in a node's statement of what it has. */
export const HAVE_ORIGINS_MAX = 100_000;
/** Origins of one peer; it begins one at each restore of its database. Operations of further ones are refused. */
export const PEER_ORIGINS_MAX = 256;
/** A pull with a longer query travels as a body. */
export const PULL_QUERY_BYTES_MAX = 8192;
/** A longer answer of a peer is not read. */
export const PEER_REPLY_BYTES_MAX = 16 * 1024 * 1024;
/** Operations in one message; a cap on its bytes applies too. */
export const PUSH_OPERATIONS_MAX = 4096;
/** Operations on one page for a peer that catches up, and the text of their payloads. */
export const SYNC_SINCE_LIMIT = 500;
export const SYNC_SINCE_LIMIT_MAX = 10_000;
export const SYNC_PAGE_BYTES_MAX = 2 * 1024 * 1024;
/** Rows that one page of legacy catch-up examines to find rows that its peer may have. */
export const SYNC_ROWS_EXAMINED_MAX = 50_000;
/** A message is refused when its date is further than this from this node's clock, in either direction. */
export const MESSAGE_WINDOW_MS = 600_000;
/** How long the nonce of a dated message is remembered: the window in both directions, and a minute for clock changes. */
export const DATED_NONCE_KEPT_MS = 2 * MESSAGE_WINDOW_MS + 60_000;
/** How long the nonce of a message without a date is remembered. */
export const UNDATED_NONCE_KEPT_MS = 7 * 86_400_000;
/** Nonces that are remembered for one peer; at the limit its messages wait until some expire (429). */
export const NONCES_PER_PEER_MAX = 200_000;
export const QUORUM_TIMEOUT_MS = 2000;
export const QUORUM_TIMEOUT_MS_MAX = 600_000;
export const CATCHUP_INTERVAL_SECONDS = 30;
export const CATCHUP_INTERVAL_SECONDS_MAX = 86_400;

// Connections between peers (reference-federation §1.8)
export const PEER_CONNECT_TIMEOUT_MS = 2000;
export const PEER_IDLE_MS = 300_000;
/** The accepting side keeps an idle connection longer, so the side that opened it closes it. */
export const PEER_SERVER_IDLE_MS = 310_000;
export const PEER_KEEPALIVE_MS = 60_000;
export const PEER_CONNECTIONS_MAX = 8;
/** A hint is an origin and a number. */
export const HINT_BYTES_MAX = 1024;
export const PEER_RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
/** A client must finish its TLS handshake in this time. */
export const TLS_HANDSHAKE_MS = 10_000;
/** Claims of a peer that this node lost operations are ignored at most this long after one that came to nothing. */
export const DOUBT_REST_MS_MAX = 3_600_000;
/** How often files of certificates, allowlists and the roster are checked for changes. */
export const MESH_POLL_MS = 1000;

// Forming a mesh
export const MESH_PORT = 9177;
export const INVITE_TTL_SECONDS_MAX = 604_800;
export const ROSTER_ENTRIES_MAX = 1000;
export const FINGERPRINTS_OF_PEER_MAX = 8;
/** Certificates of one node that are valid at the same time: the current one and the one before. */
export const CERTIFICATES_KEPT = 2;
export const JOIN_BODY_BYTES_MAX = 65_536;
/** A whole roster with its signatures. */
export const ROSTER_BODY_BYTES_MAX = 4 * 1024 * 1024;
/** Every node exchanges its roster with one other node this often, and with all nodes at once after a change. */
export const ROSTER_EXCHANGE_MS = 15_000;

/** Ids that one call may archive (interface §8). */
export const ARCHIVE_IDS_MAX = 1000;
export const ARCHIVE_REASON_LENGTH_MAX = 128;
export const ARCHIVE_LIST_LIMIT = 50;
export const ARCHIVE_LIST_LIMIT_MAX = 1000;
export const ARCHIVE_DAYS_MAX = 36_500;
/** Rows that one transaction of a forget or a purge removes. */
export const REMOVE_BATCH_MAX = 500;
export const CONSOLIDATE_IDS_MIN = 2;
export const CONSOLIDATE_IDS_MAX = 100;
/** The smallest number of memories with the same namespace and first tag that auto-consolidate joins. */
export const CONSOLIDATE_GROUP_MIN = 3;
/** Groups that one auto-consolidate joins; the others wait for the next run. */
export const CONSOLIDATE_GROUPS_MAX = 100;
/** Newest ids that `metadata.supersedes` keeps. */
export const SUPERSEDES_MAX = 100;
export const DUPLICATE_THRESHOLD = 0.85;
/** The lowest accepted threshold (interface §8). */
export const DUPLICATE_THRESHOLD_MIN = 0.5;
/** Rows that a stored text is compared with for near duplicates, from each of two lists, and how many are named. */
export const NEAR_DUPLICATE_CANDIDATES_MAX = 20;
export const NEAR_DUPLICATES_MAX = 5;
/** The longest time that a store waits for this comparison, which runs during the write; without it, later. */
export const NEAR_DUPLICATE_WAIT_MS = 5;
/** The same where the operator has near duplicates refused: then the comparison comes before the write. */
export const NEAR_DUPLICATE_REFUSE_WAIT_MS = 50;
/** Operations that one round of the later comparison reads; it ends earlier after this time, so that no recall waits long. */
export const NEAR_DUPLICATE_ROUND_MAX = 8;
export const NEAR_DUPLICATE_ROUND_MS = 4;
/** The later comparison rests so many times as long as a round took, more while rows are written, and at most so long. */
export const NEAR_DUPLICATE_REST = 5;
export const NEAR_DUPLICATE_REST_WRITING = 20;
export const NEAR_DUPLICATE_REST_MAX_MS = 1000;
/**
 * Titles that a store compares with its own at a time, the share of words that they must have in common, and how many
 * it names.
 */
export const SIMILAR_TITLE_CANDIDATES_MAX = 20;
export const SIMILAR_TITLE_SHARE_MIN = 0.3;
export const POTENTIAL_CONTRADICTIONS_MAX = 5;
/** Stores that a process compares titles for: this many at once, and this many more each second. */
export const POTENTIAL_CONTRADICTIONS_BURST_MAX = 256;
export const POTENTIAL_CONTRADICTIONS_PER_SECOND = 8;
/** The longest time that a store waits for this comparison, which runs during the write. */
export const POTENTIAL_CONTRADICTIONS_WAIT_MS = 100;
export const CONTRADICTIONS_LIMIT = 50;
/** Memories that one reflection is about. */
export const REFLECT_SOURCES_MAX = 100;
/** How deep reflections go where no policy says it: one about a reflection about a reflection. */
export const REFLECTION_DEPTH_MAX = 3;
/** Links that are looked at to find out whether a new one closes a cycle of reflections. */
export const REFLECTION_LINKS_EXAMINED_MAX = 10_000;
/** Memories whose owners are told that the reflection was superseded on which they reflect. */
export const REFLECTION_DEPENDENTS_TOLD_MAX = 200;
/** Links that are shown beside a memory. */
export const MEMORY_LINKS_MAX = 1000;
/** Earlier periods and corrected ends that a link keeps; those of a peer may be more, as a later release may keep more. */
export const LINK_EARLIER_PERIODS_MAX = 100;
export const REPLICATED_EARLIER_PERIODS_MAX = 1000;
/** Links of one memory that an answer shows, and those that it looks at to find them. */
export const LINKS_LIMIT = 200;
export const LINKS_EXAMINED_MAX = 20_000;
/** Nonces of verifications that a process remembers for one caller, and the callers. */
export const VERIFY_NONCES_MAX = 1000;
export const VERIFY_CALLERS_MAX = 256;
/** Two ids of memories, a relation, and what joins them. */
export const LINK_ID_LENGTH_MAX = 2 * ID_LENGTH_MAX + 64;
export const VERIFY_NONCE_LENGTH_MAX = 256;
/** Synthesized pairs in one answer, and stored links in one answer. */
export const CONTRADICTION_PAIRS_MAX = 1000;
/** Pairs that one answer compares, the newest memories first. */
export const CONTRADICTION_COMPARISONS_MAX = 100_000;
/** Rows that the search for a topic reads, the most important first. */
export const CONTRADICTION_ROWS_READ_MAX = 20_000;

// Entities, standards and namespaces
/** Aliases of an entity, its canonical name included; merged ones of several nodes may be more. */
export const ENTITY_ALIASES_MAX = 100;
/** Aliases of an entity that an answer shows. */
export const ENTITY_ALIASES_READ_MAX = 1000;
/** Characters of an alias in the form in which aliases are compared, which can be longer than the alias. */
export const ALIAS_FOLDED_LENGTH_MAX = 1024;
/** Ids of an entity that follow from its name; more are needed only after it was removed that often. */
export const ENTITY_IDS_DERIVED = 4;
/** Entities with one alias that a look-up compares. */
export const ENTITY_MATCHES_MAX = 5000;
/** Namespaces of a chain of standards, `*` not counted. */
export const STANDARD_CHAIN_MAX = 32;
/** Content of the standards that a recall carries; the most general ones are left out first. */
export const STANDARDS_ATTACHED_BYTES_MAX = 131_072;
/** Namespaces that the answer to `set-standard` names, and standards that are looked at to find them. */
export const EXCEPTED_NAMESPACES_MAX = 100;
export const EXCEPTED_LOOKED_AT_MAX = 10_000;
export const TAXONOMY_DEPTH_MAX = 8;
export const TAXONOMY_LIMIT = 1000;
export const TAXONOMY_LIMIT_MAX = 10_000;

// Reading
export const PAGE_SIZE_MAX = 1000;
export const LIST_LIMIT = 20;
export const RECALL_LIMIT = 10;
export const RECALL_LIMIT_MAX = 50;
/** Estimated tokens that the texts of an answer share in which long ones are passages. */
export const PASSAGES_TOKENS = 1000;
/** A text of so many estimated tokens comes whole, however many rows there are. */
export const SHORT_TEXT_TOKENS = 120;
/** Each longer text has at least so many. */
export const PASSAGE_TOKENS_MIN = 40;
/** Namespaces that an empty answer names, because they lie below the one that was asked. */
export const NAMESPACES_BELOW_MAX = 5;
/** Namespaces that are compared with one that holds nothing, because it may be misspelt. */
export const NAMESPACES_COMPARED_MAX = 2000;
/** A recall or search of a subtree asks the full text for each namespace up to this number, then checks the rows. */
export const SUBTREE_TERMS_MAX = 64;
export const OFFSET_MAX = 1_000_000_000;
export const QUERY_LENGTH_MAX = 8192;
export const LOAD_FAMILY_LIMIT = 20;
export const LOAD_FAMILY_LIMIT_MAX = 100;
/** Text of the rows in one answer. A page that would hold more ends early and says so; it always holds one row. */
export const PAGE_BYTES_MAX = 8 * 1024 * 1024;
/** Rows that a recall session remembers, and sessions that a process remembers. */
export const SESSION_ROWS_MAX = 50;
export const SESSIONS_MAX = 1000;
export const SESSION_ID_LENGTH_MAX = 128;
/** Rows with which a session starts, and tokens of their text. */
export const SESSION_START_LIMIT = 10;
export const SESSION_START_LIMIT_MAX = 50;
export const SESSION_START_TOKENS = 4096;
/** Rows that are looked at for them, because near duplicates count as one. */
export const SESSION_START_LOOKED_AT_MAX = 500;
/** Near duplicates that a row of a session names. */
export const SIMILAR_NAMED_MAX = 5;

// The knowledge graph (interface §8, reference-http §3.6, reference-mcp-cli §1.3)
export const KG_DEPTH_MAX = 5;
export const KG_LIMIT = 200;
export const KG_LIMIT_MAX = 1000;
export const KG_AGENTS_MAX = 1000;
export const TIMELINE_LIMIT = 200;
export const TIMELINE_LIMIT_MAX = 1000;
export const PATH_DEPTH = 4;
export const PATH_DEPTH_MAX = 7;
export const PATH_RESULTS = 10;
export const PATH_RESULTS_MAX = 50;
export const LINEAGE_DEPTH_MAX = 5;
/** Memories in the answer of a lineage, and of the question for dependents. */
export const LINEAGE_MEMORIES_MAX = 5000;
/** Links that one walk reads and memories that it visits. */
export const TRAVERSAL_LINKS_MAX = 100_000;
/** How long one walk may keep a reader from other reads; as many links take a third of it on an idle machine. */
export const TRAVERSAL_MS_MAX = 1000;

// Export and import (interface §4.10)
/** An export without paging is refused above either of these. */
export const EXPORT_MEMORIES_MAX = 10_000;
export const EXPORT_BYTES_MAX = 16 * 1024 * 1024;
export const EXPORT_PAGE_SIZE = 1000;
export const EXPORT_LINKS_MAX = 20_000;
/** The cursor of a record contains its id. */
export const EXPORT_CURSOR_LENGTH_MAX = 8192;
export const IMPORT_MEMORIES_MAX = 1000;
/** Records that one request may read by their ids. */
export const READ_RECORDS_MAX = 1000;
/** One memory of an imported file, as JSON text. */
export const IMPORT_ROW_BYTES_MAX = 1024 * 1024;
/** Lets a version number grow: beyond 2^53 adding one changes nothing. */
export const IMPORT_VERSION_MAX = 2_147_483_647;
export const BACKUPS_KEPT = 48;

// Identity
/** A signed write is fresh for this long before and after this node's clock. */
export const SIGNED_WRITE_FRESHNESS_MS = 300_000;
/**
 * A used envelope is remembered for this long after its window, because writes wait in queues and clocks are set back.
 */
export const USED_ENVELOPE_KEPT_MS = 86_400_000;
/** Public keys that a process keeps imported, because an import costs a large part of a verification. */
export const PUBLIC_KEYS_IMPORTED_MAX = 4096;

// Quotas of one agent in one namespace (interface §8); a day is a UTC day
export const MEMORIES_PER_DAY_MAX = 1000;
export const STORAGE_BYTES_MAX = 100 * 1024 * 1024;
export const LINKS_PER_DAY_MAX = 5000;
/** What an agent may write into the log in a day, over all namespaces, as a multiple of its storage bytes. */
export const WRITTEN_PER_STORED_BYTE = 10;
/** Registrations of new or changed agents that a node takes in a day. */
export const REGISTRATIONS_PER_DAY_MAX = 1000;
/** A registration that changes nothing else writes the date of the last contact at most this often. */
export const LAST_SEEN_INTERVAL_SECONDS = 3600;
/** Agents whose written bytes the writer keeps between transactions. */
export const WRITTEN_TOTALS_MAX = 1024;
export const AGENT_CAPABILITIES_MAX = 64;
export const AGENT_CAPABILITY_LENGTH_MAX = 128;
export const AGENT_LIST_LIMIT_MAX = 1000;
/** Earlier keys of an agent whose signatures still count. */
export const AGENT_KEYS_BEFORE_MAX = 32;
/** Agents whose keys a connection keeps in memory. */
export const AGENT_KEYS_KEPT_MAX = 10_000;

// Audit chain
/** Rows that a verification reads at a time. */
export const AUDIT_PAGE_ROWS = 1000;

// Requests
export const REQUEST_BODY_BYTES_MAX = 2 * 1024 * 1024;
/** Objects and arrays inside each other in a JSON body; metadata, inside the body, has a lower limit. */
export const BODY_DEPTH_MAX = 64;
export const REQUEST_DEADLINE_MS = 60_000;
export const REQUEST_URL_BYTES_MAX = 16_384;
export const CONNECTIONS_MAX = 4096;
/** Connections of one source that have sent no request; beyond that the oldest is closed. */
export const SILENT_CONNECTIONS_PER_SOURCE_MAX = 256;
/** What many clients that start at the same time need to send their first requests. */
export const SILENT_CONNECTION_GRACE_MS = 1000;
/** The head of a request must arrive in this time. */
export const REQUEST_HEAD_MS = 10_000;
/** How often that is checked. */
export const CONNECTIONS_CHECK_MS = 5000;
/** Bytes of request bodies that a listener holds over all connections; a further body is answered OVERLOADED. */
export const BODIES_HELD_BYTES_MAX = 64 * 1024 * 1024;
/** What a piece of a body costs besides its bytes, so that many small pieces do not escape that limit. */
export const BODY_PIECE_BYTES = 256;
/** Bytes of answers that wait for their clients; beyond that, only small answers and those to writes are sent. */
export const ANSWERS_UNSENT_BYTES_MAX = 256 * 1024 * 1024;
/** Answers up to this size are sent in any case. */
export const ANSWER_SMALL_BYTES_MAX = 4096;
/** Requests that wait for an earlier one of their connection, over all connections; beyond that, the connection ends. */
export const REQUESTS_WAITING_MAX = 10_000;
/** Smaller answers are sent uncompressed: gzip would hardly shorten them. */
export const GZIP_BYTES_MIN = 1024;
/** Answers up to this size are compressed at once (about 0.3 ms), larger ones outside the main thread. */
export const GZIP_INLINE_BYTES_MAX = 65_536;

// Wrong API keys (reference-http §9, #2502)
/** Wrong keys that a source may present before it must wait. */
export const AUTH_FAILURES_FREE = 5;
/** The first wait; each further wrong key doubles it. */
export const AUTH_BACKOFF_FIRST_MS = 1000;
export const AUTH_BACKOFF_MAX_MS = 300_000;
/** Sources whose wrong keys are remembered; at the limit the longest idle source is dropped. */
export const AUTH_SOURCES_MAX = 4096;
/** A writer outside the daemon waits this long for the database lock before it answers OVERLOADED. */
export const WRITE_DEADLINE_MS = 30_000;

// Group commit and mailboxes (design: architecture, "Where SQLite runs")
export const BATCH_COMMANDS_MAX = 256;
export const BATCH_BYTES_MAX = 1024 * 1024;
/** The time after which a batch of commands ends before its next command. */
export const BATCH_MS = 50;
export const WRITER_MAILBOX_MESSAGES_MAX = 8192;
export const WRITER_MAILBOX_BYTES_MAX = 64 * 1024 * 1024;
export const READER_MAILBOX_MESSAGES_MAX = 8192;
export const READER_MAILBOX_BYTES_MAX = 64 * 1024 * 1024;
/** Distinct memories whose touches wait to be written; further touches are dropped, memories never are. */
export const TOUCHES_PENDING_MAX = 10_000;
export const TOUCH_FLUSH_INTERVAL_MS = 2000;
export const TOUCH_BATCH_MAX = 100;

// Several processes on one database
/** An inline writer leaves the lock to other processes for this long after a commit, while others write. */
export const INLINE_YIELD_MS = 2;
/** Another process counts as writing for this long after its last commit. */
export const INLINE_OTHERS_MS = 1000;
/** A process that writes alone pauses once in this time, so that others can begin. */
export const INLINE_ALONE_MS = 50;
export const OWNER_LEASE_MS = 10_000;
export const OWNER_RENEW_MS = 3000;
export const CHANGE_POLL_MS = 25;
/** How often a process looks whether the owner of the database has ended. */
export const OWNER_WATCH_MS = 250;
/** A recall waits this long for this process to take over from an owner that has ended. */
export const OWNER_TAKEOVER_MS = 1000;
export const PARENT_POLL_MS = 1000;

// Maintenance
export const GC_INTERVAL_MS = 1_800_000;
export const GC_BATCH_MAX = 500;
/** Rows that the background embedding reads at a time, and that one transaction stores. */
export const EMBED_BATCH_MAX = 100;
export const EMBED_STORE_ROWS_MAX = 32;
/** Rows that one transaction lets wait for new vectors. */
export const REEMBED_ROWS_MAX = 2000;
/** Texts that are indexed again in one transaction, and about how many characters. */
export const REINDEX_ROWS_MAX = 200;
export const REINDEX_CHARACTERS_MAX = 100_000;
/**
 * A recall waits this long for a model and a vector index of this machine, also while they load, before it answers by
 * words. They answer in order, and fail at once when they fail, so only a machine that is far too busy reaches it.
 */
export const MEANING_WAIT_MS = 10_000;
/** A recall waits this long for an embedding service, which may be slow or silent without an end. */
export const SERVICE_EMBED_WAIT_MS = 3000;
/** Cached query vectors of an embedder. */
export const CACHED_QUERIES_MAX = 512;
/** Queries that wait for an embedder; more are OVERLOADED. */
export const EMBED_QUERIES_MAX = 64;
/** One request to an embedding service (interface §2.12, reference-mcp-cli §4). */
export const EMBED_REQUEST_TEXTS_MAX = 32;
export const EMBED_REQUEST_CHARACTERS_MAX = 65_536;
export const EMBED_CONNECTIONS_MAX = 8;
export const EMBED_CONNECT_TIMEOUT_MS = 5000;
export const EMBED_REQUEST_TIMEOUT_MS = 30_000;
export const EMBED_RESPONSE_BYTES_MAX = 16 * 1024 * 1024;
/** Tokens of one window of a memory, for a model that reads more. */
export const EMBED_WINDOW_TOKENS_MAX = 512;
/** Vectors that the index hands to the ranking. */
export const VECTOR_HITS_MAX = 100;
/** Nearest rows that the index examines, at most, to find rows that pass the filters. */
export const VECTOR_CANDIDATES_MAX = 8192;
/** Hits that a filtered search asks for: when few rows pass, each hit costs many rows that do not. */
export const VECTOR_FILTERED_HITS_MAX = 50;

// Shutdown
export const SHUTDOWN_GRACE_MS = 30_000;

/** Characters of the notes in a campaign's record (interface §2.11). */
export const CAMPAIGN_NOTES_CHARACTERS_MAX = 500;
/** Largest campaign log that is checked as a whole. */
export const CAMPAIGN_FILE_BYTES_MAX = 64 * 1024 * 1024;

// The mesh
/** An operation stamped further ahead of the receiver's clock than this is refused (design: mesh). */
export const CLOCK_AHEAD_MS_MAX = 60_000;
// Anti-entropy and scrub (design: mesh)
/** Time between two comparisons of the replicated rows with one peer. */
export const ENTROPY_INTERVAL_MS = 60_000;
/** Subjects of differing ranges in one answer; it holds at least one range. */
export const RANGE_SUBJECTS_MAX = 5000;
/** Operations that one message asks a peer for. */
export const RANGE_OPERATIONS_MAX = 200;
/** Namespaces that one comparison repairs, and that one answer names. */
export const RANGE_NAMESPACES_MAX = 64;
/** Names of namespaces with their digests in one question, as JSON; it holds at least one name. */
export const RANGE_NAMESPACES_BYTES_MAX = 256 * 1024;
/** Globs of a scope in one message. */
export const RANGE_GLOBS_MAX = 1000;
/** Digests of namespaces that one query looks at. */
export const DIGESTS_LOOKED_MAX = 5000;
/** Comparisons with a peer that fail in a row before people are told. */
export const COMPARISONS_FAILED_MAX = 3;
/** Subjects that one transaction repairs. */
export const REPAIR_SUBJECTS_MAX = 100;
export const SCRUB_INTERVAL_DAYS = 7;
export const SCRUB_INTERVAL_DAYS_MAX = 365;
/** Memories whose earlier versions one list reads from the log. */
export const KNOWN_AT_CHANGED_MAX = 5000;
export const PAYLOAD_KEPT_DAYS = 90;
export const PAYLOAD_KEPT_DAYS_MAX = 36_500;

/** Adoptions of one node that are read. */
export const ADOPTIONS_MAX = 1000;
/** Homes of one subject after each other; each adoption is the next. A fencing token with it in front is exact. */
export const HOME_NUMBER_MAX = 2_000_000;

export * from './coordination-limits.js';
export * from './job-limits.js';
export * from './local-limits.js';
export * from './rule-limits.js';
export * from './webhook-limits.js';
