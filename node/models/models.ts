import type { z } from 'zod';
import type { Failure, Result } from '../../protocol/base/result.js';
import type { ModelFeature, ModelSection } from './features.js';

/** What a reader makes of an answer: its value, or what is wrong with it in one sentence. */
export type AnswerRead<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

export interface ReadAnswer<T> {
  (answer: string): AnswerRead<T>;
  /** The schema of an answer in JSON, which a service is asked to follow where it can. */
  readonly schema?: z.ZodType;
}

/** What a model is asked, and how its answer becomes a value. */
export interface Question<T> {
  readonly feature: ModelFeature;
  /** What the model is to do. Texts of memories belong into the prompt, as `dataBlocks` writes them. */
  readonly system: string;
  readonly prompt: string;
  /** Tokens of the answer at most. */
  readonly maxTokens: number;
  /** After an answer with a problem the model is asked once more, with that sentence. */
  readonly read: ReadAnswer<T>;
}

export interface AskLimits {
  /** When the caller goes on in any case, in monotonic milliseconds; infinity for a caller who waits. */
  readonly deadlineMs: number;
  /** Ends the question, and its connection to the model, when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** A model that is configured, as it may be shown: without its key and the query of its address. */
export interface ModelState {
  readonly section: ModelSection;
  readonly backend: string;
  readonly model: string;
  readonly host: string;
  /** Why its last request failed; null while it answers, and before the first. */
  readonly lastError: string | null;
}

export interface ModelsState {
  /** The model of each section; absent where none is configured. */
  readonly models: Readonly<Partial<Record<ModelSection, ModelState>>>;
  readonly asking: number;
  readonly waiting: number;
}

/** The chat models of a node. */
export interface Models {
  /** Null while a model is configured for the feature, else the failure that says what is missing (LLM_UNAVAILABLE). */
  missing(feature: ModelFeature): Failure | null;
  /**
   * LLM_UNAVAILABLE when no model can be asked now, LLM_FAILED when its answer cannot be used, LLM_LIMIT when the requests
   * of the day are used up.
   */
  ask<T>(question: Question<T>, limits: AskLimits): Promise<Result<T>>;
  state(): ModelsState;
  close(): Promise<void>;
}
