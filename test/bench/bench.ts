import type { BenchOptions } from './options.js';
import type { Progress } from './progress.js';
import type { BenchResult } from './report.js';
import type { Workspace } from './workspace.js';

/** What a benchmark works with. */
export interface BenchContext {
  readonly options: BenchOptions;
  /** What followed its name on the command line. */
  readonly args: readonly string[];
  readonly progress: Progress;
  readonly workspace: Workspace;
}

/** A benchmark. */
export interface Bench {
  readonly name: string;
  readonly summary: string;
  /** Its arguments and options. */
  readonly usage: string;
  /** False when the short run of everything leaves it out because it needs an argument. */
  readonly alone?: boolean;
  readonly run: (context: BenchContext) => Promise<BenchResult>;
}
