import { createHmac } from 'node:crypto';
import { agentIdProblem } from '../../protocol/base/ids.js';
import type { Clock, Crypto } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { isBlank, signerOf } from '../identity/key-file.js';
import { keyFromFile } from '../identity/key-from-file.js';
import { signedBytes } from '../identity/sign-write.js';
import { refused } from './client-error.js';
import type { SignableMemory, Signed, Signer, SignerOptions } from './public.js';
import type { ClientRoute } from './routes.js';

/** A signer with the private key of an agent. Throws MnemeshError for a text or bytes that are no such key. */
export function createSigner({ agentId, privateKey }: SignerOptions): Signer {
  const problem = agentIdProblem(agentId);
  if (problem !== null) throw refused(problem, ['agentId']);
  const bytes = typeof privateKey === 'string' ? new TextEncoder().encode(privateKey.trim()) : privateKey;
  const seed = keyFromFile(bytes);
  if (seed === null || isBlank(seed)) {
    throw refused('privateKey must be 32 bytes, or their text in base64, URL-safe base64 or hex', [
      'privateKey',
    ]);
  }
  const key = signerOf(seed);
  return { agentId, sign: (data) => key.sign(data) };
}

export interface SigningParts {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly crypto: Pick<Crypto, 'sha256'>;
}

const FIELDS = ['title', 'content', 'namespace', 'kind', 'created_at'] as const;
const OPTIONAL: ReadonlySet<string> = new Set(['namespace', 'kind', 'created_at']);

/** What an author signs: the bytes, and the members of the request that they cover beside title and content. */
export interface Envelope {
  readonly bytes: Uint8Array;
  readonly covered: Omit<Signed, 'signature'>;
}

/** The envelope of a memory. Throws MnemeshError where a field that is signed is missing or no text. */
export function envelopeOf(agentId: string, memory: SignableMemory, parts: SigningParts): Envelope {
  const given = { ...memory } as Readonly<Record<string, unknown>>;
  const wrong = FIELDS.filter(
    (field) => typeof given[field] !== 'string' && !(OPTIONAL.has(field) && given[field] === undefined),
  );
  if (wrong.length > 0) throw refused(`a signed memory needs these as text: ${wrong.join(', ')}`, wrong);
  if (given['agent_id'] !== undefined && given['agent_id'] !== agentId) {
    throw refused(`the memory is of ${String(given['agent_id'])}, and the key is of ${agentId}`, [
      'agent_id',
    ]);
  }
  const { kind = 'observation', content } = memory;
  // What the node stores: names in NFC, and a title without white space around it.
  const namespace = (memory.namespace ?? 'global').normalize('NFC');
  const title = memory.title.normalize('NFC').trim();
  const createdAt = memory.created_at ?? instantFromMs(parts.clock.nowMs());
  const fields = { agentId, namespace, kind, title, content };
  const covered = { agent_id: agentId, namespace, kind, created_at: createdAt };
  return { bytes: signedBytes(fields, createdAt, parts.crypto), covered };
}

/** The memory with its signature, and with the namespace, kind and date that it covers. Throws MnemeshError as `envelopeOf` does. */
export async function signMemory<M extends SignableMemory>(
  signer: Signer,
  memory: M,
  parts: SigningParts,
): Promise<M & Signed> {
  const { bytes, covered } = envelopeOf(signer.agentId, memory, parts);
  const signature = Buffer.from(await signer.sign(bytes)).toString('base64');
  return { ...memory, ...covered, signature };
}

/** The headers of a decision on a pending action, signed with the secret of the node; each is good once. */
export function decisionHeaders(
  { method, decision }: ClientRoute,
  subject: string,
  body: string,
  secret: string,
  { clock, crypto }: SigningParts,
): Readonly<Record<string, string>> {
  const timestamp = Math.floor(clock.nowMs() / 1000);
  const signed = decision?.as === undefined ? subject : `${subject}/${decision.as}`;
  const code = createHmac('sha256', crypto.sha256(secret))
    .update(`${timestamp}.${method}.${signed}.${body}`)
    .digest('hex');
  return { 'x-svc-timestamp': String(timestamp), 'x-svc-signature': `sha256=${code}` };
}
