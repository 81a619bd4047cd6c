import type { ErrorCode } from '../../protocol/base/errors.js';
import type { Formats, Operations } from './untyped-operations.js';

/**
 * What a program sees of the client beside its operations. The build copies this file into the package's declaration, with
 * the codes of errors and the operations in the place of its imports. It needs no types of a platform.
 */

/** The fetch of the platform, where its types are known. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : (url: string, init: object) => unknown;

/** The abort signal of the platform, where its types are known. */
export type CancelSignal = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : object;

export interface ClientOptions {
  /** Where the node listens; `http://127.0.0.1:9077` unless given. */
  readonly url?: string;
  /** Who calls: the agent of every call that names no other. */
  readonly agentId?: string;
  /** The API key of the node, where it has one. */
  readonly apiKey?: string;
  /** Signs every stored memory in the name of its agent, who then is the agent of the calls. */
  readonly signer?: Signer;
  /** The secret of the node (`[hooks.subscription] hmac_secret`) with which decisions on pending actions are signed. */
  readonly approvalSecret?: string;
  /** How often a call is tried again that surely changed nothing, or may be repeated; 2 unless given. */
  readonly retries?: number;
  /** How long one try may take, in milliseconds; 60000 unless given. */
  readonly timeoutMs?: number;
  /** Another fetch than that of the platform, for example one that trusts a certificate authority of your own. */
  readonly fetch?: Fetch;
}

/** What one call may say besides its input. */
export interface CallOptions {
  /** Ends the call; its promise rejects with the reason of the signal. */
  readonly signal?: CancelSignal;
  readonly agentId?: string;
  readonly timeoutMs?: number;
  readonly retries?: number;
  /**
   * Names this call, where it may be repeated, so that it is done once however often it is sent. A call without one gets its own,
   * which its retries share; give one to repeat a call in another process.
   */
  readonly idempotencyKey?: string;
}

export interface StreamOptions {
  /** Ends the stream. */
  readonly signal?: CancelSignal;
  readonly agentId?: string;
  /** The id of the event that was got last: later ones come first. */
  readonly lastEventId?: string;
  /** Told each time that the stream is open, also after a break. */
  readonly onOpen?: () => void;
}

/** The private key of an agent, or what stands before it. */
export interface Signer {
  readonly agentId: string;
  /** An Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

export interface SignerOptions {
  readonly agentId: string;
  /** The 32 bytes of a private key file, or their text in base64, URL-safe base64 or hex. */
  readonly privateKey: Uint8Array | string;
}

/** What an author signs of a memory. */
export interface SignableMemory {
  readonly title: string;
  readonly content: string;
  /** `global` unless given. */
  readonly namespace?: string | undefined;
  /** `observation` unless given. */
  readonly kind?: string | undefined;
  /** RFC 3339; now unless given. */
  readonly created_at?: string | undefined;
}

/** The members that make a memory a signed one. */
export interface Signed {
  readonly agent_id: string;
  readonly namespace: string;
  readonly kind: string;
  readonly created_at: string;
  /** Standard base64. */
  readonly signature: string;
}

/** A call failed. */
export interface MnemeshError extends Error {
  readonly name: 'MnemeshError';
  /** The stable code; `UNAVAILABLE` and `DEADLINE` also where nothing answered. */
  readonly code: ErrorCode | (string & {});
  /** The HTTP status; null where nothing answered. */
  readonly status: number | null;
  /** Further members of the error, such as `existing_id`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** When the node wants the call again, in seconds. */
  readonly retryAfterSeconds: number | null;
  /** True where the call may have been done although it failed: read before you try again. */
  readonly isOutcomeUnknown: boolean;
}

/** What the node answers about itself. */
export interface Health {
  readonly status: 'ok' | 'error';
  readonly service: string;
  readonly version: string;
  readonly embedder_ready: boolean;
}

/** An event of a stream. Later releases add events: ignore those that you do not know. */
export interface StreamedEvent<E extends string = string, D = Readonly<Record<string, unknown>>> {
  readonly event: E;
  /** The place of the event, for `lastEventId`; null for one that is not kept. */
  readonly id: string | null;
  readonly data: D;
}

/** Events are missing: read what the stream tells of, then go on. */
export type LaggedEvent = StreamedEvent<'lagged', { readonly lagged: true }>;

export type ApprovalEvent =
  | StreamedEvent<
      'approval_requested',
      {
        readonly pending_id: string;
        readonly action_type: string;
        readonly namespace: string;
        readonly requested_by: string | null;
        readonly requested_at: string;
      }
    >
  | StreamedEvent<
      'approval_decided',
      {
        readonly pending_id: string;
        readonly decision: string;
        readonly decided_by: string | null;
        readonly remember: string | null;
        readonly namespace: string;
        readonly requested_by: string | null;
      }
    >
  | StreamedEvent<'hook_question'>
  | LaggedEvent;

export type InboxEvent =
  | StreamedEvent<
      'message',
      {
        readonly id: string;
        readonly to: string;
        readonly from: string | null;
        readonly title: string;
        readonly payload: string;
        /** Set where the payload is cut: read the inbox for the whole. */
        readonly payload_truncated?: true;
        readonly priority: number;
        readonly tier: string;
        readonly created_at: string;
      }
    >
  | LaggedEvent;

/** What a write says of other nodes, where a quorum is required. */
export interface Replication {
  /** Nodes that durably have it. */
  readonly quorum_acks?: number;
  /** Done, but so far on fewer nodes than required; the next members say more. */
  readonly quorum_met?: false;
  readonly acks?: number;
  readonly needed?: number;
  readonly reason?: string;
  readonly durability?: 'local';
  readonly op_id?: string;
}

/** What a write says of the secrets in its input. */
export interface Screened {
  readonly secrets_found?: readonly {
    readonly field: string;
    readonly kind: string;
    readonly outcome: 'kept' | 'redacted';
  }[];
}

/** The client beside the methods of its operations. Every failure is a MnemeshError, but for a call that its signal ends. */
export interface GeneralClient {
  /** Calls an operation by its name. */
  call<N extends keyof Operations>(
    name: N,
    input?: Operations[N]['input'],
    options?: CallOptions,
  ): Promise<Operations[N]['answer']>;
  /** Calls an operation in another format than JSON; its answer as text. */
  text<N extends keyof Formats>(
    name: N,
    input: Operations[N]['input'] & Formats[N],
    options?: CallOptions,
  ): Promise<string>;
  /** Says whether the node answers, and whether it can work. */
  health(options?: CallOptions): Promise<Health>;
  /** Follows the changes of pending actions, over every break of the connection. */
  approvalsStream(options?: StreamOptions): AsyncGenerator<ApprovalEvent, void, undefined>;
  /** Follows the messages to the agent, over every break of the connection. */
  inboxStream(options?: StreamOptions): AsyncGenerator<InboxEvent, void, undefined>;
}
