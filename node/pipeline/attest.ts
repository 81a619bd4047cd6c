import { SIGNED_WRITE_FRESHNESS_MS } from '../../protocol/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import { parseRfc3339Ms } from '../../protocol/time.js';
import { writeEnvelopeBytes } from '../../protocol/write-envelope.js';
import type { Attestation, Caller, Services } from './call.js';
import type { Operation } from './operation.js';

type Input = Readonly<Record<string, unknown>>;

const CLAIMED: Attestation = { level: 'claimed', signer: null, signature: null, envelope: null };

const SIGNATURE_BYTES = 64;

/**
 * Decides how a write is attested (interface §4.2, decisions "Identity and attestation"). A presented signature is
 * always judged; the machine's key signs for local callers; any other write is refused with ATTESTATION_FAILED
 * unless the operator permits it.
 */
export async function attest(
  operation: Operation,
  input: Input,
  caller: Caller,
  nowMs: number,
  services: Services,
): Promise<Result<Attestation>> {
  if (operation.guards.attestation !== true) return ok(CLAIMED);
  const { signature, created_at: createdAt } = input;
  if (typeof signature === 'string') return attestPresented(signature, input, caller, nowMs, services);
  const level = await attestOwn(caller, services);
  if (level.ok && createdAt !== undefined) {
    return fail('VALIDATION_FAILED', 'created_at goes with a signature; the node dates unsigned writes', {
      fields: ['created_at'],
    });
  }
  return level;
}

/** A write without a signature: signed here for local callers, claimed where that is permitted. */
async function attestOwn(caller: Caller, services: Services): Promise<Result<Attestation>> {
  const signer = caller.local ? services.machineKey : null;
  if (signer !== null) {
    const bound = await boundKey(caller, services);
    if (!bound.ok) return failed(bound.error);
    // An agent with a key of its own speaks with that key; the machine's would be a side door.
    if (bound.value === null || bound.value === base64(signer.publicKey)) {
      return ok({ ...CLAIMED, level: 'agent_attested', signer });
    }
  }
  if (!services.settings.requireAttestation) return ok(CLAIMED);
  return signer === null
    ? fail('ATTESTATION_FAILED', 'this write must be signed: attestation is required on this node')
    : fail('ATTESTATION_FAILED', 'this agent has a key of its own: sign the write with it');
}

async function attestPresented(
  signature: string,
  input: Input,
  caller: Caller,
  nowMs: number,
  services: Services,
): Promise<Result<Attestation>> {
  const createdAt = input['created_at'];
  if (typeof createdAt !== 'string') {
    return fail('VALIDATION_FAILED', 'created_at is required with a signature', { fields: ['created_at'] });
  }
  const signedMs = parseRfc3339Ms(createdAt);
  if (signedMs === null) {
    return fail('VALIDATION_FAILED', 'created_at must be an RFC 3339 instant', { fields: ['created_at'] });
  }
  if (Math.abs(nowMs - signedMs) > SIGNED_WRITE_FRESHNESS_MS) {
    return fail('ATTESTATION_FAILED', "created_at is more than 300 seconds away from this node's clock");
  }
  const signatureBytes = fromBase64(signature, SIGNATURE_BYTES);
  if (signatureBytes === null) {
    return fail('ATTESTATION_FAILED', 'the signature is not the standard base64 of 64 bytes');
  }
  const bound = await boundKey(caller, services);
  if (!bound.ok) return failed(bound.error);
  if (bound.value === null) return fail('ATTESTATION_FAILED', 'no public key is bound to this agent');
  const envelope = envelopeOf(input, createdAt, caller, services);
  // Only admitted keys are bound, so the verdict of the one verifier stands.
  if (!services.crypto.verify(Buffer.from(bound.value, 'base64'), envelope, signatureBytes)) {
    return fail('ATTESTATION_FAILED', 'the signature does not match this write and the key of this agent');
  }
  return ok({
    level: 'agent_attested',
    signer: null,
    signature: { signature, created_at: createdAt, public_key: bound.value },
    envelope: {
      agentId: caller.agentId,
      fingerprint: services.crypto.sha256Hex(envelope),
      publicKey: bound.value,
      expiresAtMs: signedMs + SIGNED_WRITE_FRESHNESS_MS,
    },
  });
}

/** The bytes that the author of a write signs: its fields as they will be stored. */
function envelopeOf(input: Input, createdAt: string, caller: Caller, services: Services): Uint8Array {
  return writeEnvelopeBytes({
    agentId: caller.agentId,
    namespace: String(input['namespace'] ?? services.settings.defaultNamespace),
    title: String(input['title']),
    kind: String(input['kind']),
    createdAt,
    contentSha256: services.crypto.sha256(String(input['content'])),
  });
}

/** The key that is bound to the caller, standard base64; null when it is not registered or has none. */
async function boundKey(caller: Caller, services: Services): Promise<Result<string | null>> {
  const found = await services.store.query({ kind: 'get-agent', agentId: caller.agentId });
  return found.ok ? ok(found.value.agent?.pubkey_b64 ?? null) : failed(found.error);
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** The bytes of a standard, padded base64 text; null for any other text, or another length. */
export function fromBase64(text: string, length: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length && bytes.toString('base64') === text ? bytes : null;
}
