import { publicKeyFromText, publicKeyText, signatureFromText } from '../../protocol/base/key-text.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto, Random, Signer } from '../../protocol/base/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import {
  CHALLENGE,
  WHOAMI_ANSWER,
  WHOAMI_PATH,
  type WhoamiAnswer,
  whoamiBytes,
} from '../../protocol/peers/whoami.js';
import type { PeerTransport } from '../../protocol/wire/transport.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import { parseQuery } from '../http/query-string.js';
import { VERSION } from '../version.js';
import { parseJson } from './forming/mesh-folder.js';

const TIMEOUT_MS = 3000;
const CHALLENGE_BYTES = 24;

/** Says who this node is, signed over the challenge of the query. VALIDATION_FAILED for a malformed challenge. */
export function answerWhoami(query: string, peerId: string, signer: Signer | null): Result<WhoamiAnswer> {
  const parsed = parseQuery(query);
  const challenge = parsed.ok ? (parsed.value.get('challenge') ?? '') : '';
  if (!CHALLENGE.test(challenge)) {
    return fail('VALIDATION_FAILED', 'challenge must be 22 to 128 characters of URL-safe base64', {
      fields: ['challenge'],
    });
  }
  if (signer === null) return fail('UNAVAILABLE', 'this node has no key, so it cannot prove who it is');
  const said = { peer_id: peerId, version: VERSION, challenge };
  return ok({
    ...said,
    public_key: publicKeyText(signer.publicKey),
    signature: Buffer.from(signer.sign(whoamiBytes(said))).toString('base64'),
  });
}

/** Which node answers at an address, proven by the key in its answer. That key need not belong to a known peer. */
export type Asked =
  | {
      readonly kind: 'proven';
      readonly peerId: string;
      readonly publicKey: Uint8Array;
      readonly version: string;
    }
  | { readonly kind: 'unreachable' | 'untrusted' | 'rubbish'; readonly problem: string };

/** Asks which node answers at a peer's address. Never rejects. */
export async function askWhoami(
  peer: Peer,
  transport: PeerTransport,
  { random, crypto }: { readonly random: Random; readonly crypto: Crypto },
): Promise<Asked> {
  const challenge = Buffer.from(random.bytes(CHALLENGE_BYTES)).toString('base64url');
  const query = `challenge=${challenge}`;
  const request = {
    method: 'GET',
    path: `${API_PREFIX}${WHOAMI_PATH}`,
    query,
    headers: {},
    body: null,
  } as const;
  const reply = await transport.send(peer, request, TIMEOUT_MS);
  if (reply.kind !== 'answer') {
    return { kind: reply.kind === 'untrusted' ? 'untrusted' : 'unreachable', problem: reply.message };
  }
  if (reply.status !== 200) return { kind: 'rubbish', problem: `the address answered ${reply.status}` };
  const answer = WHOAMI_ANSWER.safeParse(parseJson(new TextDecoder().decode(reply.body)));
  if (!answer.success) return { kind: 'rubbish', problem: 'no node of this release answers there' };
  const publicKey = publicKeyFromText(answer.data.public_key);
  const signature = signatureFromText(answer.data.signature);
  const genuine =
    answer.data.challenge === challenge &&
    publicKey !== null &&
    signature !== null &&
    crypto.verify(publicKey, whoamiBytes(answer.data), signature);
  if (!genuine) return { kind: 'rubbish', problem: 'the answer is not signed by the key that it names' };
  return { kind: 'proven', peerId: answer.data.peer_id, publicKey, version: answer.data.version };
}
