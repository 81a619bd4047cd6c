import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import type { Random } from '../../protocol/base/seams.js';
import type { MnemeshError } from './client-error.js';
import type { StreamedEvent, StreamOptions } from './public.js';
import type { ClientRequest } from './request.js';
import type { Answered, Transport, Unanswered } from './transport.js';

const BACKOFF: BackoffPolicy = { initialMs: 500, maxMs: 15_000, jitter: 0.5, stableMs: 30_000 };
/** A stream without a keepalive for this long is broken. */
const SILENT_MS = 40_000;
const EVENT_CHARACTERS_MAX = 8 * 1024 * 1024;

interface StreamParts {
  readonly transport: Transport;
  readonly random: Pick<Random, 'unit'>;
  readonly errorOf: (answer: Answered | Unanswered) => MnemeshError;
}

/**
 * Follows a stream of server-sent events. Throws where it cannot be opened first, and where the node refuses it; after every other break
 * it comes back, with the id of the event that it got last.
 */
export async function* eventsOf(
  request: ClientRequest,
  { signal, lastEventId, onOpen }: StreamOptions,
  { transport, random, errorOf }: StreamParts,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const isEnded = () => signal?.aborted === true;
  const blocks = new EventBlocks(lastEventId ?? null);
  for (let attempt = 0, isFirst = true; !isEnded(); attempt += 1, isFirst = false) {
    const place: Record<string, string> = blocks.place === null ? {} : { 'last-event-id': blocks.place };
    const headers = { ...request.headers, ...place };
    const opened = await transport.open({ ...request, headers }, { signal, timeoutMs: SILENT_MS });
    if (isEnded()) return;
    if ('status' in opened) {
      const isFinal = opened.status !== null && opened.status < 500 && opened.status !== 429;
      if (isFirst || isFinal) throw errorOf(opened);
    } else {
      attempt = 0;
      onOpen?.();
      yield* blocks.read(opened);
    }
    await transport.pause(backoffDelayMs(BACKOFF, attempt, random.unit()), signal).catch(() => undefined);
  }
}

/** Reads bytes as events, over several connections. */
class EventBlocks {
  /** The last id, which a block without data moves too. */
  place: string | null;

  constructor(place: string | null) {
    this.place = place;
  }

  /** The events of a connection until it breaks; half an event at its end is lost, and comes again. */
  async *read(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent, void, undefined> {
    const decoder = new TextDecoder();
    let text = '';
    const source = pieces[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await source.next().catch(() => null);
        if (next === null || next.done === true) return;
        const blocks = (text + decoder.decode(next.value, { stream: true })).split('\n\n');
        text = blocks.pop()!;
        if (text.length > EVENT_CHARACTERS_MAX) return;
        for (const block of blocks) {
          const event = this.#event(block);
          if (event === 'broken') return;
          if (event !== null) yield event;
        }
      }
    } finally {
      await source.return?.();
    }
  }

  #event(block: string): StreamedEvent | 'broken' | null {
    const lines = block.split('\n');
    const field = (name: string) =>
      lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
    const id = field('id').at(-1) ?? null;
    const text = field('data').join('\n');
    const data = text === '' ? null : jsonOf(text);
    if (data === undefined) return 'broken';
    if (id !== null) this.place = id;
    return data === null ? null : { event: field('event').at(-1) ?? 'message', id, data };
  }
}

/** The object of a JSON text; undefined for another text. */
function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
