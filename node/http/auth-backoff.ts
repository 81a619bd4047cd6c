import { backoffDelayMs } from '../../actors/core/backoff.js';
import { BoundedMap } from '../../protocol/base/bounded-map.js';
import {
  AUTH_BACKOFF_FIRST_MS,
  AUTH_BACKOFF_MAX_MS,
  AUTH_FAILURES_FREE,
  AUTH_SOURCES_MAX,
} from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';

interface Source {
  failures: number;
  failedAtMs: number;
}

/** A source that has been quiet for this long starts from zero again. */
const FORGOTTEN_AFTER_MS = 2 * AUTH_BACKOFF_MAX_MS;
const WINDOW = { initialMs: AUTH_BACKOFF_FIRST_MS, maxMs: AUTH_BACKOFF_MAX_MS, jitter: 0, stableMs: 0 };

/**
 * Slows down guessing of the API key (reference-http §9, #2502). Each source may present five wrong keys. From then on
 * every wrong key starts a waiting time, 1 s at first, doubled each time up to 300 s. While it lasts no key is checked,
 * not even the right one: otherwise guessing would go on and only its answers would be slower. A right key afterwards
 * halves the count, so that a client with the key does not hide one that guesses from the same address. Sources are
 * counted separately, so that one cannot lock out another.
 */
export class AuthBackoff {
  readonly #sources: BoundedMap<string, Source>;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    sourcesMax = AUTH_SOURCES_MAX,
  ) {
    this.#sources = new BoundedMap(sourcesMax);
  }

  /** Milliseconds until a key from this source is checked again; 0 when it is checked now. */
  waitMs(source: string): number {
    const known = this.#sources.get(source);
    if (known === undefined) return 0;
    const sinceMs = this.clock.monotonicMs() - known.failedAtMs;
    if (sinceMs >= FORGOTTEN_AFTER_MS) {
      this.#sources.delete(source);
      return 0;
    }
    return Math.max(windowMs(known.failures) - sinceMs, 0);
  }

  failed(source: string): void {
    const failures = (this.#sources.get(source)?.failures ?? 0) + 1;
    this.#sources.set(source, { failures, failedAtMs: this.clock.monotonicMs() });
  }

  succeeded(source: string): void {
    const known = this.#sources.get(source);
    if (known === undefined) return;
    known.failures = Math.floor(known.failures / 2);
    if (known.failures === 0) this.#sources.delete(source);
  }

  /** Sources that are remembered. */
  get size(): number {
    return this.#sources.size;
  }
}

function windowMs(failures: number): number {
  if (failures < AUTH_FAILURES_FREE) return 0;
  return backoffDelayMs(WINDOW, failures - AUTH_FAILURES_FREE, 0);
}

/**
 * The source that a connection counts for: its IPv4 address, or the /64 of its IPv6 address, because the holder of one
 * address of a /64 has them all. Headers such as X-Forwarded-For are ignored, because any client can send them.
 */
export function sourceOf(remoteAddress: string | undefined): string {
  if (remoteAddress === undefined) return 'unknown';
  const mapped = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(remoteAddress);
  if (mapped !== null) return mapped[1]!;
  const [address] = remoteAddress.toLowerCase().split('%');
  const [head, tail] = address!.split('::');
  const left = groupsOf(head);
  const right = groupsOf(tail);
  const zeros = tail === undefined ? 0 : Math.max(8 - left.length - right.length, 0);
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`;
}

const groupsOf = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'));
