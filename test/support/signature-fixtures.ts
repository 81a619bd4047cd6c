/**
 * Test vectors for whoever implements the signed write: `fixtures/ed25519.json` (keys and signatures) and
 * `fixtures/attestation.json` (whole writes with the answer that they get). They are made from fixed seeds; a test holds
 * the files against what this module makes. To write them anew:
 *
 *   node dist/test/support/signature-fixtures.js
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { signedBytes } from '../../node/identity/sign-write.js';
import { systemCrypto } from '../../node/seams.js';
import {
  L,
  littleEndian,
  mixedPoint,
  NEUTRAL_ENCODINGS,
  numberOf,
  openKey,
  type SignatureCase,
  signatureCases,
  signedWith,
  smallOrderPoint,
} from './ed25519-cases.js';
import { RFC_8032 } from './rfc-8032.js';
import { agentKey, signedStoreBody } from './signing.js';

export interface KeyVector {
  readonly name: string;
  /** Hex. */
  readonly public_key: string;
  readonly admitted: boolean;
  /** The word that the refusal holds. */
  readonly problem?: string;
}

export interface SignatureVector {
  readonly name: string;
  /** All in hex. */
  readonly seed?: string;
  readonly public_key: string;
  readonly message: string;
  readonly signature: string;
  readonly valid: boolean;
}

export interface WriteVector {
  readonly name: string;
  /** The instant of judgement. */
  readonly now: string;
  /** The caller, as X-Agent-Id names it. */
  readonly agent_id: string;
  /** URL-safe base64 without padding; null when no key is bound to the agent. */
  readonly bound_public_key: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly code: string | null;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

export function ed25519Fixture(): { keys: KeyVector[]; signatures: SignatureVector[] } {
  const honest = openKey(Buffer.from(RFC_8032[0]!.seed, 'hex'));
  const refused = (name: string, key: Uint8Array, problem: string): KeyVector => ({
    name,
    public_key: hex(key),
    admitted: false,
    problem,
  });
  return {
    keys: [
      ...RFC_8032.map(({ name, public_key }) => ({ name, public_key, admitted: true })),
      ...Array.from({ length: 8 }, (_, index) =>
        refused(`small order, ${index} times the point of order 8`, smallOrderPoint(index), 'small order'),
      ),
      ...[1, 2, 4].map((index) =>
        refused(
          `mixed order: an honest key plus ${index} times the point of order 8`,
          mixedPoint(honest.scalar, index),
          'mixed order',
        ),
      ),
      ...NEUTRAL_ENCODINGS.map((key) => refused('the neutral point, not canonical', key, 'canonical')),
      refused('y = p + 3, not canonical', littleEndian(2n ** 255n - 16n), 'canonical'),
      refused('no point of the curve', littleEndian(2n), 'not a point'),
      refused('31 bytes', new Uint8Array(31).fill(1), '32 bytes'),
      refused('33 bytes', new Uint8Array(33).fill(1), '32 bytes'),
    ],
    signatures: [
      ...RFC_8032.map((vector) => ({ ...vector, valid: true })),
      ...aShortRound().map(({ name, publicKey, message, signature, valid }) => ({
        name,
        public_key: hex(publicKey),
        message: hex(message),
        signature: hex(signature),
        valid,
      })),
    ],
  };
}

/** The first round whose message fits a line. */
function aShortRound(): SignatureCase[] {
  for (let round = 0; ; round += 1) {
    const cases = signatureCases(round);
    if (cases[0]?.message.length === 32) return cases;
  }
}

const NOW = '2026-07-28T12:00:00.000Z';
const AUTHOR = agentKey('ai:sdk-demo@example', Buffer.from(RFC_8032[2]!.seed, 'hex'));
const OTHER = agentKey('ai:other@example');
const FIELDS = {
  title: 'pg upgrade window',
  content: 'Postgres upgrade window is Sunday 02:00-04:00 UTC.',
  namespace: 'team/alpha',
  kind: 'decision',
};
/** As the six-key vector of the envelope has it. */
const SIGNED_AT = '2026-07-28T12:00:00+00:00';

export function attestationFixture(): WriteVector[] {
  const good = signedStoreBody(AUTHOR, FIELDS, SIGNED_AT);
  const raw = Buffer.from(good.signature, 'base64');
  const key = openKey(AUTHOR.seed);
  const { signature: _signature, ...unsigned } = good;
  const vectors: WriteVector[] = [];
  const add = (
    name: string,
    body: Readonly<Record<string, unknown>>,
    [status, code]: readonly [number, string | null],
    more: Partial<WriteVector> = {},
  ) =>
    vectors.push({
      name,
      now: NOW,
      agent_id: AUTHOR.agentId,
      bound_public_key: AUTHOR.publicKeyText,
      body,
      status,
      code,
      ...more,
    });
  const ACCEPTED = [201, null] as const;
  const REFUSED = [403, 'ATTESTATION_FAILED'] as const;
  const INVALID = [400, 'VALIDATION_FAILED'] as const;

  add('valid', good, ACCEPTED);
  const { namespace: _namespace, kind: _kind, ...short } = FIELDS;
  add('valid, with the default namespace and kind', signedStoreBody(AUTHOR, short, SIGNED_AT), ACCEPTED);
  add(
    'valid, the instant in another offset',
    signedStoreBody(AUTHOR, FIELDS, '2026-07-28T14:00:00.5+02:00'),
    ACCEPTED,
  );
  add(
    'valid, text beyond ASCII',
    signedStoreBody(AUTHOR, { ...FIELDS, title: 'naïve 東京 🦉', content: 'tab\tline\nü' }, SIGNED_AT),
    ACCEPTED,
  );
  for (const seconds of [-300, 300]) {
    const at = new Date(Date.parse(NOW) + seconds * 1000).toISOString();
    add(
      `valid, ${seconds} seconds from the instant of judgement`,
      signedStoreBody(AUTHOR, FIELDS, at),
      ACCEPTED,
    );
  }
  for (const ms of [-300_001, 300_001, -86_400_000, 86_400_000]) {
    const at = new Date(Date.parse(NOW) + ms).toISOString();
    add(`${ms} ms from the instant of judgement`, signedStoreBody(AUTHOR, FIELDS, at), REFUSED);
  }

  add('no created_at', { ...good, created_at: undefined }, INVALID);
  for (const created_at of ['', 'yesterday', '2026-07-28', '2026-07-28T12:00:00', '2026-02-30T12:00:00Z']) {
    add(`created_at "${created_at}"`, signedStoreBody(AUTHOR, FIELDS, created_at), INVALID);
  }
  add('no signature', unsigned, REFUSED);

  add('another title', { ...good, title: 'pg upgrade windows' }, REFUSED);
  add('another content', { ...good, content: `${good.content} ` }, REFUSED);
  add('another namespace', { ...good, namespace: 'team/beta' }, REFUSED);
  add('another kind', { ...good, kind: 'claim' }, REFUSED);
  add('the same instant in other words', { ...good, created_at: '2026-07-28T12:00:00Z' }, REFUSED);
  add('another agent', { ...good, agent_id: OTHER.agentId }, REFUSED, {
    agent_id: OTHER.agentId,
    bound_public_key: OTHER.publicKeyText,
  });
  add('another key than the bound one', good, REFUSED, { bound_public_key: OTHER.publicKeyText });
  add('no bound key', good, REFUSED, { bound_public_key: null });

  const withSignature = (signature: string) => ({ ...good, signature });
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const message = signedMessage();
  const nonce = 8032n;
  add(
    'one bit flipped',
    withSignature(base64(Buffer.concat([raw.subarray(0, 63), Uint8Array.of(raw[63]! ^ 1)]))),
    REFUSED,
  );
  add(
    'malleable: S + L',
    withSignature(base64(Buffer.concat([raw.subarray(0, 32), littleEndian(numberOf(raw.subarray(32)) + L)]))),
    REFUSED,
  );
  add(
    'R of mixed order',
    withSignature(base64(signedWith(key, message, mixedPoint(nonce, 1), nonce))),
    REFUSED,
  );
  add('R of small order', withSignature(base64(signedWith(key, message, smallOrderPoint(1), 0n))), REFUSED);
  add('R not canonical', withSignature(base64(signedWith(key, message, NEUTRAL_ENCODINGS[1]!, 0n))), REFUSED);
  add(
    'the seven-key envelope of a later release',
    withSignature(base64(AUTHOR.signer.sign(sevenKeys()))),
    REFUSED,
  );

  add('URL-safe base64', withSignature(raw.toString('base64url')), REFUSED);
  add('no padding', withSignature(good.signature.replace(/=+$/, '')), REFUSED);
  add('a line feed after it', withSignature(`${good.signature}\n`), REFUSED);
  add('a space before it', withSignature(` ${good.signature}`), REFUSED);
  add(
    'a line feed inside',
    withSignature(`${good.signature.slice(0, 64)}\n${good.signature.slice(64)}`),
    REFUSED,
  );
  add(
    'stray bits in the last character',
    withSignature(`${good.signature.slice(0, 85)}${strayBits(good.signature)}==`),
    REFUSED,
  );
  add('hex', withSignature(hex(raw)), REFUSED);
  add('63 bytes', withSignature(base64(raw.subarray(0, 63))), REFUSED);
  add('65 bytes', withSignature(base64(Buffer.concat([raw, Uint8Array.of(0)]))), REFUSED);
  add('an empty signature', withSignature(''), REFUSED);
  return vectors;
}

/** The last character with the lowest of its unused bits set: the same 64 bytes to a lenient reader. */
function strayBits(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return alphabet[alphabet.indexOf(signature[85]!) | 1]!;
}

/** What the author signs, for signatures that no honest signer makes. */
function signedMessage(): Uint8Array {
  return signedBytes({ ...FIELDS, agentId: AUTHOR.agentId }, SIGNED_AT, systemCrypto);
}

/** The same write in the seven-key form, which is not ours (reference-federation §1.1). */
function sevenKeys(): Uint8Array {
  return Buffer.from(
    'a7645f6473747261692d6d656d6f72792f77726974652f7631646b696e64686465636973696f6e657469746c6571706720757067726164652077696e646f77686167656e745f69647361693a73646b2d64656d6f406578616d706c65696e616d6573706163656a7465616d2f616c7068616a637265617465645f61747819323032362d30372d32385431323a30303a30302b30303a30306e636f6e74656e745f73686132353658207042c2f468f8b862009cfc2633d7fe77b474251a312faf2d1e13dae3c435bc0f',
    'hex',
  );
}

/** The files, as they lie in `fixtures/`. */
export function signatureFixtures(): Readonly<Record<string, string>> {
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return { 'ed25519.json': text(ed25519Fixture()), 'attestation.json': text(attestationFixture()) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [name, text] of Object.entries(signatureFixtures())) writeFileSync(`fixtures/${name}`, text);
}
