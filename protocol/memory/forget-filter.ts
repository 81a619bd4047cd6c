import type { Viewer } from '../ranking/types.js';
import type { Tier } from './memory.js';
/** Which live memories a forget means; null fields do not restrict. */
export interface ForgetFilter {
  /** Exact. */
  readonly namespace: string | null;
  readonly tier: Tier | null;
  /** Words, any of which must stand in the memory. */
  readonly pattern: string | null;
  /** Rows that came later than this row number stay; null for no bound. */
  readonly throughRid: number | null;
  /** Rows that it may not see or change are left out. */
  readonly viewer: Viewer;
}
