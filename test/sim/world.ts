import { createHash } from 'node:crypto';
import { Dice } from './dice.js';
import { EventHeap, type SimEvent } from './event-heap.js';

/** Something that must never be; the seed fails with the first of them. */
export interface Violation {
  readonly atMs: number;
  readonly place: string | null;
  readonly check: string;
  readonly message: string;
}

/** How many events one run may have: a loop of timers must end as a failure, not hang. */
const EVENTS_MAX = 3_000_000;

/**
 * A world of virtual time: everything that happens is an event of one heap, and between two events all promises
 * settle, so a seed is one history, bit for bit. The trace is a hash over every event and note.
 */
export class World {
  readonly violations: Violation[] = [];
  events = 0;
  /** Notes, kept only when asked: lines to read when a seed fails. */
  readonly notes: string[] = [];
  private readonly heap = new EventHeap();
  private readonly hash = createHash('sha256');
  private readonly frozen = new Map<string, SimEvent[]>();
  private order = 0;
  private timeMs = 0;

  constructor(
    readonly seed: number | string,
    private readonly keepNotes: boolean = false,
  ) {}

  /** Virtual milliseconds since the world began. */
  get nowMs(): number {
    return this.timeMs;
  }

  /** A generator for one purpose. */
  dice(purpose: string): Dice {
    return new Dice(this.seed, purpose);
  }

  /** Plans an event; answers it, to be cancelled by its flag. */
  after(delayMs: number, place: string | null, kind: string, run: () => void): SimEvent {
    this.order += 1;
    const dueMs = this.timeMs + Math.max(0, delayMs);
    const event: SimEvent = { dueMs, order: this.order, place, kind, run, cancelled: false };
    this.heap.push(event);
    return event;
  }

  /** Resolves so much later, as an event of its own. */
  sleep(delayMs: number, place: string | null, kind: string): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, place, kind, resolve);
    });
  }

  /** Nothing happens at a frozen place until it is thawed. */
  freeze(place: string): void {
    if (!this.frozen.has(place)) this.frozen.set(place, []);
  }

  isFrozen(place: string): boolean {
    return this.frozen.has(place);
  }

  /** What was due meanwhile happens now, in its order. */
  thaw(place: string): void {
    const kept = this.frozen.get(place) ?? [];
    this.frozen.delete(place);
    // The event itself, not a copy: whoever planned it may cancel it yet.
    for (const event of kept) {
      event.dueMs = this.timeMs;
      this.heap.push(event);
    }
  }

  /** Writes into the trace: part of the digest, and readable when notes are kept. */
  note(place: string | null, text: string): void {
    this.hash.update(`${place ?? ''} ${text}\n`);
    if (this.keepNotes) this.notes.push(`${this.timeMs.toFixed(3).padStart(10)} ${place ?? '-'} ${text}`);
  }

  violate(place: string | null, check: string, message: string): void {
    if (this.violations.length < 20) this.violations.push({ atMs: this.timeMs, place, check, message });
    this.note(place, `VIOLATION ${check}: ${message}`);
  }

  /** Runs what is due until a time, or until `done` holds after an event, or a violation. */
  async run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    // What was begun outside of any event comes to its first wait.
    await settle();
    for (;;) {
      const event = this.heap.peek();
      if (event === undefined || event.dueMs > untilMs) break;
      this.heap.pop();
      if (event.cancelled) continue;
      const waiting = event.place === null ? undefined : this.frozen.get(event.place);
      if (waiting !== undefined) {
        waiting.push(event);
        continue;
      }
      this.timeMs = event.dueMs;
      this.events += 1;
      this.hash.update(`${event.dueMs} ${event.place ?? ''} ${event.kind}\n`);
      try {
        event.run();
      } catch (error) {
        const stack = error instanceof Error ? error.stack : String(error);
        this.violate(event.place, 'exception', `${event.kind}: ${stack}`);
      }
      await settle();
      if (this.events > EVENTS_MAX) this.violate(null, 'runaway', `more than ${EVENTS_MAX} events`);
      if (this.violations.length > 0 || done()) return;
    }
    this.timeMs = Math.max(this.timeMs, untilMs);
  }

  /** Kinds of events that still wait at a place. */
  waitingAt(place: string): string[] {
    return this.heap
      .all()
      .filter((event) => event.place === place && !event.cancelled)
      .map((event) => event.kind);
  }

  /** The digest of everything so far. */
  digest(): string {
    return this.hash.copy().digest('hex').slice(0, 16);
  }
}

/** All promise chains run to their ends before the next event. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
