import { GZIP_BYTES_MIN, GZIP_INLINE_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Compressor } from '../../protocol/base/seams.js';

/** A body as it is sent. */
export interface CodedBody {
  readonly bytes: Buffer | Uint8Array;
  readonly gzipped: boolean;
}

/**
 * Says whether gzip may answer a request (RFC 9110 §12.5.3): it is named, or `*` stands for it, with a weight above 0
 * and not below that of `identity`. Without the header nothing is compressed (interface §4).
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  // The values that nearly every client sends need no parsing.
  if (acceptEncoding === 'gzip' || acceptEncoding === 'gzip, deflate, br') return true;
  let gzip: number | null = null;
  let identity: number | null = null;
  let any: number | null = null;
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';');
    const coding = name!.trim();
    const weight = weightOf(parameters);
    if (coding === 'gzip' || coding === 'x-gzip') gzip = Math.max(gzip ?? 0, weight);
    else if (coding === 'identity') identity = weight;
    else if (coding === '*') any = weight;
  }
  const weight = gzip ?? any ?? 0;
  return weight > 0 && weight >= (identity ?? 0);
}

/** The weight of a coding: 1 unless given, 0 when it cannot be read. */
function weightOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*(.*?)\s*$/.exec(parameter);
    if (match !== null) return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(match[1]!) ? Number(match[1]) : 0;
  }
  return 1;
}

/** Answers of this type and size differ by Accept-Encoding; event streams are never compressed (interface §4). */
export function isCompressible(contentType: string, sizeBytes: number): boolean {
  return sizeBytes >= GZIP_BYTES_MIN && !contentType.startsWith('text/event-stream');
}

/** Compresses a body and passes it on: at once when it is small, asynchronously when it would block the main thread. */
export function compress(body: Buffer, compressor: Compressor, done: (coded: CodedBody) => void): void {
  if (body.length <= GZIP_INLINE_BYTES_MAX) {
    done({ bytes: compressor.gzip(body), gzipped: true });
    return;
  }
  compressor.gzipLater(body).then(
    (bytes) => done({ bytes, gzipped: true }),
    () => done({ bytes: body, gzipped: false }),
  );
}
