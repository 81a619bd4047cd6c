import type { Crypto } from '../base/seams.js';
import { digestedManifest, type Manifest } from './manifest.js';

/**
 * The digest of a skill, hex: SHA-256 over its manifest without the metadata, its body, and the SHA-256 of each of its files as
 * raw bytes in ascending order (reference-mcp-cli §6.6).
 */
export function skillDigest(
  manifest: Omit<Manifest, 'metadata'>,
  body: string,
  fileDigests: readonly string[],
  crypto: Pick<Crypto, 'sha256Hex'>,
): string {
  // Hex digits sort as the bytes that they stand for.
  const files = [...fileDigests].sort().map((digest) => Buffer.from(digest, 'hex'));
  const text = Buffer.from(digestedManifest(manifest) + body, 'utf8');
  return crypto.sha256Hex(Buffer.concat([text, ...files]));
}

/** What is signed of a skill: the bytes of its digest. */
export const signedDigest = (digest: string): Uint8Array => new Uint8Array(Buffer.from(digest, 'hex'));
