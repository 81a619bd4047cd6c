import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { homeId } from '../kinds/home.js';
import { type Kind, NO_AUTHOR } from '../kinds/kind.js';
import { isText, isTextOrNull, isTexts, parsedObject, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, listOf, orNull, textOf } from '../kinds/replicated-value.js';
import { REFERENCE_BYTES_MAX, REFERENCES_MAX } from './limits.js';
import { bytesOrNull, jsonText, moment, NEVER, name, namespace, word, wordOrNull } from './members.js';
import { type Signed, signalEnvelopeBytes, signedVerdict } from './signed.js';

export const SIGNAL_TYPES = ['authorize', 'notify', 'request', 'response', 'broadcast'] as const;
export type SignalType = (typeof SIGNAL_TYPES)[number];

/**
 * A message between agents, signed by the node that took it (reference-mcp-cli §1.4). It never changes: who has read or
 * acknowledged it stands in receipts. Only the node that took it writes and removes it.
 */
export interface Signal extends Signed {
  /** The id that callers use. */
  readonly signal_id: string;
  /** The node that took it. */
  readonly maker: PeerId;
  readonly namespace: string;
  readonly from_agent: AgentId;
  /** Null for a broadcast to the namespace. */
  readonly to_agent: AgentId | null;
  readonly subject: string;
  /** Canonical JSON. */
  readonly body: string;
  readonly signal_type: string;
  readonly in_reply_to: string | null;
  readonly correlation_id: string | null;
  readonly reference_ids: readonly string[];
  readonly created_at: Instant;
  readonly expires_at: Instant;
  readonly rest: Rest;
}

const REFERENCE = textOf(2 * REFERENCE_BYTES_MAX);
const reference = { accepts: isTextOrNull, admits: orNull(REFERENCE), default: null } as const;

export const signalKind: Kind<Signal> = recordKind<Signal>({
  name: 'signal',
  members: {
    signal_id: word,
    maker: word,
    namespace,
    from_agent: word,
    to_agent: wordOrNull,
    subject: name,
    body: jsonText('null'),
    signal_type: { ...word, default: 'notify' },
    in_reply_to: reference,
    correlation_id: reference,
    reference_ids: { accepts: isTexts, admits: listOf(REFERENCE, 2 * REFERENCES_MAX), default: [] },
    created_at: moment,
    expires_at: { accepts: isText, admits: instant, default: NEVER },
    signature: bytesOrNull,
    public_key: bytesOrNull,
  },
  idOf: ({ maker, signal_id }) => homeId(maker, signal_id),
  namespaceOf: (signal) => signal.namespace,
  owner: 'from_agent',
  losers: 'dropped',
  writer: 'maker',
  author: (payload, context) => {
    const signal = signalKind.payload.parse(parsedObject(payload));
    if (signal === null) return NO_AUTHOR;
    return signedVerdict(signal, (crypto) => signalEnvelopeBytes(signal, crypto), context);
  },
  exported: false,
  charged: true,
  isVisible: maySee,
  indexes: [
    { name: 'signal_id', members: ['signal_id'] },
    { name: 'signal_newest', members: ['created_at'] },
    { name: 'signal_in', members: ['namespace', 'created_at'] },
    { name: 'signal_to', members: ['namespace', 'to_agent', 'created_at'] },
    { name: 'signal_from', members: ['namespace', 'from_agent', 'created_at'] },
    { name: 'signal_thread', members: ['correlation_id', 'created_at'] },
    { name: 'signal_expiry', members: ['maker', 'expires_at'] },
  ],
});

/** Its sender and its addressee see a signal, all agents a broadcast, and who sees everything. */
export function maySee(
  { namespace: within, from_agent, to_agent }: Pick<Signal, 'namespace' | 'from_agent' | 'to_agent'>,
  { all, agentId, withheld }: Viewer,
): boolean {
  if (withheld !== undefined && isWithheld({ withheld }, within)) return false;
  return all || (agentId !== null && (to_agent === null || to_agent === agentId || from_agent === agentId));
}
