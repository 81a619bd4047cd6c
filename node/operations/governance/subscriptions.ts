import { z } from 'zod';
import { memoryIdProblem } from '../../../protocol/base/ids.js';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import { ALL_EVENTS, EVENT_TYPES, eventList } from '../../../protocol/webhooks/event-types.js';
import type { Subscription } from '../../../protocol/webhooks/subscription.js';
import { rulingViewer } from '../../identity/caller.js';
import { urlRefusal } from '../../outbound/address-guard.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const subscriptionId = z
  .string()
  .refine((id) => memoryIdProblem(id) === null, 'must be the id of a subscription')
  .describe('Id of a subscription, or its beginning');

const UUID_LENGTH = 36;
/** As lists show ids; a shorter beginning could be a slip. */
const BEGINNING_LENGTH_MIN = 8;

/** The id of the caller's subscription that begins so; an unknown one stays as it was given. */
async function ownSubscription({ services, caller }: ReadCall, given: string): Promise<Result<string>> {
  if (given.length >= UUID_LENGTH || given.length < BEGINNING_LENGTH_MIN) return ok(given);
  const listed = await services.store.query({ kind: 'list-subscriptions', viewer: rulingViewer(caller) });
  if (!listed.ok) return failed(listed.error);
  const found = listed.value.subscriptions.filter(({ id }) => id.startsWith(given));
  return found.length > 1
    ? fail('AMBIGUOUS_ID_PREFIX', 'more than one of your subscriptions begins so: give the whole id')
    : ok(found[0]?.id ?? given);
}

const secret = z
  .string()
  .min(1)
  .refine(
    (text) => utf8Bytes(text) <= limits.SUBSCRIPTION_SECRET_BYTES_MAX,
    `must be at most ${limits.SUBSCRIPTION_SECRET_BYTES_MAX} bytes`,
  )
  .describe('Secret that signs the events; the node keeps only its SHA-256');

export const subscriptionOutput = z.object({
  id: z.string(),
  url: z.string(),
  events: z.string(),
  namespace_filter: z.string().nullable(),
  agent_filter: z.string().nullable(),
  agent_id: z.string(),
  created_by: z.string(),
  created_at: z.string(),
  last_dispatched_at: z.string().nullable(),
  dispatch_count: z.int().describe('Events whose delivery has ended'),
  failure_count: z.int().describe('Events that failed'),
  status: z.enum(['active', 'quarantined']).describe('A quarantined one gets nothing until a resend'),
  pending_count: z.int().describe('Events that wait'),
  dlq_count: z.int().describe('Dead letters'),
  dropped_count: z.int().describe('Events that found no room among the dead letters, or waited too long'),
});

/** A subscription as its owner sees it: without any part of its secret. */
const shownOf = ({
  secret_hash: _hash,
  sees_all: _all,
  failures_in_row: _row,
  ended_count: _ended,
  passed_seq: _passed,
  since_seq: _since,
  ...subscription
}: Subscription): z.output<typeof subscriptionOutput> => ({
  ...subscription,
  agent_id: subscription.created_by,
});

const subscribeInput = z.object({
  url: z.string().min(1).describe('Address of the receiver: https, or http to this machine where permitted'),
  events: z
    .string()
    .default(ALL_EVENTS)
    .describe(`Events with commas between them: ${EVENT_TYPES.join(', ')}; * for all`),
  event_types: z.array(z.string()).describe('The same as a list; takes the place of events').optional(),
  secret: secret.optional(),
  namespace_filter: fields.namespace.describe('Only events of exactly this namespace').optional(),
  agent_filter: fields.agentId.describe('Only events about exactly this agent').optional(),
});

/** Subscribes the caller to events (interface §4.11, §6.1: POST /subscriptions). */
export const memorySubscribe = defineOperation({
  name: 'memory_subscribe',
  family: 'governance',
  summary: 'Have events sent to a receiver, signed.',
  input: subscribeInput,
  output: subscriptionOutput,
  effect: 'write',
  // Receivers such as chats have their token in the address.
  secretFields: ['secret', 'url'],
  openWorld: true,
  guards: { attestation: 'by-name' },
  delegable: 'never',
  http: [
    {
      method: 'POST',
      path: '/subscriptions',
      fields: 'body',
      status: 201,
      aliases: { namespace: 'namespace_filter' },
    },
  ],
  mcp: {
    description:
      'Call a webhook whenever something happens, such as a memory being stored or deleted. Answers the id of the subscription.',
  },
  cli: {
    command: 'subscribe',
    positionals: ['url'],
    secrets: ['secret'],
    view: 'message',
    message: ({ id, events, url }) => `subscribed: ${id} (${events} to ${url})`,
    examples: [
      'subscribe https://example.org/hook --secret env:HOOK_SECRET',
      'subscribe https://example.org/hook --secret file:hook.key --events memory_store,memory_delete',
    ],
  },
  run: async (call, input) => {
    const { services, caller } = call;
    const said = checked(call, input);
    if (!said.ok) return failed(said.error);
    const subscription = {
      ...said.value,
      id: services.random.uuid(),
      secret_hash: input.secret === undefined ? null : services.crypto.sha256Hex(input.secret),
      namespace_filter: input.namespace_filter ?? null,
      agent_filter: input.agent_filter ?? null,
      created_by: caller.agentId,
    };
    const made = await services.store.execute({
      kind: 'subscribe',
      subscription,
      viewer: rulingViewer(caller),
    });
    return made.ok ? ok(shownOf(made.value.subscription)) : failed(made.error);
  },
});

/** What the caller wants to hear, and where: VALIDATION_FAILED names what is wrong. */
function checked(
  { caller, services }: Call,
  { url, events, event_types, secret: own }: z.output<typeof subscribeInput>,
): Result<{ readonly url: string; readonly events: string }> {
  const { settings } = services;
  if (caller.claimed === 'made' && !rulingViewer(caller).all)
    return fail(
      'FORBIDDEN',
      'a subscription needs an owner: name the agent in X-Agent-Id, or set SVC_AGENT_ID',
    );
  const refusal = urlRefusal(url, settings.allowLoopbackWebhooks);
  if (refusal !== null) return fail('VALIDATION_FAILED', `url: ${refusal}`, { fields: ['url'] });
  const list = eventList(event_types ?? events.split(','));
  if ('unknown' in list) {
    const field = event_types === undefined ? 'events' : 'event_types';
    const message = `${field}: "${list.unknown}" is no event; use ${EVENT_TYPES.join(', ')} or ${ALL_EVENTS}`;
    return fail('VALIDATION_FAILED', message, { fields: [field] });
  }
  if (own === undefined && settings.webhookHmacSecret === null) {
    return fail('VALIDATION_FAILED', 'secret: unsigned subscriptions are refused', {
      fields: ['secret'],
      hint: 'give a secret, or let the operator set [hooks.subscription] hmac_secret',
    });
  }
  return ok({ url, events: list.events });
}

/** Ends a subscription of the caller (interface §4.11: DELETE /subscriptions). */
export const memoryUnsubscribe = defineOperation({
  name: 'memory_unsubscribe',
  family: 'governance',
  summary: 'End a subscription; its waiting events and dead letters go with it.',
  input: z.object({ id: subscriptionId }),
  output: z.object({ id: z.string(), removed: z.boolean(), deleted: z.boolean() }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [{ method: 'DELETE', path: '/subscriptions', fields: 'query' }],
  mcp: { description: 'End a webhook subscription, with its waiting events.' },
  cli: {
    command: 'unsubscribe',
    positionals: ['id'],
    view: 'message',
    message: ({ id, removed }) =>
      removed === true ? `unsubscribed: ${id}` : `you have no subscription ${id}; nothing was removed`,
    examples: ['unsubscribe 0190c3f2-7d1a-4c5e-9b1d-2f3a4b5c6d7e'],
  },
  run: async (call, asked) => {
    const { services, caller } = call;
    const id = await ownSubscription(call, asked.id);
    if (!id.ok) return failed(id.error);
    const gone = await services.store.execute({
      kind: 'unsubscribe',
      id: id.value,
      viewer: rulingViewer(caller),
    });
    if (!gone.ok) return failed(gone.error);
    const { removed } = gone.value;
    return ok({ id: id.value, removed, deleted: removed });
  },
});

/** Lists the subscriptions of the caller, with their counts (interface §4.11: GET /subscriptions). */
export const memoryListSubscriptions = defineOperation({
  name: 'memory_list_subscriptions',
  family: 'other',
  summary: 'List your subscriptions to events, with their counts.',
  input: z.object({}),
  output: z.object({ subscriptions: z.array(subscriptionOutput), count: z.int(), ...fields.listEnd }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/subscriptions', fields: 'query' }],
  mcp: { description: 'List your webhook subscriptions with their counts.' },
  cli: {
    command: 'list-subscriptions',
    view: 'object',
    table: {
      id: 'id',
      url: 'url',
      events: 'events',
      status: 'status',
      dispatch_count: 'sent',
      failure_count: 'failed',
      pending_count: 'waiting',
      dlq_count: 'dead letters',
    },
    examples: ['list-subscriptions'],
  },
  run: async ({ services, caller }) => {
    const found = await services.store.query({ kind: 'list-subscriptions', viewer: rulingViewer(caller) });
    if (!found.ok) return failed(found.error);
    const subscriptions = found.value.subscriptions.map(shownOf);
    return ok({ subscriptions, count: subscriptions.length });
  },
});

const truncated = z.literal(true).describe('A limit on bytes ended the list early').optional();

const body = z.looseObject({}).describe('The body as it is sent');

const ending = (page: { readonly truncated: boolean }) =>
  page.truncated ? { truncated: true as const } : {};

/** Reads the events of a subscription since an instant, and sends failed ones again (POST /memory_subscription_replay). */
export const memorySubscriptionReplay = defineOperation({
  name: 'memory_subscription_replay',
  family: 'power',
  summary: 'List the events of a subscription since an instant; send failed ones again.',
  input: z.object({
    subscription_id: subscriptionId,
    since: fields.pastBegin.describe('From this instant on, RFC 3339'),
    limit: fields.listLimit(limits.SUBSCRIPTION_PAGE_MAX, limits.SUBSCRIPTION_PAGE_MAX, 'events'),
    resend: z.boolean().default(false).describe('Send failed events again, and end a quarantine'),
  }),
  output: z.object({
    subscription_id: z.string(),
    since: z.string(),
    count: z.int(),
    resent: z.int().describe('Events that are sent again'),
    events: z.array(
      z.object({
        correlation_id: z.string(),
        event_type: z.string(),
        delivered_at: z.string().describe('When it happened'),
        delivery_status: z.enum(['pending', 'ack', 'failed']),
        attempts: z.int(),
        last_error: z.string().nullable(),
        replays: z.int().describe('How often it was sent again on request'),
        payload: body,
      }),
    ),
    truncated,
  }),
  effect: 'write',
  openWorld: true,
  guards: { attestation: 'by-key' },
  delegable: 'never',
  http: [{ method: 'POST', path: '/memory_subscription_replay', fields: 'body' }],
  mcp: {
    description: 'List the events of a webhook subscription since an instant, or send failed ones again.',
  },
  cli: {
    command: 'subscription-replay',
    positionals: ['subscription_id', 'since'],
    view: 'object',
    table: {
      delivered_at: 'at',
      event_type: 'event',
      delivery_status: 'status',
      attempts: 'attempts',
      last_error: 'error',
      correlation_id: 'correlation id',
    },
    examples: ['subscription-replay 0190c3f2-7d1a-4c5e-9b1d-2f3a4b5c6d7e 2026-01-01T00:00:00Z --resend'],
  },
  run: async (call, { subscription_id: asked, since, limit, resend }) => {
    const { services, caller } = call;
    const viewer = rulingViewer(caller);
    const id = await ownSubscription(call, asked);
    if (!id.ok) return failed(id.error);
    const subscriptionId = id.value;
    let resent = 0;
    if (resend) {
      const again = await services.store.execute({
        ...{ kind: 'resend-events', subscriptionId, since, limit: limits.SUBSCRIPTION_RESEND_MAX, viewer },
      });
      if (!again.ok) return failed(again.error);
      resent = again.value.resent;
    }
    const found = await services.store.query({
      ...{ kind: 'subscription-events', subscriptionId, since, limit, viewer },
    });
    if (!found.ok) return failed(found.error);
    const events = found.value.events.map((event) => ({
      correlation_id: event.correlation_id,
      event_type: event.event_type,
      delivered_at: event.delivered_at,
      delivery_status: event.delivery_status,
      attempts: event.attempts,
      last_error: event.last_error,
      replays: event.replays,
      payload: JSON.parse(event.payload) as Record<string, unknown>,
    }));
    const counted = { subscription_id: subscriptionId, since, count: events.length, resent, events };
    return ok({ ...counted, ...ending(found.value) });
  },
});

/** Lists the dead letters of the caller's subscriptions (POST /memory_subscription_dlq_list). */
export const memorySubscriptionDlqList = defineOperation({
  name: 'memory_subscription_dlq_list',
  family: 'power',
  summary: 'List events that could not be delivered.',
  input: z.object({
    subscription_id: subscriptionId.optional(),
    limit: fields.listLimit(limits.SUBSCRIPTION_PAGE, limits.SUBSCRIPTION_PAGE_MAX, 'letters'),
  }),
  output: z.object({
    count: z.int(),
    subscription_id: z.string().nullable(),
    limit: z.int(),
    entries: z.array(
      z.object({
        id: z.int(),
        subscription_id: z.string(),
        correlation_id: z.string(),
        event_type: z.string(),
        payload: body,
        retry_count: z.int().describe('Attempts that were made'),
        last_error: z.string(),
        first_failed_at: z.string(),
        last_failed_at: z.string(),
      }),
    ),
    truncated,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_subscription_dlq_list', fields: 'body' }],
  mcp: { description: 'List webhook events that could not be delivered.' },
  cli: {
    command: 'subscription-dlq-list',
    view: 'object',
    table: {
      last_failed_at: 'failed at',
      event_type: 'event',
      last_error: 'error',
      retry_count: 'attempts',
      subscription_id: 'subscription',
      correlation_id: 'correlation id',
    },
    examples: ['subscription-dlq-list --subscription-id 0190c3f2-7d1a-4c5e-9b1d-2f3a4b5c6d7e'],
  },
  run: async (call, { subscription_id: asked, limit }) => {
    const { services, caller } = call;
    const viewer = rulingViewer(caller);
    const id = asked === undefined ? ok(null) : await ownSubscription(call, asked);
    if (!id.ok) return failed(id.error);
    const subscription_id = id.value;
    const found = await services.store.query({
      ...{ kind: 'dead-letters', subscriptionId: subscription_id, limit, viewer },
    });
    if (!found.ok) return failed(found.error);
    const entries = found.value.entries.map((entry) => ({
      ...entry,
      payload: JSON.parse(entry.payload) as Record<string, unknown>,
    }));
    return ok({ count: entries.length, subscription_id, limit, entries, ...ending(found.value) });
  },
});
