import { timingSafeEqual } from 'node:crypto';
import type { Crypto, Log } from '../../protocol/seams.js';
import type { Secret } from '../config/secret.js';

/** Says whether a request presents the API key: the header counts, the query parameter only without it. */
export type KeyGate = (header: string | undefined, query: string | undefined) => boolean;

/**
 * The API key check (interface §5.1). Digests are compared, so that neither the length nor a common beginning of a
 * guess shows in the time that it takes.
 */
export function keyGate(apiKey: Secret | null, crypto: Crypto, log: Log): KeyGate {
  if (apiKey === null) return () => true;
  const expected = crypto.sha256(apiKey.reveal());
  let warned = false;
  return (header, query) => {
    // Node reads header bytes as Latin-1; the key is compared as the bytes that were sent.
    if (header !== undefined) return timingSafeEqual(crypto.sha256(Buffer.from(header, 'latin1')), expected);
    if (query === undefined) return false;
    if (!warned) {
      warned = true;
      log.warn({}, 'an API key came in a query string, where logs see it: send the x-api-key header instead');
    }
    return timingSafeEqual(crypto.sha256(query), expected);
  };
}
