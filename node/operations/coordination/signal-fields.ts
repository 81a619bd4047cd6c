import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { NEVER, valueOfJson } from '../../../protocol/coordination/members.js';
import type { Signal } from '../../../protocol/coordination/signal-kind.js';
import {
  receiptId,
  type SignalReceipt,
  signalReceiptKind,
} from '../../../protocol/coordination/signal-receipt-kind.js';
import { epochSeconds, epochSecondsOrNull } from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { ReadCall } from '../../pipeline/call.js';

/** A signal in an answer; instants are epoch seconds. */
export const signalOutput = z.object({
  id: z.string(),
  namespace: z.string(),
  from_agent: z.string(),
  to_agent: z.string().nullable(),
  subject: z.string(),
  body: z.unknown(),
  signal_type: z.string(),
  in_reply_to: z.string().nullable(),
  correlation_id: z.string().nullable(),
  reference_ids: z.array(z.string()),
  created_at: z.int(),
  expires_at: z.int().nullable(),
  delivered_at: z.int().nullable(),
  read_at: z.int().nullable(),
  acknowledged_at: z.int().nullable(),
  signature: z.string().nullable(),
  sender_pubkey: z.string().nullable(),
});

/** A signal as callers see it, with what its addressee, or the reader of a broadcast, has done with it. */
export function shownSignal(signal: Signal, receipt: SignalReceipt | null): z.input<typeof signalOutput> {
  const { signal_id: id, expires_at, created_at, body, reference_ids, signature, public_key } = signal;
  const { namespace, from_agent, to_agent, subject, signal_type, in_reply_to, correlation_id } = signal;
  return {
    ...{ id, namespace, from_agent, to_agent, subject, body: valueOfJson(body), signal_type },
    ...{ in_reply_to, correlation_id, reference_ids: [...reference_ids] },
    created_at: epochSeconds(created_at),
    expires_at: expires_at === NEVER ? null : epochSeconds(expires_at),
    // A signal is in the inbox of its addressee as soon as a node has it; nothing else delivers it.
    delivered_at: null,
    read_at: epochSecondsOrNull(receipt?.read_at ?? null),
    acknowledged_at: epochSecondsOrNull(receipt?.acknowledged_at ?? null),
    ...{ signature, sender_pubkey: public_key },
  };
}

/** Signals as callers see them. */
export async function shownSignals(
  { services, caller, now }: ReadCall,
  signals: readonly Signal[],
): Promise<Result<z.input<typeof signalOutput>[]>> {
  const readerOf = ({ to_agent }: Signal) => to_agent ?? caller.agentId;
  const ids = signals.map((signal) => receiptId(signal.signal_id, readerOf(signal)));
  const found = await services.store.query({
    ...{ kind: 'find-records', of: signalReceiptKind.name, where: { id: { in: ids } }, limit: ids.length },
    ...{ viewer: caller.viewer, now, skipDamaged: true },
  });
  if (!found.ok) return failed(found.error);
  const receipts = new Map(rowsOf(signalReceiptKind, found.value).map((each) => [each.signal_id, each]));
  return ok(signals.map((signal) => shownSignal(signal, receipts.get(signal.signal_id) ?? null)));
}
