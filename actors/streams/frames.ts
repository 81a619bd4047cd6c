/** Milliseconds after which a client that lost the stream comes back. */
const RETRY_MS = 2000;

const encoder = new TextEncoder();
const bytes = (text: string): Uint8Array => encoder.encode(text);

/** The first bytes of a stream. A frame with an id and no data moves the client's place and is no event. */
export const beginFrame = (name: string, place: number): Uint8Array =>
  bytes(`: ${name}\nretry: ${RETRY_MS}\nid: ${place}\n\n`);

export const KEEPALIVE = bytes(': keepalive\n\n');

/** A keepalive for a listener that has all events up to `place`. */
export const keepaliveFrame = (place: number): Uint8Array => bytes(`: keepalive\nid: ${place}\n\n`);

const LAGGED_EVENT = 'event: lagged\ndata: {"lagged":true}\n\n';

/** Without an id, so that a client that comes back gets what it has missed. */
export const LAGGED = bytes(LAGGED_EVENT);

/** For a client whose place is not known any more: it begins at `place`. */
export const laggedFrame = (place: number): Uint8Array => bytes(`id: ${place}\n${LAGGED_EVENT}`);

/** An event with its place. */
export const dataFrame = (place: number, event: string, data: object): Uint8Array =>
  bytes(`id: ${place}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
