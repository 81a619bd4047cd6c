import { MnemeshError } from '../client/client-error.js';
import type { HttpClient } from '../client/http-client.js';
import { createClient } from '../client/index.js';

const TIMEOUT_MS = 5000;

/** A client that asks a node once; without the key it sends none. */
export const nodeClient = (base: URL, key: string | null): HttpClient =>
  createClient({
    ...{ url: base.href, timeoutMs: TIMEOUT_MS, retries: 0 },
    ...(key === null ? {} : { apiKey: key }),
  });

/** What a call came to: its answer, or its failure. */
export async function answerTo<T extends object>(call: Promise<T>): Promise<T | MnemeshError> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof MnemeshError) return error;
    throw error;
  }
}
