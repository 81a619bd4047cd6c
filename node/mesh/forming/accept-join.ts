import { createHash, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { publicKeyFromText, signatureFromText } from '../../../protocol/base/key-text.js';
import { CERTIFICATES_KEPT } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Crypto, Random } from '../../../protocol/base/seams.js';
import { peerIdOf } from '../../../protocol/log/peer-id.js';
import { freeNodeName } from '../../../protocol/peers/node-name.js';
import { fingerprintOfCertificate, type KeyAndCertificate } from './certificate.js';
import { namesIn } from './find-node.js';
import type { Invites } from './invites.js';
import { JOIN_REQUEST, type JoinAnswer, type JoinRequest, joinBytes } from './join-messages.js';
import type { MeshFolder } from './mesh-folder.js';
import { isTlsPublicKey, type RosterFile, type Statements } from './roster-file.js';
import { issueCertificate } from './x509.js';

export interface AcceptOptions {
  readonly folder: MeshFolder;
  readonly roster: RosterFile;
  readonly invites: Invites;
  readonly clock: Clock;
  readonly random: Random;
  readonly crypto: Crypto;
}

/**
 * Lets a node with an invitation join: verifies its keys, uses up the invitation, issues its certificate and states its
 * membership. `invite` is the invitation that opened the connection. A node that did not get its answer may ask again
 * with the same keys. FORBIDDEN, VALIDATION_FAILED or CONFLICT; only a valid request uses up an invitation.
 */
export async function acceptJoin(
  options: AcceptOptions,
  invite: string | null,
  body: unknown,
): Promise<Result<JoinAnswer>> {
  const { folder, roster, invites } = options;
  const authority = folder.authority();
  if (authority === null) return fail('FORBIDDEN', 'this node is not the authority of its mesh');
  const parsed = JOIN_REQUEST.safeParse(body);
  if (!parsed.success)
    return fail('VALIDATION_FAILED', 'the body does not have the form of a request to join');
  const { facts } = parsed.data;
  const terms = invite === null || facts.invite !== invite ? null : invites.find(invite);
  if (invite === null || terms === null) return fail('FORBIDDEN', 'this node does not know the invitation');
  if (facts.mesh_id !== roster.meshId) return fail('FORBIDDEN', 'the invitation belongs to another mesh');
  const keys = await verifyKeys(parsed.data, options.crypto);
  if (!keys.ok) return keys;
  const claim = { peer_id: facts.peer_id, tls_key: sha256(facts.tls_public_key) };
  const before = invites.usedBy(invite);
  if (before === null && invites.isExpired(terms)) {
    return fail('FORBIDDEN', 'this invitation has expired: ask for another one');
  }
  const room = roomFor(roster.read(), facts.peer_id, facts.url);
  if (!room.ok) return room;
  const scope = scopeFor(roster.read(), facts.peer_id, terms.allowed_namespaces);
  if (!scope.ok) return scope;
  const winner = before ?? invites.use(invite, claim);
  if (winner.peer_id !== claim.peer_id || winner.tls_key !== claim.tls_key || invites.isExpired(terms)) {
    return fail('FORBIDDEN', 'this invitation was used already: ask for another one');
  }
  const certificate = certify(options, authority, parsed.data);
  const fingerprint = fingerprintOfCertificate(new X509Certificate(certificate));
  const stated = await roster.state(authority, (known) => {
    // Other nodes may join at the same time.
    const free = roomFor(known, facts.peer_id, facts.url);
    if (!free.ok) return failed(free.error);
    const old = known.get(facts.peer_id)?.statement;
    const wish = facts.name ?? old?.name;
    return ok({
      peer_id: facts.peer_id,
      ...(wish === undefined ? {} : { name: freeNodeName(wish, namesIn(known, facts.peer_id)) }),
      url: facts.url,
      public_key: facts.public_key,
      // Its former certificate stays valid until the node uses the new one.
      fingerprints: [fingerprint, ...(old?.state === 'member' ? old.fingerprints : [])].slice(
        0,
        CERTIFICATES_KEPT,
      ),
      allowed_namespaces: terms.allowed_namespaces,
      allowed_sender_agent_ids: old?.allowed_sender_agent_ids ?? [],
      state: 'member',
    });
  });
  if (!stated.ok) return failed(stated.error);
  return ok({
    mesh_id: roster.meshId,
    authority: authority.cert,
    certificate,
    statements: [...roster.read().values()],
  });
}

/** VALIDATION_FAILED unless the requester has both private keys and a node may have such keys. */
async function verifyKeys({ facts, proof, tls_proof }: JoinRequest, crypto: Crypto): Promise<Result<null>> {
  const publicKey = publicKeyFromText(facts.public_key);
  const signature = signatureFromText(proof);
  if (publicKey === null || peerIdOf(publicKey, crypto) !== facts.peer_id) {
    return fail('VALIDATION_FAILED', 'the peer id does not belong to the public key');
  }
  const { publicKeyProblem } = await import('../../../protocol/identity/ed25519-admission.js');
  const problem = publicKeyProblem(publicKey);
  if (problem !== null) return fail('VALIDATION_FAILED', problem);
  const bytes = joinBytes(facts);
  if (signature === null || !crypto.verify(publicKey, bytes, signature)) {
    return fail('VALIDATION_FAILED', 'the request is not signed by the peer key in it');
  }
  if (!isTlsPublicKey(facts.tls_public_key)) {
    return fail('VALIDATION_FAILED', 'the TLS key must be RSA of 2048 to 4096 bits');
  }
  const key = createPublicKey(facts.tls_public_key);
  return verify('sha256', bytes, key, Buffer.from(tls_proof, 'base64'))
    ? ok(null)
    : fail('VALIDATION_FAILED', 'the request is not signed by the TLS key in it');
}

/** CONFLICT when another member has the address. */
function roomFor(known: Statements, peerId: string, url: string | null): Result<null> {
  if (url === null) return ok(null);
  for (const { statement } of known.values()) {
    const same = statement.url?.toLowerCase() === url.toLowerCase();
    if (same && statement.state === 'member' && statement.peer_id !== peerId) {
      return fail(
        'CONFLICT',
        `${statement.peer_id} has the address ${url}: choose another with --url, or remove that node first`,
      );
    }
  }
  return ok(null);
}

/**
 * CONFLICT when a node that was in the mesh would return with less scope than before. Nodes that join later would check
 * its earlier writes against the new scope, and so hold less than the others.
 */
function scopeFor(known: Statements, peerId: string, now: readonly string[] | null): Result<null> {
  const before = known.get(peerId)?.statement.allowed_namespaces;
  if (before === undefined || now === null || now.includes('**')) return ok(null);
  const isKept = (glob: string) =>
    now.some((each) => each === glob || (each.endsWith('/**') && `${glob}/`.startsWith(each.slice(0, -2))));
  if (before?.every(isKept) === true) return ok(null);
  const had = before === null ? 'every namespace' : before.join(', ');
  return fail(
    'CONFLICT',
    `${peerId} was a member for ${had}, and its writes are still here: invite it with at least that scope, or let it join with a new key`,
  );
}

function certify(
  { clock, random }: AcceptOptions,
  authority: KeyAndCertificate,
  { facts }: JoinRequest,
): string {
  // The form that Node writes, not the form that was sent.
  const publicKey = createPublicKey(facts.tls_public_key).export({ type: 'spki', format: 'pem' }).toString();
  const request = { peerId: facts.peer_id, publicKey, url: facts.url };
  return issueCertificate(authority, request, clock.nowMs(), random);
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
