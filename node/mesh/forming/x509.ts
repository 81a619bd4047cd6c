import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import forge from 'node-forge';
import type { Random } from '../../../protocol/seams.js';
import { type KeyAndCertificate, peerUri } from './certificate.js';

/**
 * Makes the certificates of a mesh with node-forge, which is dear to load: whoever only reads certificates imports
 * `certificate.ts`. RSA, because that is what node-forge signs.
 */

const AUTHORITY_KEY_BITS = 3072;
const NODE_KEY_BITS = 2048;
const DAY_MS = 86_400_000;
/** Nobody renews the certificates of a small mesh in time; who leaves is struck from the roster instead. */
const AUTHORITY_DAYS = 7300;
const NODE_DAYS = 3650;
/** Clocks of nodes differ. */
const BACKDATED_MS = DAY_MS;
const SERIAL_BYTES = 16;

const generate = promisify(generateKeyPair);

/** A fresh RSA key of a node, PKCS#8 and SPKI in PEM. */
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

/** What a node's certificate is bound to. */
export interface CertificateRequest {
  readonly peerId: string;
  /** RSA public key of its TLS key, SPKI in PEM. */
  readonly publicKey: string;
  /** Base address, whose host the certificate names beside the peer. */
  readonly url: string | null;
}

/** Issues a certificate that speaks for a peer, to servers and to clients. */
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

/** Positive, and of one length. */
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
