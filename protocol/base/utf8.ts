/** The length of a text in UTF-8 bytes. `TextEncoder` would make the bytes, which costs ten times as much. */
export const utf8Bytes = (text: string): number => Buffer.byteLength(text);

/** The length of a text in characters; a pair of surrogates counts as one. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * The longest beginning of a text that fits in `bytesMax` bytes, cut between words when a gap is near, with `…` for the
 * rest. The whole text when it fits.
 */
export function excerpt(text: string, bytesMax: number): string {
  if (utf8Bytes(text) <= bytesMax) return text;
  const room = bytesMax - utf8Bytes('…');
  if (room <= 0) return '';
  // A character of three bytes is one UTF-16 unit, so no beginning that fits is longer than `room` units.
  let cut = Math.min(text.length, room);
  while (utf8Bytes(text.slice(0, cut)) > room) {
    cut -= Math.max(1, Math.ceil((utf8Bytes(text.slice(0, cut)) - room) / 4));
  }
  // Half a surrogate pair is not text.
  const head = text.slice(0, cut).replace(/[\uD800-\uDBFF]$/, '');
  const space = head.search(/\s\S*$/);
  return `${(space > head.length / 2 ? head.slice(0, space) : head).trimEnd()}…`;
}

/** The longest beginning of a text that fits in `bytesMax` bytes; no character is cut in two. */
export function utf8Prefix(text: string, bytesMax: number): string {
  if (utf8Bytes(text) <= bytesMax) return text;
  // A text of as many UTF-16 units has at least as many bytes.
  const bytes = Buffer.from(text.slice(0, bytesMax).replace(/[\uD800-\uDBFF]$/, ''));
  let end = Math.min(bytes.length, bytesMax);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
