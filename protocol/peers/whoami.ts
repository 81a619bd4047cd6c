import { z } from 'zod';

/** Path below the API prefix: a node says who it is, signed over the caller's challenge. */
export const WHOAMI_PATH = '/mesh/whoami';

/** The form of a challenge: URL-safe base64 of 16 to 96 random bytes. */
export const CHALLENGE = /^[A-Za-z0-9_-]{22,128}$/;

/** Answer of `GET /api/v1/mesh/whoami?challenge=…`. */
export const WHOAMI_ANSWER = z.object({
  peer_id: z.string().min(1).max(128),
  /** URL-safe base64 of the 32 bytes of its Ed25519 key. */
  public_key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  version: z.string().max(64),
  challenge: z.string().max(128),
  /** Standard base64, Ed25519 over `whoamiBytes`. */
  signature: z.string().max(128),
});

export type WhoamiAnswer = z.infer<typeof WHOAMI_ANSWER>;

/** The bytes under the signature of such an answer. No message and no head begins like this. */
export function whoamiBytes({
  challenge,
  peer_id: peerId,
  version,
}: Pick<WhoamiAnswer, 'challenge' | 'peer_id' | 'version'>): Uint8Array {
  return new TextEncoder().encode(`mnemesh whoami 1\n${challenge}\n${peerId}\n${version}`);
}
