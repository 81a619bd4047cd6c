import type { EmbeddingJob } from './embedding-queue.js';

/** Who hears of a model. */
export interface ModelEvents {
  /** Something that its libraries wrote to stdout or stderr. */
  readonly printed: (text: string) => void;
  /** It can take a batch: it is loaded, or has answered the last one. */
  readonly ready: (outcome: 'loaded' | 'embedded' | 'refused') => void;
  /** It ended by itself; its jobs are still in `jobs`. */
  readonly broken: (reason: string) => void;
}

/** A model that is loaded when it is made, and embeds one batch at a time. */
export interface Model {
  readonly loaded: boolean;
  /** The batch under way. */
  readonly jobs: readonly EmbeddingJob[];
  /** Whether it may take a batch now. */
  readonly isFree: boolean;
  run(jobs: readonly EmbeddingJob[]): void;
  /** Whether the process stays alive for it. */
  hold(isNeeded: boolean): void;
  /** Ends it. */
  stop(): Promise<void>;
}
