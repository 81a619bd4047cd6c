import { createPrivateKey, sign, X509Certificate } from 'node:crypto';
import { publicKeyText } from '../../../protocol/base/key-text.js';
import { CERTIFICATES_KEPT, ROSTER_ENTRIES_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Random, Scheduler } from '../../../protocol/base/seams.js';
import { signerOf } from '../../identity/key-file.js';
import type { MachineIdentity } from '../../identity/machine-key.js';
import { askAuthority } from './ask-authority.js';
import { fingerprintOfCertificate, isIssuedBy, peerOfCertificate } from './certificate.js';
import { hashOf } from './invites.js';
import {
  JOIN_ANSWER,
  type JoinAnswer,
  type JoinFacts,
  type JoinRequest,
  joinBytes,
} from './join-messages.js';
import type { JoinToken } from './join-token.js';
import type { MeshFacts, MeshFolder } from './mesh-folder.js';
import { writeNodePair } from './node-pair.js';
import { type Place, placeOf } from './place.js';
import { RosterFile } from './roster-file.js';
import { issueCertificate, makeAuthority, newTlsKey } from './x509.js';

export interface FormingParts {
  readonly folder: MeshFolder;
  readonly identity: MachineIdentity;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** The operator's words about the node's place. */
export interface PlaceWords {
  readonly url: string | undefined;
  readonly listen: string | undefined;
}

/** The operator's words about a node. */
export interface NodeWords extends PlaceWords {
  /** What people call it; undefined for no name. */
  readonly name?: string | undefined;
}

/** A node that belongs to a mesh now. */
export interface FormedNode extends MeshFacts {
  /** The name that it got; undefined without one. */
  readonly name: string | undefined;
}

/**
 * Makes a mesh: its authority, this node's certificate and the first entry of the roster. CONFLICT when the node already
 * belongs to a mesh.
 */
export async function initMesh(parts: FormingParts, words: NodeWords): Promise<Result<FormedNode>> {
  const { folder, identity, clock, random } = parts;
  if (folder.facts() !== null) return alreadyIn(folder);
  const authority = await makeAuthority(clock.nowMs(), random);
  const { key, publicKey } = await newTlsKey();
  // Keys take long to make, and meanwhile another mesh on this machine might take a port that was free.
  const place = await placeOf(words.url, words.listen, '127.0.0.1');
  if (!place.ok) return failed(place.error);
  folder.open();
  const request = { peerId: identity.peerId, publicKey, url: place.value.url };
  const certificate = issueCertificate(authority, request, clock.nowMs(), random);
  folder.write(folder.authorityKeyPath, authority.key, random);
  folder.write(folder.authorityCertPath, authority.cert, random);
  writeNode(parts, key, certificate, authority.cert);
  const roster = new RosterFile(folder, parts);
  const stated = await roster.state(authority, () =>
    ok({
      peer_id: identity.peerId,
      ...(words.name === undefined ? {} : { name: words.name }),
      url: place.value.url,
      public_key: publicKeyText(identity.key.publicKey),
      fingerprints: [fingerprintOfCertificate(new X509Certificate(certificate))],
      allowed_namespaces: null,
      allowed_sender_agent_ids: [],
      state: 'member' as const,
    }),
  );
  if (!stated.ok) return failed(stated.error);
  return ok({ ...finish(parts, { mesh_id: roster.meshId, ...place.value }), name: words.name });
}

/**
 * Joins the mesh of a token. A node that already belongs to it gets another certificate, and its former one stays valid
 * meanwhile. CONFLICT when it belongs to another mesh; otherwise the authority's answer. A failed join leaves nothing
 * behind.
 */
export async function joinMesh(
  parts: FormingParts,
  token: JoinToken,
  words: NodeWords,
): Promise<Result<FormedNode>> {
  const { folder } = parts;
  const before = folder.facts();
  if (before !== null && before.mesh_id !== token.meshId) return alreadyIn(folder);
  if (folder.isAuthority)
    return fail('CONFLICT', 'this node made the mesh; its certificate comes from "mesh renew"');
  const { key, publicKey } = await newTlsKey();
  const connection = await askAuthority(token, parts);
  if (!connection.ok) return failed(connection.error);
  try {
    const localAddress = connection.value.localAddress.replace(/^::ffff:/, '');
    const fixed =
      before !== null && before.url !== null && before.listen !== null && words.url === undefined
        ? { url: before.url, listen: before.listen }
        : null;
    const isChosen = fixed === null && words.url === undefined && words.listen === undefined;
    let port: number | undefined;
    for (;;) {
      const found = fixed === null ? await placeOf(words.url, words.listen, localAddress, port) : ok(fixed);
      if (!found.ok) return failed(found.error);
      const answer = await connection.value.ask(
        requestOf(parts, token, key, publicKey, { url: found.value.url, name: words.name }),
      );
      if (!answer.ok) return failed(answer.error);
      const { status, body } = answer.value;
      if (status === 200) return settle(parts, token, key, body, found.value);
      // The port that looked free belongs to a member that is not running.
      if (status !== CONFLICT || !isChosen) return refusalOf(status, body);
      port = found.value.listen.port + 1;
    }
  } finally {
    await connection.value.close();
  }
}

const CONFLICT = 409;

function requestOf(
  { identity }: FormingParts,
  token: JoinToken,
  key: string,
  publicKey: string,
  { url, name }: { readonly url: string; readonly name: string | undefined },
): JoinRequest {
  const facts: JoinFacts = {
    invite: hashOf(signerOf(token.secret).publicKey),
    mesh_id: token.meshId,
    peer_id: identity.peerId,
    ...(name === undefined ? {} : { name }),
    public_key: publicKeyText(identity.key.publicKey),
    tls_public_key: publicKey,
    url,
  };
  const bytes = joinBytes(facts);
  return {
    facts,
    proof: Buffer.from(identity.key.sign(bytes)).toString('base64'),
    tls_proof: sign('sha256', bytes, createPrivateKey(key)).toString('base64'),
  };
}

/** Stores the authority's answer, when it is valid. */
async function settle(
  parts: FormingParts,
  token: JoinToken,
  key: string,
  body: unknown,
  place: Place,
): Promise<Result<FormedNode>> {
  const { folder, identity, clock, random } = parts;
  const taken = answerProblem(body, token, identity.peerId, key, clock.nowMs());
  if (!taken.ok) return failed(taken.error);
  const { authority, certificate, statements } = taken.value;
  folder.open();
  folder.write(folder.authorityCertPath, authority, random);
  writeNode(parts, key, certificate, authority);
  const roster = new RosterFile(folder, parts);
  await roster.merge(statements.slice(0, ROSTER_ENTRIES_MAX));
  const own = roster.read().get(identity.peerId);
  if (own === undefined) {
    return fail('UNAVAILABLE', 'the authority sent no valid statement about this node');
  }
  return ok({ ...finish(parts, { mesh_id: roster.meshId, ...place }), name: own.statement.name });
}

/** Renews this node's certificate, on the authority's node. The former one stays valid. */
export async function renewOwnCertificate(parts: FormingParts): Promise<Result<{ fingerprint: string }>> {
  const { folder, identity, clock, random } = parts;
  const authority = folder.authority();
  const facts = folder.facts();
  if (authority === null || facts === null) {
    return fail('FORBIDDEN', 'only the node that made the mesh can issue certificates');
  }
  const { key, publicKey } = await newTlsKey();
  const request = { peerId: identity.peerId, publicKey, url: facts.url };
  const certificate = issueCertificate(authority, request, clock.nowMs(), random);
  const fingerprint = fingerprintOfCertificate(new X509Certificate(certificate));
  const roster = new RosterFile(folder, parts);
  // The certificate in place stays valid, however many renewals ended before they put theirs in place.
  const inForce = folder.nodeFingerprint();
  const others = ({ fingerprints }: { readonly fingerprints: readonly string[] }) =>
    fingerprints.filter((each) => each !== inForce);
  const stated = await roster.state(authority, (known) => {
    const own = known.get(identity.peerId)?.statement;
    return own === undefined
      ? fail('NOT_FOUND', 'this node is not in the roster')
      : ok({ ...own, fingerprints: [fingerprint, inForce, ...others(own)].slice(0, CERTIFICATES_KEPT) });
  });
  if (!stated.ok) return failed(stated.error);
  writeNode(parts, key, certificate, authority.cert);
  return ok({ fingerprint });
}

const alreadyIn = (folder: MeshFolder) =>
  fail(
    'CONFLICT',
    `this node belongs to a mesh already; to leave it, remove the node from the roster and move ${folder.path} away`,
  );

function writeNode(
  { folder, random }: FormingParts,
  key: string,
  certificate: string,
  authority: string,
): void {
  // The authority's certificate comes along, because a joining node is pinned to it.
  writeNodePair(folder, { key, cert: `${certificate.trim()}\n${authority.trim()}\n` }, random);
}

/** The facts are written last: with them the node belongs to the mesh. */
function finish(
  { folder, identity, random }: FormingParts,
  found: Pick<MeshFacts, 'mesh_id' | 'url' | 'listen'>,
): MeshFacts {
  const facts: MeshFacts = {
    version: 1,
    mesh_id: found.mesh_id,
    peer_id: identity.peerId,
    url: found.url,
    listen: found.listen,
  };
  folder.write(folder.factsPath, `${JSON.stringify(facts, null, 1)}\n`, random);
  return facts;
}

function refusalOf(status: number, body: unknown): Result<never> {
  const { error } = (body ?? {}) as { readonly error?: unknown };
  const why = typeof error === 'string' ? error.slice(0, 500) : `it answered ${status}`;
  if (status === 409) return fail('CONFLICT', `the mesh refused: ${why}`);
  if (status === 400) return fail('VALIDATION_FAILED', `the mesh refused: ${why}`);
  return status >= 500 ? fail('UNAVAILABLE', why) : fail('FORBIDDEN', `the mesh refused: ${why}`);
}

/**
 * Why the authority's answer is not valid; null when it is: its certificate is the token's, and it issued ours for our
 * key.
 */
function answerProblem(
  body: unknown,
  token: JoinToken,
  peerId: string,
  key: string,
  nowMs: number,
): Result<JoinAnswer> {
  const parsed = JOIN_ANSWER.safeParse(body);
  if (!parsed.success)
    return fail('UNAVAILABLE', 'the answer comes from another release: run the same release on both nodes');
  try {
    const authority = new X509Certificate(parsed.data.authority);
    const certificate = new X509Certificate(parsed.data.certificate);
    const right =
      fingerprintOfCertificate(authority) === token.meshId &&
      isIssuedBy(certificate, authority, nowMs) &&
      peerOfCertificate(certificate) === peerId &&
      certificate.checkPrivateKey(createPrivateKey(key));
    if (right) return ok(parsed.data);
  } catch {
    // Text that cannot be read is not a certificate.
  }
  return fail('FORBIDDEN', 'the certificate in the answer is not from the authority, or not for this node');
}
