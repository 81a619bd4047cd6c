import { SIGNED_WRITE_FRESHNESS_MS } from '../../protocol/limits.js';
import { fail, ok, type Result } from '../../protocol/result.js';
import { parseRfc3339Ms } from '../../protocol/time.js';
import type { Attestation, Caller, Services } from './call.js';
import type { Operation } from './operation.js';

/**
 * Decides how a write is attested (interface §4.2, decisions "Identity and attestation"). A presented signature is
 * always judged; the machine's key signs for local callers; an unsigned HTTP write is refused with
 * ATTESTATION_FAILED unless the operator permits it.
 */
export function attest(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  caller: Caller,
  nowMs: number,
  services: Services,
): Result<Attestation> {
  if (operation.guards.attestation !== true) return ok({ level: 'claimed', signer: null });
  const signature = input['signature'];
  if (typeof signature === 'string') return attestPresented(input['created_at'], nowMs);
  const signer = caller.local ? services.machineKey : null;
  if (signer === null && services.settings.requireAttestation) {
    return fail('ATTESTATION_FAILED', 'this write must be signed: attestation is required on this node');
  }
  if (input['created_at'] !== undefined) {
    return fail('VALIDATION_FAILED', 'created_at goes with a signature; the node dates unsigned writes', {
      fields: ['created_at'],
    });
  }
  return ok(signer === null ? { level: 'claimed', signer } : { level: 'agent_attested', signer });
}

function attestPresented(createdAt: unknown, nowMs: number): Result<Attestation> {
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
  // A signature is worth what binds its key to the agent. No key can be bound to an agent yet, so none verifies.
  return fail('ATTESTATION_FAILED', 'no public key is bound to this agent');
}
