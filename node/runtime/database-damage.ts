import { Listeners } from '../../actors/core/listeners.js';
import type { Log } from '../../protocol/base/seams.js';
import type { DamageReports } from '../../storage/damage-watch.js';

/**
 * Remembers that writes are refused until a restart, and that the engine found damage in the database file: the node is
 * degraded until the file is repaired and the node restarted. Listeners hear of damaged rows.
 */
export class DatabaseDamage implements DamageReports {
  private readonly listeners = new Listeners();
  private reason: string | null = null;
  private refusal: string | null = null;

  constructor(private readonly log: Log) {}

  /** A damaged row was found and marked for its repair. Returns a function that removes the listener. */
  onSuspected(listener: () => void): () => void {
    return this.listeners.add(listener);
  }

  suspected(): void {
    this.listeners.tell();
  }

  corrupt(reason: string): void {
    if (this.reason === reason) return;
    this.reason = reason;
    this.log.error(
      { code: 'DATABASE_DAMAGED', reason },
      'the database file is damaged: run "mnemesh repair"',
    );
  }

  /** Writes are refused for this reason; null when they are taken again. */
  refusing(reason: string | null): void {
    this.refusal = reason;
    if (reason !== null) this.log.error({ code: 'DATABASE_CHANGED', reason }, 'writes are refused');
  }

  /** False while writes are refused. */
  get takesWrites(): boolean {
    return this.refusal === null;
  }

  /** The entries in capabilities. */
  degraded(): readonly { readonly part: string; readonly reason: string }[] {
    return [this.reason, this.refusal]
      .filter((reason) => reason !== null)
      .map((reason) => ({ part: 'database', reason }));
  }
}
