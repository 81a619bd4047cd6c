import { hash, randomBytes, randomUUID } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createInflateRaw, gzip, gzipSync } from 'node:zlib';
import type { Clock, Compressor, Crypto, Random, Scheduler, Timer } from '../protocol/base/seams.js';
import { verifyEd25519 } from './verify-ed25519.js';

/**
 * The real world behind the seams. Only this file and the simulator's touch the clock, timers and randomness (design:
 * architecture, "Seams").
 */

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export const systemScheduler: Scheduler = {
  after(delayMs, run, options): Timer {
    const timer = setTimeout(run, delayMs);
    if (options?.keepAlive !== true) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  immediate(run) {
    setImmediate(run);
  },
};

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  unit: () => Math.random(),
};

export const systemCrypto: Crypto = {
  sha256Hex: (data) => hash('sha256', data, 'hex'),
  sha256: (data) => hash('sha256', data, 'buffer'),
  verify: verifyEd25519,
};

const gzipAsync = promisify(gzip);

/** HTTP requests to servers that a program names. */
export const systemFetch: typeof fetch = (input, init) => fetch(input, init);

export const systemCompressor: Compressor = {
  gzip: (data) => gzipSync(data),
  gzipLater: (data) => gzipAsync(data),
};

/** The bytes that raw deflate made smaller. Reading it rejects where they are damaged. */
export function inflated(source: Readable): AsyncIterable<Uint8Array> {
  const inflate = createInflateRaw();
  // Who reads learns of a failure.
  pipeline(source, inflate, () => undefined);
  return inflate;
}
