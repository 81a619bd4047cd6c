import { Ring } from './ring.js';

/** Interactive messages are always taken before background ones; within a lane the order is that of arrival. */
export type Lane = 'interactive' | 'background';

/** The capacity of a mailbox, both lanes together. */
export interface MailboxLimits {
  readonly messagesMax: number;
  readonly bytesMax: number;
}

/**
 * The bounded two-lane queue before an actor: senders `offer` one message at a time, the actor `take`s a whole batch.
 * Background messages wait for as long as interactive ones keep coming; their deadlines bound that wait.
 */
export class Mailbox<T> {
  private readonly interactive = new Ring<T>();
  private readonly background = new Ring<T>();
  private bytes = 0;
  private open = true;

  constructor(private readonly limits: MailboxLimits) {
    if (!(limits.messagesMax >= 1 && limits.bytesMax >= 1))
      throw new Error('a mailbox without capacity would refuse every message');
  }

  /** Messages that wait, both lanes together. */
  get size(): number {
    return this.interactive.length + this.background.length;
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  get closed(): boolean {
    return !this.open;
  }

  /** Whether `offer` would take a message of this size now. One that is larger than the mailbox never fits. */
  hasRoom(sizeBytes: number): boolean {
    // NaN or a negative size would break the count of bytes for good.
    if (!(sizeBytes >= 0)) throw new Error(`a message cannot have ${sizeBytes} bytes`);
    return this.open && this.size < this.limits.messagesMax && this.bytes + sizeBytes <= this.limits.bytesMax;
  }

  /** Queues a message; false when the mailbox is full or closed, and then nothing has happened. */
  offer(message: T, sizeBytes: number, lane: Lane): boolean {
    if (!this.hasRoom(sizeBytes)) return false;
    (lane === 'interactive' ? this.interactive : this.background).push(message, sizeBytes);
    this.bytes += sizeBytes;
    return true;
  }

  /**
   * Removes the next batch: at most `maxMessages` of at most `maxBytes` together, interactive first. It ends before
   * the first message that does not fit, so nothing overtakes; that message comes alone when it is the first.
   */
  take(maxMessages: number, maxBytes: number): T[] {
    const batch: T[] = [];
    let room = maxBytes;
    while (batch.length < maxMessages) {
      const ring = this.interactive.length > 0 ? this.interactive : this.background;
      if (ring.length === 0) break;
      const sizeBytes = ring.headSizeBytes();
      if (sizeBytes > room && batch.length > 0) break;
      room -= sizeBytes;
      this.bytes -= sizeBytes;
      batch.push(ring.shift());
    }
    return batch;
  }

  /** Drops every queued message that `dead` names and answers how many; linear in the number queued. */
  removeWhere(dead: (message: T) => boolean): number {
    const before = this.size;
    this.bytes -= this.interactive.removeWhere(dead) + this.background.removeWhere(dead);
    return before - this.size;
  }

  /** Refuses everything from now on and hands each queued message, in the order of `take`, to `failMessage`. */
  close(failMessage: (message: T) => void): void {
    if (!this.open) return;
    this.open = false;
    this.bytes = 0;
    for (const ring of [this.interactive, this.background]) {
      while (ring.length > 0) failMessage(ring.shift());
    }
  }
}
