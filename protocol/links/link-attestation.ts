import { isSameKey, publicKeyFromText, signatureFromText } from '../base/key-text.js';
import type { PeerId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import type { AgentKeys } from '../identity/agent.js';
import { peerIdOf } from '../log/peer-id.js';
import type { Link } from './link.js';
import { linkEnvelopeBytes } from './link-envelope.js';

/** How a link is attested, as a node shows it (reference-federation §2.5). */
export type LinkAttestLevel = 'unsigned' | 'self_signed' | 'peer_attested';

/** Who signed a link, and what that is worth here. */
export interface LinkAttestation {
  readonly level: LinkAttestLevel;
  /** A node or the observer; null for an unsigned link, and for a key of nobody whom this node knows. */
  readonly signedBy: string | null;
}

/** The keys that a node believes. */
export interface BelievedKeys {
  /** This node, whether it has a key or not. */
  readonly self: PeerId;
  /** The other nodes of the mesh, as far as they were asked for. */
  readonly members: ReadonlySet<PeerId>;
  /** The keys of the observer; null where they are not known. */
  readonly observer: AgentKeys | null;
}

const UNSIGNED: LinkAttestation = { level: 'unsigned', signedBy: null };

/** The node that has the key of a link's signature; null for a link whose signer is not known. */
export function signerOf({ public_key: text }: Link, crypto: Crypto): PeerId | null {
  const publicKey = text === null ? null : publicKeyFromText(text);
  return publicKey === null ? null : peerIdOf(publicKey, crypto);
}

/**
 * How a link is attested here: by this node, or by a member of the mesh or its observer, whose signature was verified when
 * it arrived. Each node judges that for itself at the read, as it does for memories; the level in the row is what its
 * maker said.
 */
export function attestationOf(link: Link, believed: BelievedKeys, crypto: Crypto): LinkAttestation {
  const { public_key: key, signature } = link;
  const signer = signerOf(link, crypto);
  if (key === null || signature === null || signer === null) return UNSIGNED;
  if (signer === believed.self) return { level: 'self_signed', signedBy: signer };
  const { bound = null, earlier = [] } = believed.observer ?? {};
  if ([bound, ...earlier].some((known) => known !== null && isSameKey(known, key)))
    return { level: 'peer_attested', signedBy: link.observed_by };
  return believed.members.has(signer) ? { level: 'peer_attested', signedBy: signer } : UNSIGNED;
}

/** Reasons why the link is not verified; empty if it is. `whole` is false for a row that differs from what was written. */
export function linkFindings(
  link: Link,
  { level }: LinkAttestation,
  whole: boolean,
  crypto: Crypto,
): readonly string[] {
  const findings: string[] = [];
  if (!whole) findings.push('the row is not what was written: it was damaged or changed behind the service');
  if (link.signature === null) return [...findings, 'the link is not signed'];
  const publicKey = link.public_key === null ? null : publicKeyFromText(link.public_key);
  if (publicKey === null) return [...findings, 'the key that signed the link is not known'];
  const signature = signatureFromText(link.signature);
  if (signature === null || !crypto.verify(publicKey, linkEnvelopeBytes(link), signature))
    findings.push('the signature does not cover the link as it is stored');
  if (level === 'unsigned')
    findings.push('the key that signed belongs neither to a member of this mesh nor to the observer');
  return findings;
}
