import { z } from 'zod';
import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import { PAGE_SIZE_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import {
  COORDINATION_LIST_LIMIT,
  JSON_BYTES_MAX,
  REFERENCE_BYTES_MAX,
  REFERENCES_MAX,
} from '../../../protocol/coordination/limits.js';
import { SIGNAL_TYPES, type Signal, signalKind } from '../../../protocol/coordination/signal-kind.js';
import type { MarkSignal, MarkSignalOutcome } from '../../../protocol/coordination/signals.js';
import { signalEnvelopeBytes } from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given } from '../shared/hooked.js';
import { actingAgent } from './acting-agent.js';
import { afterMark, listed, nextOf, pageEnd } from './list-page.js';
import { shownSignal, shownSignals, signalOutput } from './signal-fields.js';
import { attestLevel, isVerified, signedHere } from './signatures.js';

const DAY_SECONDS = 86_400;

const reference = fields.words(REFERENCE_BYTES_MAX);
const signalId = reference.describe('Id of the signal');

const input = z.object({
  namespace: fields.ordinaryNamespace,
  from_agent: fields.agentId
    .describe('The sender: the caller. Only the operator names another agent')
    .optional(),
  subject: fields.title.describe('What it is about, in a few words'),
  to_agent: fields.agentId.describe('Addressee; absent for a broadcast to the namespace').nullish(),
  body: fields.jsonValue(JSON_BYTES_MAX).describe('Any JSON').optional(),
  signal_type: z.enum(SIGNAL_TYPES).default('notify').describe('What the addressee should make of it'),
  in_reply_to: reference.describe('Id of the signal that this answers').nullish(),
  correlation_id: reference.describe('Names the thread that it belongs to').nullish(),
  reference_ids: z
    .array(reference)
    .max(REFERENCES_MAX)
    .default([])
    .describe('Ids of memories, actions or other things that it is about'),
  ttl_secs: fields.ttlSecs
    .describe('Seconds until it expires; a setting of the node says how long otherwise')
    .optional(),
});

type Input = z.output<typeof input>;

/** What hooks rewrite of a signal, as they hear of it. */
const told = ({ namespace, to_agent, subject, body, signal_type, ...more }: Input) => ({
  ...{ namespace, to_agent: to_agent ?? null, subject, body: body ?? null, signal_type },
  ...{ in_reply_to: more.in_reply_to ?? null, correlation_id: more.correlation_id ?? null },
  reference_ids: more.reference_ids,
});

/** Sends a signal (interface §4.12, POST /signals; reference-http §3.12). */
export const memorySignalSend = defineOperation({
  name: 'memory_signal_send',
  family: 'power',
  summary: 'Send a signed signal to an agent, or to all agents of a namespace.',
  input,
  output: z.object({
    id: z.string(),
    attest_level: z.enum(['self_signed', 'unsigned']),
    signal: signalOutput,
  }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  http: [
    {
      ...{ method: 'POST', path: '/signals', fields: 'body', omit: ['from_agent'] },
      shape: ({ id, signal }) => {
        const { namespace, from_agent, signal_type, created_at } = signal as z.output<typeof signalOutput>;
        return { id, namespace, from_agent, signal_type, created_at };
      },
      output: signalOutput.pick({
        id: true,
        namespace: true,
        from_agent: true,
        signal_type: true,
        created_at: true,
      }),
    },
  ],
  mcp: {
    description:
      'Tell all agents of a namespace something, or signal one agent: a signed request, response or announcement of work.',
  },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_signal_send',
        firings: (asked: Input) => [{ namespace: asked.namespace, payload: told(asked) }],
        apply: (asked, delta) => ({ ...asked, ...given(delta) }),
      },
    ],
  }),
  run: async (call, asked) => {
    const from = actingAgent(call, asked.from_agent, 'from_agent');
    if (!from.ok) return failed(from.error);
    const { viewer } = call.caller;
    const signal = newSignal(call, from.value, asked);
    const again = call.again ? { again: true as const } : {};
    const sent = await call.services.store.execute({ kind: 'send-signal', signal, viewer, ...again });
    if (!sent.ok) return failed(sent.error);
    const stands = sent.value.signal;
    return ok({
      id: stands.signal_id,
      attest_level: attestLevel(stands),
      signal: shownSignal(stands, null),
    });
  },
});

function newSignal(call: Call, from: string, asked: Input): Signal {
  const { services, now } = call;
  const seconds = asked.ttl_secs ?? services.settings.signalDays * DAY_SECONDS;
  const said = {
    signal_id: services.random.uuid(),
    namespace: asked.namespace,
    from_agent: from,
    to_agent: asked.to_agent ?? null,
    subject: asked.subject,
    body: canonicalJson(asked.body ?? null),
    signal_type: asked.signal_type,
    in_reply_to: asked.in_reply_to ?? null,
    correlation_id: asked.correlation_id ?? null,
    created_at: now,
  };
  return {
    ...said,
    maker: services.peerId,
    reference_ids: asked.reference_ids,
    expires_at: instantAfter(now, seconds),
    ...signedHere(call, signalEnvelopeBytes(said, services.crypto)),
    rest: NO_REST,
  };
}

/** Shows a signal, and marks it as read where the caller is its reader. */
export const memorySignalRead = defineOperation({
  name: 'memory_signal_read',
  family: 'power',
  summary: 'Read a signal; its addressee thereby marks it as read.',
  input: z.object({ id: signalId }),
  output: z.object({
    signal: signalOutput.nullable(),
    verified: z
      .boolean()
      .describe('The signature is that of a member of the mesh and covers the signal')
      .optional(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  quorum: 'none',
  mcp: { description: 'Read one signal by its id; it then counts as read.' },
  run: async (call, { id: signalId }) => {
    const marked = await mark(call, signalId, 'read');
    if (!marked.ok) return failed(marked.error);
    const { signal, receipt } = marked.value;
    if (signal === null) return ok({ signal });
    const { services } = call;
    const verified = await isVerified(services, signal, signalEnvelopeBytes(signal, services.crypto));
    return ok({ signal: shownSignal(signal, receipt), verified });
  },
});

/** Lists what was sent to an agent and to all agents of a namespace. */
export const memorySignalInbox = defineOperation({
  name: 'memory_signal_inbox',
  family: 'power',
  summary: 'List the signals of a namespace that the caller may see, the newest first.',
  input: z.object({
    namespace: fields.namespace,
    to_agent: fields.agentId
      .describe('Only signals to this agent, the caller, and broadcasts; also those that it sent when absent')
      .optional(),
    limit: fields.listLimit(COORDINATION_LIST_LIMIT, PAGE_SIZE_MAX, 'signals'),
    after: afterMark.optional(),
  }),
  output: z.object({ signals: z.array(signalOutput), ...pageEnd }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List the signals of a namespace that reach you, newest first.' },
  run: async (call, { namespace, to_agent, limit, after }) => {
    const { viewer, agentId } = call.caller;
    if (to_agent !== undefined && !viewer.all && to_agent !== viewer.agentId)
      return fail('FORBIDDEN', 'to_agent: only the operator looks into the inbox of another agent');
    const live = { namespace, expires_at: { after: call.now } };
    const reader = to_agent ?? viewer.agentId ?? agentId;
    const received = [
      { ...live, to_agent: reader },
      { ...live, to_agent: null },
    ];
    const own = viewer.all ? [live] : [...received, { ...live, from_agent: reader }];
    const page = await listed(call, {
      ...{ kind: signalKind, any: to_agent === undefined ? own : received, by: 'created_at' },
      ...{ descending: true, after, limit, idOf: (signal: Signal) => signalKind.idOf(signal)! },
    });
    if (!page.ok) return failed(page.error);
    const signals = await shownSignals(call, page.value.rows);
    return signals.ok ? ok({ signals: signals.value, ...nextOf(page.value) }) : failed(signals.error);
  },
});

/** Lists the signals with one correlation id. */
export const memorySignalThread = defineOperation({
  name: 'memory_signal_thread',
  family: 'power',
  summary: 'List the signals of a thread that the caller may see, the oldest first.',
  input: z.object({
    correlation_id: reference.describe('Names the thread'),
    limit: fields.listLimit(COORDINATION_LIST_LIMIT, PAGE_SIZE_MAX, 'signals'),
    after: afterMark.optional(),
  }),
  output: z.object({ signals: z.array(signalOutput), ...pageEnd }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List the signals of one thread, oldest first.' },
  run: async (call, { correlation_id, limit, after }) => {
    const page = await listed(call, {
      ...{ kind: signalKind, any: [{ correlation_id, expires_at: { after: call.now } }], by: 'created_at' },
      ...{ descending: false, after, limit, idOf: (signal: Signal) => signalKind.idOf(signal)! },
    });
    if (!page.ok) return failed(page.error);
    const signals = await shownSignals(call, page.value.rows);
    return signals.ok ? ok({ signals: signals.value, ...nextOf(page.value) }) : failed(signals.error);
  },
});

const named = z.object({ id: signalId });

interface Acknowledged {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly input: z.output<typeof named>;
  readonly call: ReadCall;
}

/** Acknowledges a signal. */
export const memorySignalAck = defineOperation({
  name: 'memory_signal_ack',
  family: 'power',
  summary: 'Acknowledge a signal that was sent to the caller.',
  input: named,
  output: z.object({
    acknowledged: z.boolean().describe('False where there is no such signal, or it is acknowledged already'),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  mcp: { description: 'Acknowledge a signal that was sent to you.' },
  hooks: aroundOperation({
    post: [
      {
        event: 'post_signal_ack',
        firings: async ({ answer, input: asked, call }: Acknowledged) =>
          answer['acknowledged'] === true ? await acknowledged(call, String(asked['id'])) : [],
      },
    ],
  }),
  run: async (call, { id: signalId }) => {
    const marked = await mark(call, signalId, 'acknowledged');
    if (!marked.ok) return failed(marked.error);
    return ok({ acknowledged: marked.value.marked });
  },
});

async function mark(
  call: Call,
  signalId: string,
  how: MarkSignal['mark'],
): Promise<Result<MarkSignalOutcome>> {
  const reader = actingAgent(call, undefined, 'agent_id');
  if (!reader.ok) return failed(reader.error);
  const { viewer } = call.caller;
  const asked = { kind: 'mark-signal', signalId, reader: reader.value, mark: how, viewer } as const;
  const marked = await call.services.store.execute(asked);
  if (marked.ok || marked.error.code !== 'QUOTA_EXCEEDED' || how !== 'read') return marked;
  // Who may write nothing more today can still read.
  const signal = await seenSignal(call, signalId);
  return signal.ok ? ok({ signal: signal.value, receipt: null, marked: false }) : failed(signal.error);
}

/** A signal that the caller sees; null where there is none. */
async function seenSignal(
  { services, caller: { viewer }, now }: ReadCall,
  signalId: string,
): Promise<Result<Signal | null>> {
  const where = { signal_id: signalId, expires_at: { after: now } };
  const of = signalKind.name;
  const found = await services.store.query({ kind: 'find-records', of, where, viewer, now, limit: 1 });
  return found.ok ? ok(rowsOf(signalKind, found.value)[0] ?? null) : failed(found.error);
}

/** What hooks hear of an acknowledgement. */
async function acknowledged(call: ReadCall, signalId: string) {
  const found = await seenSignal(call, signalId);
  if (!found.ok || found.value === null) return [];
  const [shown] = await shownOr(call, found.value);
  if (shown === undefined) return [];
  const { id, namespace, from_agent, to_agent, subject, signal_type, acknowledged_at } = shown;
  return [
    { namespace, payload: { id, namespace, from_agent, to_agent, subject, signal_type, acknowledged_at } },
  ];
}

async function shownOr(call: ReadCall, signal: Signal) {
  const shown = await shownSignals(call, [signal]);
  return shown.ok ? shown.value : [];
}
