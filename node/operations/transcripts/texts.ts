import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { hasControlCharacter } from '../../../protocol/base/ids.js';
import { CONTENT_BYTES_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import type { Blob } from '../../../protocol/transcripts/blob-kind.js';

/** Turns come in bursts, so the fastest level counts for more than the last bytes. */
const LEVEL = 1;

/** A text as blobs hold it. */
export interface PackedText {
  readonly sha256: string;
  /** Base64. */
  readonly data: string;
  readonly size: number;
  readonly compressedSize: number;
}

export function packed(text: string, crypto: Crypto): PackedText {
  const bytes = Buffer.from(text, 'utf8');
  const compressed = deflateRawSync(bytes, { level: LEVEL });
  return {
    sha256: hex(crypto.sha256(bytes)),
    data: compressed.toString('base64'),
    size: bytes.length,
    compressedSize: compressed.length,
  };
}

/** The text of a blob. CONTENT_DAMAGED where it is missing, longer than `bytesMax`, or not the one of its digest. */
export function unpacked(
  blob: Blob | null,
  sha256: string,
  { crypto, bytesMax }: { readonly crypto: Crypto; readonly bytesMax: number },
): Result<string> {
  if (blob === null) return fail('CONTENT_DAMAGED', `the text with SHA-256 ${sha256} is not stored here`);
  let bytes: Buffer;
  try {
    bytes = inflateRawSync(Buffer.from(blob.data, 'base64'), { maxOutputLength: bytesMax });
  } catch {
    return fail(
      'CONTENT_DAMAGED',
      `the text with SHA-256 ${sha256} cannot be decompressed to at most ${bytesMax} bytes`,
    );
  }
  return hex(crypto.sha256(bytes)) === sha256
    ? ok(bytes.toString('utf8'))
    : fail('CONTENT_DAMAGED', `what is stored is not the text with SHA-256 ${sha256}`);
}

/**
 * A text as a memory can tell it: its beginning, with a mark for each control character that memories do not hold. The
 * whole text is in the transcript.
 */
export function tellable(text: string): string {
  const plain = hasControlCharacter(text, '\n\r\t')
    ? [...text].map((one) => (hasControlCharacter(one, '\n\r\t') ? '\ufffd' : one)).join('')
    : text;
  if (plain.length * 3 <= CONTENT_BYTES_MAX) return plain;
  const bytes = Buffer.from(plain, 'utf8');
  if (bytes.length <= CONTENT_BYTES_MAX) return plain;
  let end = CONTENT_BYTES_MAX;
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
