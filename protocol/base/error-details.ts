import type { ErrorCode } from './errors.js';

interface Fields {
  /** The members of the input that are wrong. */
  readonly fields?: readonly string[];
}

interface Later {
  /** When the request can be repeated. */
  readonly retry_after_secs?: number;
}

/** What a failure says to programs besides its code; never a secret. A code that is not listed has no details. */
export interface ErrorDetails {
  readonly VALIDATION_FAILED: Fields & {
    readonly max?: number;
    readonly count?: number;
    readonly hint?: string;
    readonly valid_from?: string | null;
  };
  readonly INVALID_ARGUMENT: Fields & { readonly reason?: string };
  readonly UNKNOWN_FIELD: Fields;
  readonly INVALID_REQUEST: Fields;
  readonly ATTESTATION_FAILED: Fields;
  readonly CONFLICT: Fields & {
    readonly existing_id?: string;
    readonly existing_title?: string;
    readonly entity_id?: string;
    readonly similarity?: number;
    readonly reason?: string;
    readonly hint?: string;
    readonly valid_from?: string | null;
    readonly valid_until?: string | null;
    readonly answered_at?: string;
  };
  readonly ARCHIVE_RESTORE_COLLISION: { readonly existing_id: string };
  readonly ATTESTATION_REPLAYED: { readonly existing_id: string };
  readonly ERASED: { readonly id: string };
  readonly VERSION_CONFLICT: {
    readonly status: 'conflict';
    readonly id?: string;
    readonly expected_version?: number;
    readonly current_version?: number;
    readonly pending_id?: string;
  };
  readonly NOT_FOUND: {
    readonly found?: false;
    readonly source_id?: string;
    readonly target_id?: string;
    readonly relation?: string;
    readonly missing?: readonly string[];
  };
  readonly FORBIDDEN: { readonly allowed_namespaces: readonly string[] | null };
  readonly TOKEN_SCOPE: { readonly allowed_namespaces?: readonly string[] };
  readonly NOT_HOME: { readonly subject: string; readonly home: string; readonly home_number: number };
  readonly HOME_UNREACHABLE: { readonly home: string };
  readonly GOVERNANCE_REFUSED: {
    readonly action?: string;
    readonly namespace?: string;
    readonly reason?: string | null;
    readonly rule_id?: string | null;
    readonly id?: string;
    readonly requested_at?: string;
  };
  readonly APPROVAL_PENDING: {
    readonly status: 'pending';
    readonly pending_id: string;
    readonly reason: string;
    readonly action: string;
    readonly namespace: string;
    readonly memory_id?: string | null;
    readonly proposed_depth?: number;
    readonly require_approval_above_depth?: number;
  };
  readonly ILLEGAL_TRANSITION: { readonly from: string; readonly to: string };
  readonly ACTION_STATE_CHANGED: {
    readonly current_state: string;
    readonly claimed_by: string | null;
  };
  readonly ACTION_BLOCKED: { readonly blocked_by: readonly object[] };
  readonly ACTION_CYCLE: { readonly from_action: string; readonly to_action: string };
  readonly LEASE_HELD: {
    readonly action_id: string;
    readonly holder: string;
    readonly expires_at: number | null;
  };
  readonly LEASE_LOST: { readonly action_id: string };
  readonly NOT_LEASE_HOLDER: { readonly action_id: string; readonly holder: string };
  readonly PENDING_ACTION_STATE_INVALID: { readonly id: string; readonly status?: string };
  readonly TURN_CONFLICT: {
    readonly existing_id: string;
    readonly content_sha256: string;
    /** Null where the first text is not kept any more. */
    readonly existing_content_sha256: string | null;
  };
  readonly QUOTA_EXCEEDED: Later & {
    readonly limit: string;
    readonly current: number;
    readonly max: number;
    readonly agent_id?: string;
  };
  readonly AUTH_BACKOFF: Later;
  readonly LLM_UNAVAILABLE: Later;
  readonly LLM_LIMIT: Later & { readonly max: number };
  readonly PEER_THROTTLED: Later;
  readonly OVERLOADED: {
    readonly max_inflight?: number;
    readonly max_listeners?: number;
    readonly event?: string;
  };
  readonly SECRET_REFUSED: {
    readonly fields: readonly string[];
    /** Where each secret stands, and what it is. */
    readonly secrets: readonly { readonly field: string; readonly kind: string }[];
  };
  readonly HOOK_VETO: { readonly event: string; readonly reason: string; readonly hook_code: number };
  readonly UNAUTHORIZED: { readonly hint: string };
  readonly DATABASE_ERROR: { readonly corrupt?: true; readonly file_replaced?: true };
  readonly DATA_DAMAGED: {
    readonly damaged_kind: string;
    readonly damaged_id: string;
    readonly damaged_since?: string;
  };
  readonly CLOCK_AHEAD: { readonly ahead_seconds: number };
  readonly EXPORT_PAGING_REQUIRED: { readonly max_memories: number; readonly max_bytes: number };
  /** The part of the answer that was found. */
  readonly TRAVERSAL_BUDGET_EXCEEDED: Readonly<Record<string, unknown>> & {
    readonly stopped_by: string;
    readonly links_read: number;
  };
  readonly REFLECTION_CYCLE_DETECTED: { readonly source_id: string; readonly target_id: string };
  readonly REFLECTION_DEPTH_EXCEEDED: {
    readonly attempted: number;
    readonly cap: number;
    readonly namespace: string;
  };
  readonly ATOMISATION_DEPTH_EXCEEDED: { readonly attempted: number; readonly cap: number };
  readonly TIER_LOCKED: {
    readonly 'tier-locked': string;
    readonly current_tier: string;
    readonly required_tier: string;
  };
  readonly NO_REFLECTIONS: { readonly entity_id: string; readonly namespace: string };
  readonly CALLER_DEPTH_MISMATCH: { readonly depth: number; readonly caller_depth: number };
  readonly CHECKPOINT_RESOLVED: {
    readonly checkpoint_id: string;
    readonly current_state: string;
    readonly resolved_by: string | null;
  };
  readonly ROUTINE_NOT_FROZEN: { readonly routine_id: string };
  readonly AUDIT_CHAIN_BROKEN: Readonly<Record<string, unknown>>;
  readonly AUDIT_KEY_WANTED: Readonly<Record<string, unknown>>;
  readonly message_out_of_time: { readonly skew_ms: number };
  readonly sender_agent_id_mismatch: {
    readonly claimed: string;
    readonly peer_header: string;
    readonly note: string;
  };
}

export type DetailsOf<C extends ErrorCode> = C extends keyof ErrorDetails ? ErrorDetails[C] : never;

declare const BY_CODE: unique symbol;

/** Details of an unknown code: they can be passed on and shown, and `detailsOf` reads them. */
export interface Details {
  readonly [BY_CODE]: never;
}
