import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import forge from 'node-forge';
import type { Random } from '../../../protocol/base/seams.js';
import { type KeyAndCertificate, peerUri } from './certificate.js';

/**
 * Makes the certificates of a mesh with node-forge, which is expensive to load: code that only reads certificates
 * imports `certificate.ts`. RSA, because node-forge signs that.
 */

const AUTHORITY_KEY_BITS = 3072;
const NODE_KEY_BITS = 2048;
const DAY_MS = 86_400_000;
/**
 * Operators of a small mesh do not renew certificates in time, so they are valid for long. A node that leaves is struck
 * from the roster.
 */
const AUTHORITY_DAYS = 7300;
const NODE_DAYS = 3650;
/** The clocks of nodes differ. */
const BACKDATED_MS = DAY_MS;
const SERIAL_BYTES = 16;

const generate = promisify(generateKeyPair);

/** A new RSA key of a node, PKCS#8 and SPKI in PEM. */
export async function newTlsKey(): Promise<{ readonly key: string; readonly publicKey: string }> {
  return keyPair(NODE_KEY_BITS);
}

async function keyPair(bits: number) {
  const { privateKey, publicKey } = await generate('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { key: privateKey, publicKey };
}

/** Makes the authority of a new mesh. */
export async function makeAuthority(nowMs: number, random: Random): Promise<KeyAndCertificate> {
  const { key, publicKey } = await keyPair(AUTHORITY_KEY_BITS);
  const serial = serialNumber(random);
  const name = [{ shortName: 'CN', value: `mnemesh authority ${serial.slice(-8)}` }];
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = serial;
  setValidity(certificate, nowMs, AUTHORITY_DAYS);
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(key), forge.md.sha256.create());
  return { key, cert: forge.pki.certificateToPem(certificate) };
}

/** The content of a node's certificate. */
export interface CertificateRequest {
  readonly peerId: string;
  /** RSA public key of the node's TLS key, SPKI in PEM. */
  readonly publicKey: string;
  /** Base address, whose host the certificate names in addition to the peer. */
  readonly url: string | null;
}

/** Issues a certificate that identifies a peer, as a server and as a client. */
export function issueCertificate(
  authority: KeyAndCertificate,
  request: CertificateRequest,
  nowMs: number,
  random: Random,
): string {
  const issuer = forge.pki.certificateFromPem(authority.cert);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(request.publicKey);
  certificate.serialNumber = serialNumber(random);
  setValidity(certificate, nowMs, NODE_DAYS);
  certificate.setSubject([{ shortName: 'CN', value: request.peerId }]);
  certificate.setIssuer(issuer.subject.attributes);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
    {
      name: 'subjectAltName',
      altNames: [{ type: 6, value: peerUri(request.peerId) }, ...hostOf(request.url)],
    },
    { name: 'subjectKeyIdentifier' },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(authority.key), forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}

function setValidity(certificate: forge.pki.Certificate, nowMs: number, days: number): void {
  certificate.validity.notBefore = new Date(nowMs - BACKDATED_MS);
  certificate.validity.notAfter = new Date(nowMs + days * DAY_MS);
}

/** Positive, and always of the same length. */
function serialNumber(random: Random): string {
  const bytes = Buffer.from(random.bytes(SERIAL_BYTES));
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function hostOf(url: string | null): { type: number; value?: string; ip?: string }[] {
  if (url === null) return [];
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return /^[\d.]+$|:/.test(host) ? [{ type: 7, ip: host }] : [{ type: 2, value: host }];
}
