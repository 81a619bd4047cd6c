import type { Viewer } from '../base/viewer.js';

/** What every command has: its feature declares the rest beside its rule. */
export interface AnyCommand {
  readonly kind: string;
  /** Who gives it; absent for a command of this node, and of a peer. */
  readonly viewer?: Viewer | undefined;
}
