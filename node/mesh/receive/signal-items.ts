import { z } from 'zod';
import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import {
  JSON_BYTES_MAX,
  REFERENCE_BYTES_MAX,
  REFERENCES_MAX,
} from '../../../protocol/coordination/limits.js';
import { NEVER } from '../../../protocol/coordination/members.js';
import type { Signal } from '../../../protocol/coordination/signal-kind.js';
import { SIGNAL_TYPES } from '../../../protocol/coordination/signal-kind.js';
import { signalEnvelopeBytes } from '../../../protocol/coordination/signed.js';
import { isObject, NO_REST } from '../../../protocol/kinds/payload.js';
import { peerIdOf } from '../../../protocol/log/peer-id.js';
import { mayHold } from '../../../protocol/log/scope.js';
import { isVerified } from '../../operations/coordination/signatures.js';
import * as fields from '../../pipeline/fields.js';
import { parseInput } from '../../pipeline/parse.js';
import { type Effect, outOfScope, type Pushed } from './pushed-item.js';

/** Bytes as the reference writes them, a list of numbers, or in base64; absent for an empty list. */
const bytes = z
  .union([z.string().max(2 * REFERENCE_BYTES_MAX), z.array(z.int().min(0).max(255)).max(REFERENCE_BYTES_MAX)])
  .transform((value) => (typeof value === 'string' ? value : Buffer.from(value).toString('base64')))
  .nullish();
const reference = fields.words(REFERENCE_BYTES_MAX);
/** Epoch seconds that an instant can hold. */
const epoch = z.int().min(0).max(253_402_300_799);

/** An item of `signals` (reference-federation §1.4, reference-mcp-cli §1.4). */
const signalItem = {
  input: z.object({
    id: fields.memoryId,
    namespace: fields.ordinaryNamespace,
    from_agent: fields.agentId,
    to_agent: fields.agentId.nullish(),
    subject: fields.title,
    body: fields.jsonValue(JSON_BYTES_MAX).optional(),
    signal_type: z.enum(SIGNAL_TYPES),
    in_reply_to: reference.nullish(),
    correlation_id: reference.nullish(),
    reference_ids: z.array(reference).max(REFERENCES_MAX).default([]),
    created_at: epoch,
    expires_at: epoch.nullish(),
    signature: bytes,
    sender_pubkey: bytes,
  }),
};

/**
 * Takes a signal of a peer without operations. The signature must be that of the peer or of another member of the mesh: an
 * unsigned signal names its sender without proof. A signal that is known, or has expired, changes nothing.
 */
export async function takeSignal(item: unknown, { peer, call }: Pushed): Promise<Result<Effect>> {
  if (!isObject(item)) return fail('VALIDATION_FAILED', 'must be a JSON object');
  const parsed = parseInput(signalItem, item, 'ignore');
  if (!parsed.ok) return failed(parsed.error);
  const { id, created_at, expires_at, body, signature, sender_pubkey, ...said } = parsed.value;
  if (!mayHold(peer, said.namespace)) return outOfScope();
  const signal: Signal = {
    ...said,
    signal_id: id,
    maker: call.services.peerId,
    to_agent: said.to_agent ?? null,
    in_reply_to: said.in_reply_to ?? null,
    correlation_id: said.correlation_id ?? null,
    body: canonicalJson(body ?? null),
    created_at: instantFromMs(created_at * 1000),
    expires_at: expires_at == null ? NEVER : instantFromMs(expires_at * 1000),
    signature: signature ?? null,
    public_key: sender_pubkey ?? null,
    rest: NO_REST,
  };
  const own = peerIdOf(peer.publicKey, call.services.crypto);
  const isPeers = (signer: string) => signer === own || call.services.isMember(signer);
  const by = { ...call.services, isMember: isPeers };
  if (!(await isVerified(by, signal, signalEnvelopeBytes(signal, call.services.crypto))))
    return fail('ATTESTATION_FAILED', 'the signature of the signal is not that of a member of the mesh');
  const taken = await call.services.store.execute({ kind: 'receive-signal', signal });
  if (!taken.ok) return failed(taken.error);
  return ok(taken.value.isNew ? 'signals_applied' : 'noop');
}

/** A transition says neither its fencing token nor who asked, and only the home of the action decides it. */
export async function transitionInOperationsOnly(): Promise<Result<Effect>> {
  return fail(
    'UNAVAILABLE',
    'transitions of actions are decided by their home and taken as operations only; send them in "operations"',
  );
}
