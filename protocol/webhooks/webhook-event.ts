import type { Audience } from './audience.js';
import type { EventType } from './event-types.js';

/** An event as receivers get it, without what one delivery adds. */
export interface WebhookEvent {
  readonly event: EventType;
  /** The memory; for approvals the pending action. */
  readonly memory_id: string;
  readonly namespace: string;
  readonly agent_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** An event, and who may know of it. */
export interface Announcement {
  readonly event: WebhookEvent;
  readonly audience: Audience;
}
