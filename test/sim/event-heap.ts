/** Something that will happen. */
export interface SimEvent {
  /** Virtual milliseconds since the world began. */
  dueMs: number;
  /** Breaks ties: what was planned first happens first. */
  readonly order: number;
  /** Where it happens; null for the world itself. */
  readonly place: string | null;
  readonly kind: string;
  readonly run: () => void;
  cancelled: boolean;
}

/** A binary heap of events by due time, then by order. */
export class EventHeap {
  private readonly events: SimEvent[] = [];

  get size(): number {
    return this.events.length;
  }

  /** Every event that waits, in no order. */
  all(): readonly SimEvent[] {
    return this.events;
  }

  push(event: SimEvent): void {
    const { events } = this;
    let index = events.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(event, events[parent]!)) break;
      events[index] = events[parent]!;
      index = parent;
    }
    events[index] = event;
  }

  peek(): SimEvent | undefined {
    return this.events[0];
  }

  pop(): SimEvent | undefined {
    const { events } = this;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && before(events[child + 1]!, events[child]!)) child += 1;
      if (!before(events[child]!, last)) break;
      events[index] = events[child]!;
      index = child;
    }
    events[index] = last;
    return first;
  }
}

function before(left: SimEvent, right: SimEvent): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);
}
