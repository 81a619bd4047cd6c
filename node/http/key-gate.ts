import { timingSafeEqual } from 'node:crypto';
import type { Crypto, Log } from '../../protocol/base/seams.js';
import type { Secret } from '../config/secret.js';

/** What a request presents: the right key, a wrong key, or no key. */
export type KeyVerdict = 'right' | 'wrong' | 'none';

/** Checks the API key of a request: that of the header, or without it the query parameter. */
export interface KeyGate {
  /** False while the node has no API key; every request is then allowed. */
  readonly closed: boolean;
  check(header: string | undefined, query: string | undefined): KeyVerdict;
}

/**
 * The API key check (interface §5.1). Digests are compared, so that the duration reveals neither the length nor a
 * common prefix of a guess.
 */
export function keyGate(apiKey: Secret | null, crypto: Crypto, log: Log): KeyGate {
  if (apiKey === null) return { closed: false, check: () => 'right' };
  const expected = crypto.sha256(apiKey.reveal());
  const verdict = (key: string | Uint8Array): KeyVerdict =>
    timingSafeEqual(crypto.sha256(key), expected) ? 'right' : 'wrong';
  let warned = false;
  return {
    closed: true,
    check(header, query) {
      // Node reads header bytes as Latin-1; the key is compared as the bytes that were sent.
      if (header !== undefined) return header === '' ? 'none' : verdict(Buffer.from(header, 'latin1'));
      if (query === undefined || query === '') return 'none';
      if (!warned) {
        warned = true;
        log.warn(
          {},
          'an API key came in a query string, where logs see it: send the x-api-key header instead',
        );
      }
      return verdict(query);
    },
  };
}
