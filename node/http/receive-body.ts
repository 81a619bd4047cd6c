import type { IncomingMessage } from 'node:http';
import {
  BODIES_HELD_BYTES_MAX,
  BODY_PIECE_BYTES,
  REQUEST_BODY_BYTES_MAX,
} from '../../protocol/base/limits.js';
import type { Failure } from '../../protocol/base/result.js';
import type { Exchange } from './exchange.js';
import { isJsonType } from './json-body.js';

const tooLarge = (bytesMax: number): Failure => ({
  code: 'PAYLOAD_TOO_LARGE',
  message: `the body is larger than ${bytesMax} bytes`,
});

const TOO_MANY: Failure = {
  code: 'OVERLOADED',
  message: `the bodies of all requests under way hold ${BODIES_HELD_BYTES_MAX} bytes: send this request again later`,
};

/** How near a browser says that the page of a request is. */
export function fetchSiteOf({ headers }: IncomingMessage): string | undefined {
  const site = headers['sec-fetch-site'];
  return typeof site === 'string' ? site : undefined;
}

/** True when a request announces a body. */
export function announcesBody(exchange: Exchange): boolean {
  const { headers } = exchange.request;
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0';
}

/** What is wrong with the announced length, type or coding of a body, before any of it is read. */
export function announcementProblem(exchange: Exchange, bytesMax = REQUEST_BODY_BYTES_MAX): Failure | null {
  const { headers } = exchange.request;
  if (Number(headers['content-length'] ?? 0) > bytesMax) return tooLarge(bytesMax);
  const type = headers['content-type'];
  // A page may send a body without a type to any site, and browsers ask first only about JSON.
  const fromPage = headers.origin !== undefined || fetchSiteOf(exchange.request) !== undefined;
  if (type === undefined ? fromPage : !isJsonType(type)) {
    return { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'expected Content-Type: application/json' };
  }
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    return { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'compressed request bodies are not accepted' };
  }
  return null;
}

/**
 * Reads the body and passes it on. An oversized body is refused as soon as it exceeds the limit, and any body when all
 * bodies under way hold too many bytes; a client that leaves
 * early ends the exchange. `received` is not called in these cases.
 */
export function receiveBody(
  exchange: Exchange,
  received: (body: Buffer) => void,
  bytesMax = REQUEST_BODY_BYTES_MAX,
): void {
  const { request } = exchange;
  let first: Buffer | null = null;
  let chunks: Buffer[] | null = null;
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (exchange.state === 'finished') return;
    const problem = size > bytesMax ? tooLarge(bytesMax) : heldProblem(exchange, chunk);
    if (problem !== null) {
      first = null;
      chunks = null;
      exchange.fail(problem);
    } else if (first === null) first = chunk;
    else if (chunks === null) chunks = [first, chunk];
    else chunks.push(chunk);
  });
  request.on('end', () => {
    if (exchange.state === 'finished') return;
    received(chunks !== null ? Buffer.concat(chunks, size) : (first ?? EMPTY));
  });
  // A connection that breaks within a body is not an error of this node.
  request.on('error', () => exchange.abandon());
  request.on('close', () => {
    if (!request.complete) exchange.abandon();
  });
}

const heldProblem = (exchange: Exchange, piece: Buffer): Failure | null =>
  exchange.holdBody(piece.length + BODY_PIECE_BYTES) ? null : TOO_MANY;

const EMPTY = Buffer.alloc(0);
