import type { EventStore } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** The bytes that the messages of all sessions hold. */
export interface EventBytes {
  held: number;
}

export interface EventBounds {
  readonly messagesMax: number;
  readonly bytesMax: number;
  readonly allBytesMax: number;
}

interface Kept {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

/**
 * The last messages of a session, so that a client whose connection was lost can have those that it missed. A message
 * that is larger than the bounds is sent, but not kept.
 */
export class EventMemory implements EventStore {
  /** By the id of the event, oldest first. */
  private readonly kept = new Map<string, Kept>();
  private bytes = 0;
  private count = 0;

  constructor(
    private readonly all: EventBytes,
    private readonly bounds: EventBounds,
  ) {}

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    this.count += 1;
    const id = `${stream}/${this.count}`;
    const bytes = JSON.stringify(message).length;
    const { messagesMax, bytesMax, allBytesMax } = this.bounds;
    const fits = () => this.bytes + bytes <= bytesMax && this.all.held + bytes <= allBytesMax;
    while (this.kept.size > 0 && (this.kept.size >= messagesMax || !fits())) this.dropOldest();
    if (fits()) {
      this.kept.set(id, { stream, message, bytes });
      this.add(bytes);
    }
    return id;
  }

  /** False where messages after that event may be gone. */
  has(id: string): boolean {
    return this.kept.has(id);
  }

  async replayEventsAfter(
    id: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const stream = this.kept.get(id)?.stream;
    if (stream === undefined) throw new Error('the event is no longer kept');
    let isLater = false;
    for (const [key, kept] of [...this.kept]) {
      // The first event of a stream tells only its id.
      if (isLater && kept.stream === stream && 'jsonrpc' in kept.message) await send(key, kept.message);
      if (key === id) isLater = true;
    }
    return stream;
  }

  /** Lets everything go. */
  clear(): void {
    this.kept.clear();
    this.add(-this.bytes);
  }

  private dropOldest(): void {
    const [id, { bytes }] = this.kept.entries().next().value!;
    this.kept.delete(id);
    this.add(-bytes);
  }

  private add(bytes: number): void {
    this.bytes += bytes;
    this.all.held += bytes;
  }
}
