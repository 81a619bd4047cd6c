import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { until } from './wait.js';

/** An event as a client of the stream hears it. */
export interface HeardEvent {
  readonly id: number;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of a stream of events, by default `GET /approvals/stream`, which reads as the standard says (an id without data moves the place only). */
export class EventListener {
  readonly events: HeardEvent[] = [];
  /** Lines that are comments. */
  comments = 0;
  place: string | null = null;
  ended: 'no' | 'clean' | 'broken' = 'no';
  #text = '';

  private constructor(
    private readonly asking: ClientRequest,
    readonly response: IncomingMessage,
  ) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    response.on('end', () => {
      this.ended = 'clean';
    });
    response.on('error', () => {
      this.ended = 'broken';
    });
  }

  /** Resolves with the head of the answer; a refusal has its status. */
  static open(
    base: string,
    agent: string | null,
    {
      lastEventId,
      headers = {},
      path = '/approvals/stream',
    }: { lastEventId?: string | number; headers?: Record<string, string>; path?: string } = {},
  ): Promise<EventListener> {
    return new Promise((resolve, reject) => {
      const asking = request(`${base}${path}`, {
        agent: false,
        headers: {
          ...(agent === null ? {} : { 'x-agent-id': agent }),
          ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
          ...headers,
        },
      });
      asking.on('error', reject);
      asking.on('response', (response) => {
        asking.off('error', reject);
        asking.on('error', () => undefined);
        resolve(new EventListener(asking, response));
      });
      asking.end();
    });
  }

  get status(): number | undefined {
    return this.response.statusCode;
  }

  /** Resolves when so many events were heard. */
  async heard(count: number, withinMs = 20_000): Promise<readonly HeardEvent[]> {
    await until(`${count} events are heard`, () => this.events.length >= count, {
      withinMs,
      seen: () => `${this.events.length} events, ended: ${this.ended}`,
    });
    return this.events;
  }

  close(): void {
    this.asking.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop()!;
    for (const block of blocks) this.#block(block);
  }

  #block(block: string): void {
    const data: string[] = [];
    let event = 'message';
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments += 1;
      else if (line.startsWith('id: ')) this.place = line.slice(4);
      else if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ')) data.push(line.slice(6));
    }
    if (data.length === 0) return;
    this.events.push({ id: Number(this.place), event, data: JSON.parse(data.join('\n')) });
  }
}
