import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import forge from 'node-forge';

const ED25519 = '1.3.101.112';
const COMMON_NAME = '2.5.4.3';
const HOUR_MS = 3_600_000;
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

const { asn1 } = forge;
const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class;
const { SEQUENCE, SET, INTEGER, OID, UTF8, UTCTIME } = asn1.Type;

const sequence = (...parts: forge.asn1.Asn1[]) => asn1.create(UNIVERSAL, SEQUENCE, true, parts);
const leaf = (type: forge.asn1.Type, value: string) => asn1.create(UNIVERSAL, type, false, value);
const bits = (bytes: Uint8Array) => leaf(asn1.Type.BITSTRING, `\0${Buffer.from(bytes).toString('binary')}`);

/**
 * The certificate with which an invited node opens a connection: self-signed under the invitation's Ed25519 key, valid
 * for an hour on either side of now. node-forge writes its form, Node signs it.
 */
export function guestCertificate(
  seed: Uint8Array,
  nowMs: number,
): { readonly cert: string; readonly key: string } {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const algorithm = sequence(leaf(OID, asn1.oidToDer(ED25519).getBytes()));
  const name = sequence(
    asn1.create(UNIVERSAL, SET, true, [
      sequence(leaf(OID, asn1.oidToDer(COMMON_NAME).getBytes()), leaf(UTF8, 'mnemesh invitation')),
    ]),
  );
  const instant = (ms: number) => leaf(UTCTIME, asn1.dateToUtcTime(new Date(ms)));
  const body = sequence(
    // X.509 version 3.
    asn1.create(CONTEXT_SPECIFIC, 0, true, [leaf(INTEGER, '\x02')]),
    leaf(INTEGER, '\x01'),
    algorithm,
    name,
    sequence(instant(nowMs - HOUR_MS), instant(nowMs + HOUR_MS)),
    name,
    asn1.fromDer(forge.util.createBuffer(spki.toString('binary'))),
  );
  const signature = sign(null, Buffer.from(asn1.toDer(body).getBytes(), 'binary'), privateKey);
  const der = asn1.toDer(sequence(body, algorithm, bits(signature))).getBytes();
  return {
    cert: forge.pem.encode({ type: 'CERTIFICATE', body: der }),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}
