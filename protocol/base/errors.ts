/**
 * The one error table. A code maps to the HTTP status, the JSON-RPC code and the exit code of the command line.
 * Codes are stable and append-only (interface §7, reference-http §7).
 */
export interface ErrorRow {
  /** HTTP status. */
  readonly http: number;
  /**
   * JSON-RPC error code for failures of the protocol itself; absent for domain errors, which MCP answers as a tool
   * result with `isError: true`.
   */
  readonly jsonRpc?: number;
  /** Exit code of the command line: 1 for a refused or failed operation, 2 for bad arguments. */
  readonly exit: number;
}

export const ERRORS = {
  VALIDATION_FAILED: { http: 400, jsonRpc: -32602, exit: 2 },
  INVALID_ARGUMENT: { http: 400, jsonRpc: -32602, exit: 2 },
  UNKNOWN_FIELD: { http: 400, jsonRpc: -32602, exit: 2 },
  MALFORMED_BODY: { http: 400, jsonRpc: -32700, exit: 2 },
  INVALID_REQUEST: { http: 400, jsonRpc: -32600, exit: 2 },
  AMBIGUOUS_ID_PREFIX: { http: 400, exit: 1 },
  UNAUTHORIZED: { http: 401, exit: 1 },
  /** A peer's nonce was used before (interface §5.2). */
  x_memory_nonce_replay: { http: 401, exit: 1 },
  // Messages of peers that are not authenticated (reference-federation §1.2).
  x_memory_nonce_missing: { http: 401, exit: 1 },
  x_memory_sig_missing: { http: 401, exit: 1 },
  x_memory_sig_unknown_algorithm: { http: 401, exit: 1 },
  x_memory_sig_malformed: { http: 401, exit: 1 },
  x_memory_sig_bad_signature: { http: 401, exit: 1 },
  x_peer_id_not_in_allowlist: { http: 401, exit: 1 },
  /** The peer is allowed to contact this node, but its key is missing here. */
  peer_not_enrolled: { http: 401, exit: 1 },
  peer_id_cert_mismatch: { http: 401, exit: 1 },
  peer_id_cert_unbound: { http: 401, exit: 1 },
  /** The message's date is too far from this node's clock; it may be a replay of an old message. */
  message_out_of_time: { http: 401, exit: 1 },
  /** The signed message names another node as its receiver; somebody passed it on. */
  x_memory_receiver_mismatch: { http: 401, exit: 1 },
  /** The message names no receiver, and earlier messages of its sender did. */
  x_memory_receiver_missing: { http: 401, exit: 1 },
  peer_id_header_missing: { http: 403, exit: 1 },
  sender_agent_id_mismatch: { http: 403, exit: 1 },
  /** A peer has used more nonces than the node remembers; the message itself is valid. */
  PEER_THROTTLED: { http: 429, exit: 75 },
  ATTESTATION_FAILED: { http: 403, exit: 1 },
  ADMIN_REQUIRED: { http: 403, exit: 1 },
  FORBIDDEN: { http: 403, exit: 1 },
  agent_id_body_header_mismatch: { http: 403, exit: 1 },
  agent_id_query_header_mismatch: { http: 403, exit: 1 },
  NOT_FOUND: { http: 404, exit: 1 },
  ROUTE_NOT_FOUND: { http: 404, jsonRpc: -32601, exit: 2 },
  METHOD_NOT_ALLOWED: { http: 405, jsonRpc: -32601, exit: 2 },
  UNKNOWN_TOOL: { http: 404, jsonRpc: -32601, exit: 2 },
  REQUEST_TIMEOUT: { http: 408, exit: 75 },
  AUTH_BACKOFF: { http: 429, exit: 75 },
  CONFLICT: { http: 409, exit: 1 },
  VERSION_CONFLICT: { http: 409, exit: 1 },
  /** The memory was erased on every node: no memory gets its id again. */
  ERASED: { http: 410, exit: 1 },
  ATTESTATION_REPLAYED: { http: 409, exit: 1 },
  /** The link would close a cycle of reflections. */
  REFLECTION_CYCLE_DETECTED: { http: 409, exit: 1 },
  /** The reflection would be deeper than the policies of its namespace let reflections be. */
  REFLECTION_DEPTH_EXCEEDED: { http: 409, exit: 1 },
  /** There is no reflection about the entity, of which its persona would be written. */
  NO_REFLECTIONS: { http: 409, exit: 1 },
  /** The sources give another depth than the caller says. */
  CALLER_DEPTH_MISMATCH: { http: 409, exit: 1 },
  /** The same verification was asked for with this nonce before. */
  VERIFICATION_REPLAYED: { http: 409, exit: 1 },
  QUOTA_EXCEEDED: { http: 429, exit: 1 },
  ARCHIVE_RESTORE_COLLISION: { http: 409, exit: 1 },
  EXPORT_PAGING_REQUIRED: { http: 413, exit: 1 },
  PAYLOAD_TOO_LARGE: { http: 413, jsonRpc: -32600, exit: 2 },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, exit: 2 },
  AUDIT_CHAIN_BROKEN: { http: 500, exit: 1 },
  /** The audit chain is whole as far as this home can judge: its end is signed by keys of other homes only. */
  AUDIT_KEY_WANTED: { http: 409, exit: 5 },
  INTERNAL: { http: 500, jsonRpc: -32603, exit: 70 },
  DATABASE_ERROR: { http: 500, exit: 70 },
  /** A row does not match what was written; it waits for its repair. */
  DATA_DAMAGED: { http: 500, exit: 70 },
  OVERLOADED: { http: 503, exit: 75 },
  UNAVAILABLE: { http: 503, exit: 75 },
  SHUTTING_DOWN: { http: 503, exit: 75 },
  STORAGE_FULL: { http: 507, exit: 74 },
  DEADLINE: { http: 504, exit: 75 },
  ACTOR_RESTARTED: { http: 503, exit: 75 },
  MIGRATION_REFUSED: { http: 500, exit: 78 },
  CONFIG_INVALID: { http: 500, exit: 78 },
  /** Only the home node of a subject may change it. */
  NOT_HOME: { http: 409, exit: 1 },
  /** The home of a subject did not answer; as far as this node knows, nothing was changed. */
  HOME_UNREACHABLE: { http: 503, exit: 75 },
  /** A backup without a usable manifest, or with the manifest of another file. */
  BACKUP_UNVERIFIED: { http: 400, exit: 1 },
  /** A backup whose bytes differ from those that were written. */
  BACKUP_DAMAGED: { http: 400, exit: 1 },
  /** A file of another program, or of a release that this one cannot read. */
  BACKUP_UNSUPPORTED: { http: 400, exit: 1 },
  DATABASE_IN_USE: { http: 503, exit: 75 },
  /** The disk of the database, or of the file to be written, is mounted read-only. */
  STORAGE_READ_ONLY: { http: 507, exit: 74 },
  /** The node's clock is so far ahead of its peers' that they would not take a write; nothing was changed. */
  CLOCK_AHEAD: { http: 503, exit: 75 },
  /** A walk through the graph would read too much or take too long; the details hold the part that was found. */
  TRAVERSAL_BUDGET_EXCEEDED: { http: 422, exit: 1 },
  /** A policy, a rule or an approver refuses the action, or its policy cannot be evaluated. */
  GOVERNANCE_REFUSED: { http: 403, exit: 1 },
  /** The action must wait for its approval; the pipeline puts it aside and answers that. */
  APPROVAL_REQUIRED: { http: 403, exit: 1 },
  /** The action was put aside; every surface answers it as accepted. */
  APPROVAL_PENDING: { http: 202, exit: 0 },
  /** A hook denies the call, or one that must agree failed. */
  HOOK_VETO: { http: 403, exit: 1 },
  /** A text holds a key, a token or a password, which this node does not store. */
  SECRET_REFUSED: { http: 403, exit: 1 },
  PENDING_ACTION_NOT_FOUND: { http: 404, exit: 1 },
  /** The action was decided, or it expired. */
  PENDING_ACTION_STATE_INVALID: { http: 409, exit: 1 },
  /** No move leads from the state of the action to the other. */
  ILLEGAL_TRANSITION: { http: 400, exit: 1 },
  /** The action was in another state than the caller expected. */
  ACTION_STATE_CHANGED: { http: 409, exit: 1 },
  /** The action waits for others. */
  ACTION_BLOCKED: { http: 409, exit: 1 },
  /** The edge would make actions wait for each other. */
  ACTION_CYCLE: { http: 409, exit: 1 },
  /** Another holder has the lease. */
  LEASE_HELD: { http: 409, exit: 1 },
  /** The lease that the caller had has ended, or its fencing token is not the last one. */
  LEASE_LOST: { http: 409, exit: 1 },
  /** While an action is leased, only the holder moves it. */
  NOT_LEASE_HOLDER: { http: 403, exit: 1 },
  /** The turn of a session was captured with another text. */
  TURN_CONFLICT: { http: 409, exit: 1 },
  /** The key that signed a turn is not one of the hosts that the operator trusts. */
  HOST_PUBKEY_NOT_ENROLLED: { http: 400, exit: 1 },
  /** A stored text is not the one whose digest it carries, or it cannot be read. */
  CONTENT_DAMAGED: { http: 500, exit: 70 },
  /** The checkpoint was resolved or rejected before, or its deadline has passed. */
  CHECKPOINT_RESOLVED: { http: 409, exit: 1 },
  /** A draft of a routine cannot be run. */
  ROUTINE_NOT_FROZEN: { http: 409, exit: 1 },
  /** No chat model is configured for it, or it does not answer now. */
  LLM_UNAVAILABLE: { http: 503, exit: 75 },
  /** The chat model refused the request, or its answer cannot be used. */
  LLM_FAILED: { http: 502, exit: 1 },
  /** The requests to chat models of this day are used up. */
  LLM_LIMIT: { http: 429, exit: 75 },
  /** The job is in a state that the change does not fit. */
  JOB_STATE_INVALID: { http: 409, exit: 1 },
  /** The job that gives the command runs no longer: it was paused, cancelled, or begun by another process. */
  JOB_ENDED: { http: 409, exit: 1 },
  /** The operation needs a chat model, and none is configured. */
  TIER_LOCKED: { http: 403, exit: 3 },
  /** The memory is an atom of an atom of an atom, and is not split again. */
  ATOMISATION_DEPTH_EXCEEDED: { http: 409, exit: 7 },
  /** No token of this mesh, or one that was changed. */
  TOKEN_INVALID: { http: 401, exit: 1 },
  /** The token has expired, or is not valid yet. */
  TOKEN_EXPIRED: { http: 401, exit: 1 },
  /** The token, one that it was narrowed from, or the right to mint it was taken away. */
  TOKEN_REVOKED: { http: 401, exit: 1 },
  /** The token is valid and not for this: another operation, namespace or agent. */
  TOKEN_SCOPE: { http: 403, exit: 1 },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The row of a code. */
export const errorRow = (code: ErrorCode): ErrorRow => ERRORS[code];
