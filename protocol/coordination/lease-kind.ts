import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { HOME_NUMBER, numberIn } from '../kinds/home.js';
import { localKind } from '../kinds/local-kind.js';
import { isCount, isText, isTextOrNull, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';

/**
 * The lease of an action: who works on it, and under which fencing token. It has the id of its action, so it has the same
 * home, and stays as long as the action is there: tokens only grow.
 */
export interface Lease {
  readonly action_id: string;
  readonly namespace: string;
  /** Null while nobody holds it. */
  readonly holder: AgentId | null;
  /** The last token that was given. */
  readonly token: number;
  readonly ttl_secs: number;
  readonly acquired_at: Instant;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

export const leaseKind = recordKind<Lease>({
  name: 'lease',
  members: {
    action_id: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    holder: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    token: { accepts: isCount, default: 0 },
    ttl_secs: { accepts: isCount, default: 0 },
    acquired_at: { accepts: isText, admits: instant, default: '' },
  },
  // The home is part of the id, and the image does not name it.
  idOf: () => null,
  namespaceOf: ({ namespace }) => namespace,
  owner: 'holder',
  losers: 'dropped',
  writer: 'home',
  exported: false,
  isVisible: () => true,
  indexes: [
    { name: 'lease_of', members: ['action_id'] },
    { name: 'lease_holder', members: ['holder'] },
  ],
});

/** The term of a held lease, as its home counts it: how often it was renewed, and about when it ends. */
export interface LeaseTerm {
  /** The id of the lease. */
  readonly lease_id: string;
  readonly action_id: string;
  readonly token: number;
  /** Renewals of this token. */
  readonly renewals: number;
  readonly ttl_secs: number;
  readonly heartbeat_at: string;
}

export const leaseTermKind = localKind<LeaseTerm>({
  name: 'lease_term',
  key: ['lease_id'],
  members: {
    lease_id: 'text',
    action_id: 'text',
    token: 'integer',
    renewals: 'integer',
    ttl_secs: 'integer',
    heartbeat_at: 'text',
  },
  indexes: [['action_id']],
  isVisible: () => true,
});

/** Tokens of one home: 2^32 of them, and those of the next home come after all of them. */
const TOKENS_OF_A_HOME = 2 ** 32;
/** Seconds of a clock that is set to nonsense do not use the tokens of a home up. */
const SECONDS_MAX = 2 ** 32 - 2 ** 24;

/**
 * The token after the last one, of the home with a number. It is not below the seconds of the clock, so that a database that
 * is put back from a copy gives none that it gave after the copy was made.
 */
export function tokenAfter(last: number, homeNumber: number, seconds: number): number {
  const before = homeNumber * TOKENS_OF_A_HOME + Math.min(Math.max(seconds, 0), SECONDS_MAX);
  return Math.max(last, before) + 1;
}

/** True for a lease that is held and that the present home gave. */
export const isLive = (lease: Lease, homeNumber: number): boolean =>
  lease.holder !== null && numberIn(lease) === homeNumber;

/** A lease with the number of the home that writes it. */
export const leaseBy = (homeNumber: number, lease: Lease): Lease =>
  Object.assign({}, lease, { [HOME_NUMBER]: homeNumber });
