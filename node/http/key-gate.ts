import { timingSafeEqual } from 'node:crypto';
import type { Crypto, Log } from '../../protocol/seams.js';
import type { Secret } from '../config/secret.js';

/** What a request presents: the right key, a wrong one, or none. */
export type KeyVerdict = 'right' | 'wrong' | 'none';

/** Judges the API key of a request: the header counts, the query parameter only without it. */
export interface KeyGate {
  /** False while the node has no API key; everybody may come in then. */
  readonly closed: boolean;
  judge(header: string | undefined, query: string | undefined): KeyVerdict;
}

/**
 * The API key check (interface §5.1). Digests are compared, so that neither the length nor a common beginning of a
 * guess shows in the time that it takes.
 */
export function keyGate(apiKey: Secret | null, crypto: Crypto, log: Log): KeyGate {
  if (apiKey === null) return { closed: false, judge: () => 'right' };
  const expected = crypto.sha256(apiKey.reveal());
  const verdict = (key: string | Uint8Array): KeyVerdict =>
    timingSafeEqual(crypto.sha256(key), expected) ? 'right' : 'wrong';
  let warned = false;
  return {
    closed: true,
    judge(header, query) {
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
