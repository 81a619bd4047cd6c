import { z } from 'zod';
import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import { nodeNameProblem } from '../../../protocol/peers/node-name.js';

/** The request of a joining node, and the authority's answer (`POST /api/v1/mesh/join`). */

export const JOIN_PATH = '/mesh/join';

const REQUEST_FACTS = z.strictObject({
  /** Hash of the invitation's key; the same key opened the connection. */
  invite: z.string().regex(/^[0-9a-f]{64}$/),
  mesh_id: z.string().regex(/^[0-9a-f]{64}$/),
  peer_id: z.string().regex(/^peer-[0-9a-f]{16}$/),
  /** What the node would like to be called. */
  name: z
    .string()
    .refine((name) => nodeNameProblem(name) === null)
    .optional(),
  public_key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  /** RSA public key of its future certificate, SPKI in PEM. */
  tls_public_key: z.string().max(2000),
  url: z
    .string()
    .max(300)
    .regex(/^https:\/\/[^\s/?#@]+$/)
    // The certificate names its host, and the expression admits texts that are no address.
    .refine((url) => URL.canParse(url))
    .nullable(),
});

export const JOIN_REQUEST = z.strictObject({
  facts: REQUEST_FACTS,
  /** Standard base64, Ed25519 by the machine's key over `joinBytes`. */
  proof: z.string().max(100),
  /** Standard base64, RSA with SHA-256 by the TLS key over `joinBytes`. */
  tls_proof: z.string().max(1000),
});

export type JoinFacts = z.infer<typeof REQUEST_FACTS>;
export type JoinRequest = z.infer<typeof JOIN_REQUEST>;

export const JOIN_ANSWER = z.object({
  mesh_id: z.string(),
  /** PEM. */
  authority: z.string(),
  /** PEM, of the node that joined. */
  certificate: z.string(),
  statements: z.array(z.unknown()),
});

export type JoinAnswer = z.infer<typeof JOIN_ANSWER>;

/** The bytes that both keys of a joining node sign, to prove that it has them. */
export function joinBytes(facts: JoinFacts): Uint8Array {
  return new TextEncoder().encode(`mnemesh join 1\n${canonicalJson(facts)}`);
}
