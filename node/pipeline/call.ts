import type { Hooks } from '../../actors/hooks/hooks.js';
import type { QuorumOutcome } from '../../actors/mesh/parts.js';
import type { Result } from '../../protocol/base/result.js';
import type { Clock, Crypto, Log, Random, Signer } from '../../protocol/base/seams.js';
import type { Chain } from '../../protocol/chain.js';
import type { ObservedRecall } from '../../protocol/confidence/observe.js';
import type { SignedEnvelope } from '../../protocol/identity/signed-envelope.js';
import type { WriteSignature } from '../../protocol/memory/memory.js';
import type {
  RecallConsumption,
  RecallObservation,
  UsedMemory,
} from '../../protocol/memory/recall-ledger.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { SchemaDenial } from '../../protocol/policies/note-schema-denial.js';
import type { Command } from '../../protocol/release.js';
import type { ReadStore, Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import type { Family } from '../config/tool-families.js';
import type { Profile } from '../config/tool-profile.js';
import type { Caller } from '../identity/caller.js';
import type { Models } from '../models/models.js';
import type { Tracing } from '../observability/tracing.js';
import type { Screen } from '../secrets/screen.js';
import type { Reranker } from '../semantics/reranker/reranker.js';
import type { SemanticIndex } from '../semantics/semantic-index.js';
import type { TokenCounter } from '../semantics/token-counter.js';
import type { Examination } from './examination.js';
import type { PolicyOutcome } from './governance-hooks.js';
import type { ReadLimiter } from './read-limits.js';

export type Surface = 'http' | 'mcp' | 'cli';

/** How a write is attested, as the pipeline decided. */
export interface Attestation {
  readonly level: 'claimed' | 'agent_attested';
  /** Signs for the caller with the machine's key when the level comes from the machine. */
  readonly signer: Signer | null;
  /** The author's own signature, verified; its `created_at` becomes the memory's. */
  readonly signature: WriteSignature | null;
  /** For the second check by the store: single use, and the key is still bound. */
  readonly envelope: SignedEnvelope | null;
}

/** Reads of memories, to be counted later (interface §4.3: recall touches rows). */
export interface TouchQueue {
  touch(ids: readonly string[], now: string): void;
  /** Records the answer of a recall for the ledger, as far as the settings let it. */
  observe(observation: RecallObservation): void;
  /** Records how sure the memories of a recall were said to be. */
  observeConfidence(recall: ObservedRecall): void;
  /** Records that a recall led to a memory. */
  consume(consumption: RecallConsumption): void;
  /** Records that an agent used a memory, for the recall that answered it before. */
  use(used: UsedMemory): void;
  /** Records at once that an agent may not see the schemas of tools; it resolves when that is done or has failed. */
  noteSchemaDenial(denial: SchemaDenial): Promise<void>;
  /** Writes all pending entries. */
  flush(): Promise<void>;
}

/** Which rows the recalls of a session have answered, newest last; the caller is part of a session's name. */
export interface RecallSessions {
  seen(session: string): readonly number[];
  add(session: string, rids: readonly number[]): void;
}

/** The nonces of verifications, each good once for a caller. */
export interface Verifications {
  /** Records the use of a nonce; false when it was used before. */
  use(agentId: string, fingerprint: string): boolean;
}

/** Decides which stores get advice during the write, so that stores under load get none. */
export interface StoreAdvice {
  /** A store begins; true when there is room for advice. */
  begin(): boolean;
  /** A store that began has ended. */
  end(): void;
  /** What a look finds within some milliseconds; null when it takes longer. */
  within<T>(look: Promise<T>, ms: number): Promise<T | null>;
}

/** Passes a command on to another node. */
export type Forward = (
  peerId: string,
  command: Command,
) => Promise<Result<Readonly<Record<string, unknown>>>>;

/** Replication, for one call. */
export interface Replication {
  /** Nodes that a write waits for, this one included; 0 does not wait. */
  readonly quorumWrites: number;
  readonly quorumTimeoutMs: number;
  /** False while writes have to wait, because this node may have lost operations of its own. */
  accepting(): boolean;
  whenAccepting(): Promise<void>;
  /** How far this node's clock is ahead of the clocks of all peers that answer; 0 when none does. */
  clockAheadMs(): number;
  /** How many nodes durably have these operations of the own log, at `deadlineMs` (monotonic) at the latest. */
  replicated(origin: string, from: number, to: number, deadlineMs: number): Promise<QuorumOutcome>;
  /** Passes a command on to the home of its subject. */
  readonly forward: Forward;
  /** The commands that may be passed on. */
  readonly commands: Chain['commands'];
}

/** Examines a node. */
export type Examine = () => Promise<Result<Examination>>;

/** The parts of a node that operations that read use. The side effects of a read go through `touches`. */
export interface ReadServices {
  readonly store: ReadStore;
  readonly semantic: SemanticIndex;
  readonly reranker: Reranker;
  /** The chat models; `askModel` asks one within the limits of a call. */
  readonly models: Models;
  readonly tokens: TokenCounter;
  readonly touches: TouchQueue;
  readonly recallSessions: RecallSessions;
  readonly verifications: Verifications;
  readonly storeAdvice: StoreAdvice;
  readonly hooks: Hooks;
  /** Says what rules keep from reads. */
  readonly reads: ReadLimiter;
  /** Looks for secrets in what is stored. */
  readonly screen: Screen;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly crypto: Crypto;
  readonly log: Log;
  /** This node's identity in the mesh. */
  readonly peerId: string;
  /** True for another node that belongs to the mesh now, or that is enrolled by hand. */
  readonly isMember: (peerId: string) => boolean | Promise<boolean>;
  /** The other nodes of the mesh; absent where nothing is known of a mesh. */
  readonly members?: (() => readonly Peer[] | Promise<readonly Peer[]>) | undefined;
  /** The machine's key; null when the node could not make or read it. */
  readonly machineKey: Signer | null;
  /** Names and families of the operations, for capabilities and the loaders. */
  readonly catalogue: Catalogue;
  /** What runs and what is degraded, for capabilities and health. */
  readonly condition: () => Condition;
  /** Examines the node as "mnemesh doctor" does; absent in processes other than the daemon. */
  readonly examine?: Examine | undefined;
}

/** The parts of a node that operations that write use. */
export interface Services extends ReadServices {
  readonly store: Store;
  /** Counts what was decided about an action that policies gate; absent where nothing is counted. */
  readonly onDecision?: (action: string, outcome: PolicyOutcome) => void;
  /** Hears of each call; absent where no spans are sent. */
  readonly tracing?: Tracing | undefined;
  /** Absent where nothing is replicated: in processes other than the daemon. */
  readonly replication?: Replication | undefined;
}

export interface Catalogue {
  readonly tools: readonly {
    readonly name: string;
    readonly family: Family;
    readonly summary: string;
  }[];
  /** The definition of a tool; `verbose` keeps the prose of its schema. */
  describe(name: string, verbose: boolean): ToolDefinition;
}

/** A tool as `memory_capabilities` describes it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly docstring: string;
}

/** The live state of a node. */
export interface Condition {
  /** True while the store answers. */
  readonly ready: boolean;
  /** Parts that are degraded, with the reason. */
  readonly degraded: readonly { readonly part: string; readonly reason: string }[];
  readonly pendingEmbeddings: number | null;
  /** Who commits the writes of this call: the daemon of the database, or the calling process itself. */
  readonly writer: 'daemon' | 'process';
  /** The state of replication; absent in processes other than the daemon. */
  readonly federation?: FederationCondition;
}

/** The state of a daemon's replication, without the name of any peer. */
export interface FederationCondition {
  /** True when it has peers, or its operator has named some. */
  readonly enabled: boolean;
  readonly peers: number;
  readonly healthy: number;
  /** W as configured, as the mesh allows it, and the nodes of the mesh. */
  readonly quorum: { readonly configured: number; readonly needed: number; readonly members: number };
  readonly accepting_writes: boolean;
  readonly lag_operations_max: number;
  readonly under_replicated: number;
  readonly dlq_depth: number;
  readonly quarantined: number;
}

/** A row without its secrets, or SECRET_REFUSED; `field` is where the row stands in the input. */
export type ScreenRow = <T>(row: T, field: string) => Promise<Result<T>>;

export type ProgressReport = (done: number, of: number | null) => void;

/** One call of an operation, after the pipeline has resolved the caller. */
export interface Call<S extends ReadServices = Services> {
  readonly surface: Surface;
  readonly caller: Caller;
  readonly attestation: Attestation;
  /** Wall clock of the call, in milliseconds and as a canonical instant. */
  readonly nowMs: number;
  readonly now: string;
  readonly services: S;
  /** The MCP profile in force; every family where profiles do not exist. */
  readonly profile: Profile;
  /** True for a call that may have run before, without an answer. Anything it already stored is found by its id. */
  readonly again: boolean;
  /** When the caller is answered in any case, in monotonic milliseconds. */
  readonly deadlineMs?: number;
  /** Makes a signal that aborts when the caller is gone or cancels the call; absent on a surface that cannot tell. */
  readonly gone?: () => AbortSignal;
  /** Looks at rows that an operation takes apart by itself, for one with `screens: 'rows'`. */
  readonly screenRow?: ScreenRow;
  /** Reports how far a long operation is, and the total when it is known. */
  readonly progress: ProgressReport;
}

/** One call of an operation that reads; an operation that writes may pass its own call where this type is expected. */
export type ReadCall = Call<ReadServices>;
