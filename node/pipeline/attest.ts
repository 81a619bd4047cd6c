import { SIGNED_WRITE_FRESHNESS_MS } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Caller } from '../identity/caller.js';
import { verifyWrite } from '../identity/sign-write.js';
import type { Attestation, ReadCall, ReadServices } from './call.js';
import type { Operation } from './operation.js';
import { signedFields } from './signed-fields.js';

type Input = Readonly<Record<string, unknown>>;

const CLAIMED: Attestation = { level: 'claimed', signer: null, signature: null, envelope: null };

/**
 * Decides how a write is attested (interface §4.2, decisions "Identity and attestation"). A given signature is always
 * verified; the machine's key signs for local callers in their own name; any other store is refused with
 * ATTESTATION_FAILED unless the operator permits it, and so is any other write of an agent with a key.
 */
export async function attest(
  operation: Operation,
  input: Input,
  caller: Caller,
  nowMs: number,
  services: ReadServices,
): Promise<Result<Attestation>> {
  const { attestation } = operation.guards;
  if (attestation === undefined) return ok(CLAIMED);
  if (attestation !== 'required') return attestUnsignable(attestation, caller, services);
  const { signature, created_at: createdAt } = input;
  if (typeof signature === 'string') return attestPresented(signature, input, caller, nowMs, services);
  const level = await attestOwn(caller, services);
  if (level.ok && createdAt !== undefined) {
    return fail('VALIDATION_FAILED', 'created_at needs a signature: the node itself dates unsigned writes', {
      fields: ['created_at'],
    });
  }
  return level;
}

/**
 * A write that has no place for a signature. Where attestation is required, nobody makes one over HTTP in the name of
 * an agent with a key, because a bare name would then do what takes a signature in a store.
 */
async function attestUnsignable(
  attestation: 'by-name' | 'by-key',
  caller: Caller,
  services: ReadServices,
): Promise<Result<Attestation>> {
  const { requireAttestation, requireAttestationEverywhere } = services.settings;
  if (caller.local) return ok(CLAIMED);
  if (attestation === 'by-name' && requireAttestationEverywhere) {
    return fail(
      'ATTESTATION_FAILED',
      'this node takes only attested writes, and this one cannot be signed: run it on the command line of the node',
    );
  }
  if (!requireAttestation) return ok(CLAIMED);
  const bound = await boundKey(caller, services);
  if (!bound.ok) return failed(bound.error);
  if (bound.value === null) return ok(CLAIMED);
  return fail(
    'ATTESTATION_FAILED',
    `${caller.agentId} has a key, and this request cannot be signed: run it on the command line of the node`,
  );
}

/** How a memory is attested that a call makes by itself: signed here as a store of the caller would be, else claimed. */
export async function attestMade({ caller, services }: ReadCall): Promise<Attestation> {
  const own = await attestOwn(caller, services);
  return own.ok ? own.value : CLAIMED;
}

/** A write without a signature: signed here for local callers, claimed where that is permitted. */
async function attestOwn(caller: Caller, services: ReadServices): Promise<Result<Attestation>> {
  const { requireAttestation, requireAttestationEverywhere } = services.settings;
  const signer = caller.local ? services.machineKey : null;
  if (signer === null) {
    return requireAttestation
      ? fail(
          'ATTESTATION_FAILED',
          'this write must be signed: attestation is required on this node (SVC_REQUIRE_AGENT_ATTESTATION)',
        )
      : ok(CLAIMED);
  }
  const bound = await boundKey(caller, services);
  if (!bound.ok) return failed(bound.error);
  const unbound = bound.value === null;
  const own = speaksForItself(caller);
  // An agent with its own key must use that key; signing with the machine's would be a side door.
  if (own && (unbound || bound.value === base64(signer.publicKey))) {
    return ok({ ...CLAIMED, level: 'agent_attested', signer });
  }
  if (!requireAttestation || (unbound && !requireAttestationEverywhere)) return ok(CLAIMED);
  return fail(
    'ATTESTATION_FAILED',
    unbound
      ? `this process may only act as ${caller.viewer.agentId}, and this node takes only attested writes: write as that agent`
      : 'this agent has a key of its own: sign the write with it',
  );
}

/** False where SVC_AGENT_ID binds the process to one agent and the call names another. */
const speaksForItself = ({ agentId, viewer }: Caller): boolean =>
  viewer.agentId === null || viewer.agentId === agentId;

async function attestPresented(
  signature: string,
  input: Input,
  caller: Caller,
  nowMs: number,
  services: ReadServices,
): Promise<Result<Attestation>> {
  const bound = await boundKey(caller, services);
  if (!bound.ok) return failed(bound.error);
  const verified = verifyWrite(
    signedFields(input, caller, services.settings),
    { signature, created_at: input['created_at'] },
    bound.value === null ? null : Buffer.from(bound.value, 'base64'),
    nowMs,
    services.crypto,
  );
  if (!verified.ok) return failed(verified.error);
  const { envelope, createdAt, signedMs } = verified.value;
  const publicKey = bound.value!;
  return ok({
    level: 'agent_attested',
    signer: null,
    signature: { signature, created_at: createdAt, public_key: publicKey },
    envelope: {
      agentId: caller.agentId,
      fingerprint: services.crypto.sha256Hex(envelope),
      publicKey,
      expiresAtMs: signedMs + SIGNED_WRITE_FRESHNESS_MS,
    },
  });
}

/** The key that is bound to the caller, standard base64; null when the caller is not registered or has no key. */
async function boundKey(caller: Caller, services: ReadServices): Promise<Result<string | null>> {
  const found = await services.store.query({ kind: 'agent-key', agentId: caller.agentId });
  return found.ok ? ok(found.value.publicKey) : failed(found.error);
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
