import type { Viewer } from '../base/viewer.js';
import type { Tier } from './memory.js';
/** The live memories that a forget selects; null fields do not restrict. */
export interface ForgetFilter {
  /** Exact. */
  readonly namespace: string | null;
  readonly tier: Tier | null;
  /** Words; the memory must contain one of them. */
  readonly pattern: string | null;
  /** Rows with a later row number stay; null for no bound. */
  readonly throughRid: number | null;
  /** Leaves out rows that this viewer may not see or change. */
  readonly viewer: Viewer;
}
