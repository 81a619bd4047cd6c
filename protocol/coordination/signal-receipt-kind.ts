import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import { earliestKnown } from '../kinds/joins.js';
import { isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant } from '../kinds/replicated-value.js';
import { momentOrNull, NEVER, namespace, word } from './members.js';

/** What one reader did with a signal. Its id is `<signal id>|<reader>`; the earliest of several instants stands. */
export interface SignalReceipt {
  readonly signal_id: string;
  /** The node that took the signal; it removes the receipt when the signal expires. */
  readonly maker: PeerId;
  readonly namespace: string;
  readonly reader: AgentId;
  /** The sender of the signal, who sees the receipt too. */
  readonly from_agent: AgentId;
  readonly read_at: Instant | null;
  readonly acknowledged_at: Instant | null;
  readonly expires_at: Instant;
  readonly rest: Rest;
}

export const signalReceiptKind = recordKind<SignalReceipt>({
  name: 'signal_receipt',
  members: {
    signal_id: word,
    maker: word,
    namespace,
    reader: word,
    from_agent: word,
    read_at: momentOrNull,
    acknowledged_at: momentOrNull,
    expires_at: { accepts: isText, admits: instant, default: NEVER },
  },
  idOf: ({ signal_id, reader }) => receiptId(signal_id, reader),
  namespaceOf: (receipt) => receipt.namespace,
  owner: 'reader',
  joins: { read_at: earliestKnown, acknowledged_at: earliestKnown },
  losers: 'dropped',
  exported: false,
  isVisible: ({ reader, from_agent }, { all, agentId }) =>
    all || (agentId !== null && (reader === agentId || from_agent === agentId)),
  indexes: [
    { name: 'signal_receipt_of', members: ['signal_id'] },
    { name: 'signal_receipt_expiry', members: ['maker', 'expires_at'] },
  ],
});

export const receiptId = (signalId: string, reader: AgentId): string => `${signalId}|${reader}`;
