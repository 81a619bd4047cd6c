import type { Log } from '../../protocol/seams.js';

/**
 * Remembers that the engine found damage in the database file: the node is degraded until the file is repaired and the
 * node restarted.
 */
export class DatabaseDamage {
  private reason: string | null = null;

  constructor(private readonly log: Log) {}

  found(reason: string): void {
    if (this.reason === reason) return;
    this.reason = reason;
    this.log.error(
      { code: 'DATABASE_DAMAGED', reason },
      'the database file is damaged: run "mnemesh repair"',
    );
  }

  /** The entry in capabilities. */
  degraded(): readonly { readonly part: string; readonly reason: string }[] {
    return this.reason === null ? [] : [{ part: 'database', reason: this.reason }];
  }
}
