import type { Result } from '../../protocol/base/result.js';
import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import type { UnrelatedTexts } from '../../protocol/memory/recall-request.js';

/** What embedders need of the process. */
export interface EmbedderSeams {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** True lets the built-in embedder compute in this thread. */
  readonly here?: boolean;
}

/** The input limits of a model, so that text is cut to fit. */
export interface EmbedderInput {
  /** Tokens of one window; null when the model reads whole memories. */
  readonly windowTokens: number | null;
}

/** Live state, for the capabilities report and `doctor`. */
export interface EmbedderState {
  /** The model is in memory, or the remote service answered last time. */
  readonly loaded: boolean;
  /** The last attempt failed; calls are refused until a retry is due. */
  readonly failing: boolean;
  readonly lastError: string | null;
}

/** Texts that wait or are being embedded. */
export interface EmbedderDepth {
  readonly queries: number;
  readonly background: number;
}

/**
 * Turns text into unit-length float32 vectors. Failures are values: UNAVAILABLE while the model or service fails,
 * OVERLOADED when too much waits, DEADLINE, SHUTTING_DOWN, INVALID_ARGUMENT for text that gets no vector.
 */
export interface Embedder {
  /** Stored with each vector; vectors of different models are never compared. */
  readonly model: string;
  readonly dim: number;
  readonly input: EmbedderInput;
  /** How long a question waits for its vector before it goes by words. */
  readonly queryWaitMs: number;
  /** Where it was measured. */
  readonly unrelated?: UnrelatedTexts;
  /** Background work: one vector for each text (at most 1024), in order. Texts must not be blank. */
  embed(texts: readonly string[]): Promise<Result<Float32Array[]>>;
  /** A query: overtakes background work and may come from a cache. `deadlineMs` is on the monotonic clock. */
  embedQuery(text: string, deadlineMs: number): Promise<Result<Float32Array>>;
  state(): EmbedderState;
  queueDepth(): EmbedderDepth;
  /** Loads the model, or finds out whether the service answers, before the first text comes. Never rejects. */
  warm?(): Promise<void>;
  /** Fails open calls with SHUTTING_DOWN and frees the model; closing twice is harmless. */
  close(): Promise<void>;
}
