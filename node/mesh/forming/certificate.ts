import type { X509Certificate } from 'node:crypto';

export interface KeyAndCertificate {
  /** PEM, PKCS#8. */
  readonly key: string;
  readonly cert: string;
}

/** How a certificate names its peer (decisions, "certificates and peer ids"). */
export const peerUri = (peerId: string) => `mnemesh:peer:${peerId}`;

/** The peer that a certificate names; null when it names no peer, or several. */
export function peerOfCertificate(certificate: X509Certificate): string | null {
  const uris = (certificate.subjectAltName ?? '').split(', ').filter((name) => name.startsWith('URI:'));
  const match = uris.length === 1 ? /^URI:mnemesh:peer:(peer-[0-9a-f]{16})$/.exec(uris[0]!) : null;
  return match === null ? null : match[1]!;
}

/** SHA-256 of a certificate, lower-case hex. */
export const fingerprintOfCertificate = (certificate: X509Certificate): string =>
  certificate.fingerprint256.replaceAll(':', '').toLowerCase();

/** True when an authority's certificate has signed another and both are valid now. */
export function isIssuedBy(leaf: X509Certificate, authority: X509Certificate, nowMs: number): boolean {
  return (
    authority.ca &&
    leaf.checkIssued(authority) &&
    leaf.verify(authority.publicKey) &&
    isInForce(leaf, nowMs) &&
    isInForce(authority, nowMs)
  );
}

const isInForce = ({ validFrom, validTo }: X509Certificate, nowMs: number) =>
  Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);
