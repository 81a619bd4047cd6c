import { timingSafeEqual } from 'node:crypto';
import type { Crypto, Log } from '../../protocol/base/seams.js';
import type { Secret } from '../config/secret.js';

/** What a request presents: the right key, a wrong key, or no key. */
export type KeyVerdict = 'right' | 'wrong' | 'none';

/** Headers of a request by their names in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Checks the API key of a request: that of the headers, or without one the query parameter. */
export interface KeyGate {
  /** False while the node has no API key; every request is then allowed. */
  readonly closed: boolean;
  check(headers: Headers, query: string | undefined): KeyVerdict;
}

const BEARER = /^Bearer +(.*)$/i;

/**
 * The keys in the headers: `x-api-key`, and the bearer token of `authorization`. Another scheme there is somebody else's:
 * a proxy may have one of its own.
 */
export function keysOf({ 'x-api-key': apiKey, authorization }: Headers): readonly string[] {
  const bearer = typeof authorization === 'string' ? BEARER.exec(authorization)?.[1] : undefined;
  return [apiKey, bearer].filter((key): key is string => typeof key === 'string');
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
    check(headers, query) {
      const sent = keysOf(headers);
      if (sent.length > 0) {
        const given = sent.filter((key) => key !== '');
        if (given.length === 0) return 'none';
        // Node reads header bytes as Latin-1; the key is compared as the bytes that were sent.
        const isRight = given.every((key) => verdict(Buffer.from(key, 'latin1')) === 'right');
        return isRight ? 'right' : 'wrong';
      }
      if (query === undefined || query === '') return 'none';
      if (!warned) {
        warned = true;
        log.warn(
          {},
          'an API key came in a query string, where logs see it: send the header x-api-key, or authorization: Bearer, instead',
        );
      }
      return verdict(query);
    },
  };
}
