import { Turns } from './turns.js';

/**
 * Interactive messages are always taken before background ones. Within a lane those who send take turns; the messages of one
 * stay in the order of their arrival.
 */
export type Lane = 'interactive' | 'background';

/** The capacity of a mailbox, both lanes together. */
export interface MailboxLimits {
  readonly messagesMax: number;
  readonly bytesMax: number;
}

/**
 * The bounded two-lane queue in front of an actor: senders `offer` one message at a time, the actor `take`s a whole
 * batch. Background messages wait as long as interactive ones keep coming; their deadlines bound that wait.
 */
export class Mailbox<T> {
  private readonly interactive = new Turns<T>();
  private readonly background = new Turns<T>();
  private bytes = 0;
  private open = true;

  constructor(private readonly limits: MailboxLimits) {
    if (!(limits.messagesMax >= 1 && limits.bytesMax >= 1))
      throw new Error('a mailbox needs capacity, or it would refuse every message');
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

  /** Whether `offer` would take a message of this size now. A message larger than the mailbox never fits. */
  hasRoom(sizeBytes: number): boolean {
    // NaN or a negative size would break the count of bytes permanently.
    if (!(sizeBytes >= 0)) throw new Error(`a message cannot have ${sizeBytes} bytes`);
    return this.open && this.size < this.limits.messagesMax && this.bytes + sizeBytes <= this.limits.bytesMax;
  }

  /** Queues a message; false, without any effect, when the mailbox is full or closed. */
  offer(message: T, sizeBytes: number, lane: Lane, from = ''): boolean {
    if (!this.hasRoom(sizeBytes)) return false;
    this.lane(lane).push(message, sizeBytes, from);
    this.bytes += sizeBytes;
    return true;
  }

  /** Queues a message that was taken before all others of its sender, also beyond the capacity. */
  putBack(message: T, sizeBytes: number, lane: Lane, from = ''): void {
    this.lane(lane).putBack(message, sizeBytes, from);
    this.bytes += sizeBytes;
  }

  private lane(lane: Lane): Turns<T> {
    return lane === 'interactive' ? this.interactive : this.background;
  }

  /**
   * Removes the next batch: at most `maxMessages` of at most `maxBytes` together, interactive first. It ends before the
   * first message that does not fit, so that messages stay in order. A first message that does not fit is a batch by
   * itself.
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

  /** Drops every queued message for which `dead` is true and returns how many; linear in the number queued. */
  removeWhere(dead: (message: T) => boolean): number {
    const before = this.size;
    this.bytes -= this.interactive.removeWhere(dead) + this.background.removeWhere(dead);
    return before - this.size;
  }

  /** Refuses every message from now on and hands each queued message, in the order of `take`, to `failMessage`. */
  close(failMessage: (message: T) => void): void {
    if (!this.open) return;
    this.open = false;
    this.bytes = 0;
    for (const ring of [this.interactive, this.background]) {
      while (ring.length > 0) failMessage(ring.shift());
    }
  }
}
