import type { AgentId, Instant } from '../base/meanings.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import { ownOrigin, type Reading, recordsWith, tombstoneOf } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { NO_REST } from '../kinds/payload.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { SAME_ID_MAX, SWEEP_BATCH_MAX } from './limits.js';
import { maySee, type Signal, signalKind } from './signal-kind.js';
import { receiptId, type SignalReceipt, signalReceiptKind } from './signal-receipt-kind.js';

/** Sends a signal. */
export interface SendSignal {
  readonly kind: 'send-signal';
  /** The complete record; its maker is this node. */
  readonly signal: Signal;
  readonly viewer: Viewer;
  /** True for a command that was sent before and not answered: a signal with its id answers it. */
  readonly again?: true;
}

/** What `send-signal` answers. */
export interface SendSignalOutcome {
  readonly signal: Signal;
}

/** Takes a signal whose signature was verified, from a peer that sends no operations. */
export interface ReceiveSignal {
  readonly kind: 'receive-signal';
  /** The complete record; its maker is this node, which took it into the mesh. */
  readonly signal: Signal;
}

/** What `receive-signal` answers. */
export interface ReceiveSignalOutcome {
  /** False for a signal that is known, or has expired. */
  readonly isNew: boolean;
}

/** The reader of a signal has read or acknowledged it. */
export interface MarkSignal {
  readonly kind: 'mark-signal';
  readonly signalId: string;
  readonly reader: AgentId;
  readonly mark: 'read' | 'acknowledged';
  readonly viewer: Viewer;
}

/** What `mark-signal` answers. */
export interface MarkSignalOutcome {
  /** Null where the caller sees no such signal. */
  readonly signal: Signal | null;
  /** What its reader has done with it; null where the reader has done nothing. */
  readonly receipt: SignalReceipt | null;
  /** True where this mark is the first of its sort. */
  readonly marked: boolean;
}

/** Removes signals that expired, and receipts of such signals, which this node took. */
export interface SweepSignals {
  readonly kind: 'sweep-signals';
  /** Ids of records. */
  readonly signals: readonly string[];
  readonly receipts: readonly string[];
}

/** What `sweep-signals` answers. */
export interface SweepSignalsOutcome {
  readonly removed: number;
}

function* decideSendSignal({ signal, viewer, again }: SendSignal): Deciding<SendSignalOutcome> {
  const { signal_id, maker, namespace, to_agent, signal_type } = signal;
  const id = signalKind.idOf(signal)!;
  const known = again === true ? yield* recordRow(signalKind, id) : null;
  if (known !== null) return decided({ signal: known.image }, []);
  const written = yield* putRecord(signalKind, { id, namespace }, signal);
  const payload = { signal_id, maker, namespace, to_agent, signal_type };
  const agentId = viewer.agentId ?? signal.from_agent;
  return decided({ signal }, [
    written,
    appendAudit({ event: { agentId, type: 'coordination.signal_send', payload } }),
  ]);
}

function* decideReceiveSignal(
  { signal }: ReceiveSignal,
  { now }: DecisionContext,
): Deciding<ReceiveSignalOutcome> {
  const { signal_id: value, namespace, expires_at } = signal;
  const id = signalKind.idOf(signal)!;
  const known = yield* recordsWith({ kind: signalKind.name, member: 'signal_id', value, limit: 1 });
  const isGone = (yield* tombstoneOf({ kind: signalKind.name, id })) !== null;
  if (known.length > 0 || isGone || expires_at <= now) return decided({ isNew: false }, []);
  return decided({ isNew: true }, [yield* putRecord(signalKind, { id, namespace }, signal)]);
}

/**
 * Marks a signal as read or acknowledged. A direct one is marked by its addressee alone, a broadcast by each reader, and a
 * broadcast is not acknowledged. The first mark stands. A read by another agent that sees it marks nothing; its
 * acknowledgement is FORBIDDEN.
 */
function* decideMarkSignal(command: MarkSignal, { now }: DecisionContext): Deciding<MarkSignalOutcome> {
  const { signalId, reader, mark, viewer } = command;
  const signal = yield* signalNamed(signalId, viewer, now);
  if (signal === null) return decided({ signal, receipt: null, marked: false }, []);
  const { to_agent: to, namespace } = signal;
  if (mark === 'acknowledged' && to !== reader) {
    const who = to === null ? 'a broadcast has no addressee, so nobody acknowledges it' : `only ${to} may`;
    return fail('FORBIDDEN', `the signal cannot be acknowledged by ${reader}: ${who}`);
  }
  const id = receiptId(signalId, to ?? reader);
  const before = (yield* recordRow(signalReceiptKind, id))?.image ?? null;
  const marks = to === null || to === reader;
  if (!marks || (before?.read_at != null && (mark === 'read' || before.acknowledged_at !== null)))
    return decided({ signal, receipt: before, marked: false }, []);
  const receipt: SignalReceipt = {
    ...{ signal_id: signalId, maker: signal.maker, namespace, reader, from_agent: signal.from_agent },
    read_at: before?.read_at ?? now,
    acknowledged_at: before?.acknowledged_at ?? (mark === 'acknowledged' ? now : null),
    expires_at: signal.expires_at,
    rest: before?.rest ?? NO_REST,
  };
  const written: Mutation[] = [yield* putRecord(signalReceiptKind, { id, namespace }, receipt)];
  if (mark === 'acknowledged') {
    const payload = { signal_id: signalId, namespace, from_agent: signal.from_agent };
    written.push(appendAudit({ event: { agentId: reader, type: 'coordination.signal_ack', payload } }));
  }
  return decided({ signal, receipt, marked: true }, written);
}

/** The signal of an id that a viewer sees. One that this node took comes before one of another node with the same id. */
function* signalNamed(signalId: string, viewer: Viewer, now: Instant): Reading<Signal | null> {
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const asked = { kind: signalKind.name, member: 'signal_id', value: signalId, limit: SAME_ID_MAX };
  const found = (yield* recordsWith(asked)).map(({ image }) => image as Signal);
  const seen = found.filter((signal) => signal.expires_at > now && maySee(signal, viewer));
  return seen.find(({ maker }) => maker === self) ?? seen[0] ?? null;
}

/** Leaves what another node took, and what has not expired. */
function* decideSweepSignals(
  { signals, receipts }: SweepSignals,
  { now }: DecisionContext,
): Deciding<SweepSignalsOutcome> {
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const removals: Mutation[] = [];
  for (const kind of [signalKind, signalReceiptKind] as const) {
    for (const id of kind === signalKind ? signals : receipts) {
      if (removals.length >= SWEEP_BATCH_MAX) break;
      const row = yield* recordRow<Signal | SignalReceipt>(kind as never, id);
      if (row === null || row.image.maker !== self || row.image.expires_at > now) continue;
      removals.push(dropRecord(kind as never, row, 'expired'));
    }
  }
  return decided({ removed: removals.length }, removals);
}

export const sendSignalCommand = defineCommand({
  kind: 'send-signal',
  decide: decideSendSignal,
  gate: 'no memory',
});

export const receiveSignalCommand = defineCommand({
  kind: 'receive-signal',
  decide: decideReceiveSignal,
  gate: 'peer',
});

export const markSignalCommand = defineCommand({
  kind: 'mark-signal',
  decide: decideMarkSignal,
  gate: 'no memory',
});

export const sweepSignalsCommand = defineCommand({
  kind: 'sweep-signals',
  decide: decideSweepSignals,
  gate: 'upkeep',
});
