import { REDACTED } from './secret.js';

/** A text as it may be shown: without what an address has after its path, because that may be a key. */
export function shownUrl(text: string): string {
  // Matched as text: an address that cannot be parsed may hold a key as well.
  const address = /^([a-z][a-z0-9+.-]*:\/\/[^?#]*)([?#]).+$/is.exec(text.trim());
  return address === null ? text : `${address[1]}${address[2]}${REDACTED}`;
}
