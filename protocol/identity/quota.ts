import { WRITTEN_PER_STORED_BYTE } from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { utf8Bytes } from '../base/utf8.js';
import type { NodeQuotas, QuotaLimits } from '../decide/permissions.js';
import { ownerOf } from './owner.js';

/** The bytes that one agent may write into the log in a day, over all namespaces. */
export const writtenBytesPerDay = ({ storageBytes }: QuotaLimits): number =>
  Math.min(storageBytes * WRITTEN_PER_STORED_BYTE, Number.MAX_SAFE_INTEGER);

/** A row of the quota table: the use of one agent in one namespace. */
export interface QuotaUse {
  readonly holder: string;
  readonly namespace: string;
  readonly limits: QuotaLimits;
  readonly memoriesToday: number;
  readonly storageBytes: number;
  readonly linksToday: number;
  /** The payloads of the holder's writes in this namespace. */
  readonly writtenBytesToday: number;
  /** Start of the UTC day that the daily counts belong to. */
  readonly dayStartedAt: Instant;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Rows from before quotas had namespaces, and sums over all namespaces (interface §2.9). */
export const GLOBAL_QUOTA_NAMESPACE = '_global';

/** The holder of the row that counts the registrations of a node; no agent can have this id. */
export const REGISTRATIONS_HOLDER = '*';

/** The namespace of the row that counts the requests for approvals of an agent. */
export const REQUESTS_NAMESPACE = '_pending';

/** The limits of a holder. */
export function limitsOf(holder: string, quotas: NodeQuotas): QuotaLimits {
  return holder === REGISTRATIONS_HOLDER ? { ...quotas, memoriesPerDay: quotas.registrationsPerDay } : quotas;
}

/**
 * The holder whose quota a write is charged to. Ids that the service makes for a process or a request would each have
 * their own quota, so their common part is charged: `ai:client@host:pid-7` becomes `ai:client@host:pid-*`, every
 * anonymous request `anonymous:req-*`. No agent can have such an id, so no caller can use up or read the quota of a
 * named agent by adding a number to its id.
 */
export function quotaHolder(agentId: string): string {
  return agentId.replace(/:(?:(pid-)\d+(?:-[0-9a-f]{8})?|(req-)[0-9a-f]{8})$/, ':$1$2*');
}

/** What of a memory decides who is charged for it, and how much. */
export interface Charged {
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The bytes that a memory is charged with: title, content and metadata (reference-http §3.7). */
export function chargedBytes(memory: Pick<Charged, 'title' | 'content' | 'metadata'>): number {
  return utf8Bytes(memory.title) + utf8Bytes(memory.content) + utf8Bytes(JSON.stringify(memory.metadata));
}

/** The holder that a memory's bytes are charged to; null for a row without an owner. */
export function holderOf(memory: Pick<Charged, 'metadata'>): string | null {
  const owner = ownerOf(memory);
  return owner === null ? null : quotaHolder(owner);
}

const DAY_MS = 86_400_000;

/** Whole seconds from a canonical instant to the start of the next UTC day, 1 to 86,400. */
export function secondsToNextDay(instant: string): number {
  return Math.ceil((DAY_MS - (Date.parse(instant) % DAY_MS)) / 1000);
}

/** The UTC day of a canonical instant, as the instant of its start. */
export function dayOf(instant: string): string {
  return `${instant.slice(0, 10)}T00:00:00.000Z`;
}

/** The use of a holder that has written nothing yet. */
export function freshUse(holder: string, namespace: string, limits: QuotaLimits, now: string): QuotaUse {
  return {
    holder,
    namespace,
    limits,
    memoriesToday: 0,
    storageBytes: 0,
    linksToday: 0,
    writtenBytesToday: 0,
    dayStartedAt: dayOf(now),
    createdAt: now,
    updatedAt: now,
  };
}

/** The use at `now`: a later UTC day resets the daily counts. */
export function rolledUse(use: QuotaUse, now: string): QuotaUse {
  const today = dayOf(now);
  if (today <= use.dayStartedAt) return use;
  return { ...use, memoriesToday: 0, linksToday: 0, writtenBytesToday: 0, dayStartedAt: today };
}
