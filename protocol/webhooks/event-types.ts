/** The events of the interface (§6.1), in its order. */
export const WEBHOOK_EVENTS = [
  'memory_store',
  'memory_promote',
  'memory_delete',
  'memory_link_created',
  'memory_link_invalidated',
  'memory_consolidated',
  'approval_requested',
] as const;

/** All events that a subscription can name; the decision on an approval is an addition to the interface. */
export const EVENT_TYPES = [...WEBHOOK_EVENTS, 'approval_decided'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Stands for all events, also those of later releases. */
export const ALL_EVENTS = '*';

/** The canonical form of a list of events, or the name that is no event. */
export function eventList(
  names: readonly string[],
): { readonly events: string } | { readonly unknown: string } {
  const trimmed = names.map((name) => name.trim()).filter((name) => name !== '');
  const isKnown = (name: string) => name === ALL_EVENTS || (EVENT_TYPES as readonly string[]).includes(name);
  const unknown = trimmed.find((name) => !isKnown(name));
  if (unknown !== undefined) return { unknown };
  if (trimmed.length === 0 || trimmed.includes(ALL_EVENTS)) return { events: ALL_EVENTS };
  return { events: EVENT_TYPES.filter((name) => trimmed.includes(name)).join(',') };
}
