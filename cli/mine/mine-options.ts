import type { FormatName } from './formats/format.js';

/** What a call of `mine` is to do. */
export interface MineOptions {
  /** Null for every format. */
  readonly format: FormatName | null;
  /** Null for that of the format. */
  readonly namespace: string | null;
  readonly tier: string;
  readonly messagesMin: number;
  readonly onConflict: string;
  readonly dryRun: boolean;
}
