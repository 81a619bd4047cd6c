import { WEBHOOK_BODY_BYTES_MAX } from '../base/limits.js';
import { instantFromMs } from '../base/time.js';
import { utf8Bytes } from '../base/utf8.js';
import type { AnyCommand, Commands } from '../decide/command.js';
import type { DecisionContext } from '../decide/deciding.js';
import { addRow, countLocalRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { announcementsOf, canBeEvent } from './events.js';
import { announcedKind, bodyOf, correlationId } from './outbox.js';
import { subscriptionKind } from './subscription.js';
import type { WebhookEvent } from './webhook-event.js';

const NONE: readonly Mutation[] = [];

/**
 * Records the events of a decision in the same transaction: one row for each, however many subscriptions there are. Who
 * gets them is decided when they are sent.
 */
export function* emitEvents(
  command: AnyCommand,
  mutations: readonly Mutation[],
  { now, nowMs }: Pick<DecisionContext, 'now' | 'nowMs'>,
  commands: Commands,
): Reading<readonly Mutation[]> {
  if (!mutations.some(canBeEvent) || (yield* countLocalRows(subscriptionKind, {}, 1)) === 0) return NONE;
  const all = yield* announcementsOf(command, mutations, commands);
  return all.map(({ event, audience }) =>
    addRow(announcedKind, 'seq', {
      ...{ event: JSON.stringify(bounded(event)), audience: JSON.stringify(audience), at: now, at_ms: nowMs },
    }),
  );
}

/** The bytes of the body of an event, whatever its delivery adds. */
const bodyBytes = (event: WebhookEvent): number =>
  utf8Bytes(bodyOf(event, correlationId('', 0, 0), instantFromMs(0)));

/** The event with as much of its details as a body may hold: clients choose some of them. */
export function bounded(event: WebhookEvent): WebhookEvent {
  if (bodyBytes(event) <= WEBHOOK_BODY_BYTES_MAX) return event;
  const kept: Record<string, unknown> = { truncated: true };
  let room = WEBHOOK_BODY_BYTES_MAX - bodyBytes({ ...event, details: kept });
  const take = (name: string, value: unknown) => {
    const bytes = utf8Bytes(JSON.stringify({ [name]: value })) - 1;
    if (bytes > room) return;
    room -= bytes;
    kept[name] = value;
  };
  const details = Object.entries(event.details).filter(([, value]) => value !== undefined);
  for (const [name, value] of details) if (!Array.isArray(value)) take(name, value);
  for (const [name, value] of details)
    if (Array.isArray(value)) take(name, beginningOf(value, room - utf8Bytes(name) - 6));
  return { ...event, details: kept };
}

/** The items of a list from its beginning that fit. */
function beginningOf(list: readonly unknown[], bytesMax: number): readonly unknown[] {
  let bytes = 0;
  const end = list.findIndex((item) => {
    bytes += utf8Bytes(JSON.stringify(item)) + 1;
    return bytes > bytesMax;
  });
  return end === -1 ? list : list.slice(0, end);
}
