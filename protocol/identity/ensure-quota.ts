import type { DetailsOf } from '../base/error-details.js';
import { type Failure, failed, failure, ok, type Result } from '../base/result.js';
import { utf8Bytes } from '../base/utf8.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { ReadRequest } from '../decide/reads.js';
import type { Kind } from '../kinds/kind.js';
import { AGENTS_NAMESPACE } from './agent.js';
import { chargeQuota } from './mutations.js';
import {
  type Charged,
  chargedBytes,
  freshUse,
  GLOBAL_QUOTA_NAMESPACE,
  holderOf,
  limitsOf,
  type QuotaUse,
  quotaHolder,
  REGISTRATIONS_HOLDER,
  REQUESTS_NAMESPACE,
  rolledUse,
  secondsToNextDay,
  writtenBytesPerDay,
} from './quota.js';
import { quotaUseOf, writtenBytes } from './reads.js';

/** Answers a quota row and creates it at the first call (interface §2.9). */
export interface EnsureQuota {
  readonly kind: 'ensure-quota';
  readonly holder: string;
  readonly namespace: string;
}

/** What `ensure-quota` answers. */
export interface EnsureQuotaOutcome {
  readonly use: QuotaUse;
}

/**
 * Charges a write to a quota. QUOTA_EXCEEDED when the owner of the row would exceed its memories of the day (new rows
 * only) or its bytes in that namespace; otherwise what to charge. `before` is the row that this one replaces.
 */
export function* chargeFor(
  memory: Charged,
  before: Charged | null,
  context: DecisionContext,
): Generator<ReadRequest, Result<readonly Mutation[]>, never> {
  const limits = context.policy.quota;
  const holder = holderOf(memory);
  if (holder === null) return ok([]);
  const { namespace } = memory;
  const replaced = before !== null && before.namespace === namespace && holderOf(before) === holder;
  const added = chargedBytes(memory) - (replaced ? chargedBytes(before) : 0);
  if (before !== null && added <= 0) return ok([]);

  const use = rolledUse(
    (yield* quotaUseOf({ holder: holder, namespace: namespace })) ??
      freshUse(holder, namespace, limits, context.now),
    context.now,
  );
  if (added > 0 && use.storageBytes + added > limits.storageBytes) {
    return failed(exceeded(use, 'storage_bytes', use.storageBytes, limits.storageBytes));
  }
  if (before !== null) return ok([]);
  if (use.memoriesToday + 1 > limits.memoriesPerDay) {
    return failed(
      exceeded(use, 'memories_per_day', use.memoriesToday, limits.memoriesPerDay, untilNextDay(context)),
    );
  }
  return ok([chargeQuota({ holder, namespace, limits, memories: 1, links: 0 })]);
}

/**
 * Charges new links to the owner of their source, or to the caller where the source has no owner: QUOTA_EXCEEDED when the
 * links of the day in the source's namespace are used up.
 */
export function* chargeLinks(
  source: Charged,
  count: number,
  viewer: Viewer,
  context: DecisionContext,
): Generator<ReadRequest, Result<readonly Mutation[]>, never> {
  const holder = holderOf(source) ?? (viewer.agentId === null ? null : quotaHolder(viewer.agentId));
  if (holder === null) return ok([]);
  const { policy, now } = context;
  const limits = policy.quota;
  const { namespace } = source;
  const known = yield* quotaUseOf({ holder, namespace });
  const use = rolledUse(known ?? freshUse(holder, namespace, limits, now), now);
  if (use.linksToday + count > limits.linksPerDay) {
    const day = untilNextDay(context);
    return failed(exceeded(use, 'links_per_day', use.linksToday, limits.linksPerDay, day));
  }
  return ok([chargeQuota({ holder, namespace, limits, memories: 0, links: count })]);
}

/** Why a restored row does not fit: QUOTA_EXCEEDED, or null. It does not count for the day. */
export function* storageProblem(
  memory: Charged,
  context: DecisionContext,
): Generator<ReadRequest, Failure | null, never> {
  const holder = holderOf(memory);
  const use = holder === null ? null : yield* quotaUseOf({ holder: holder, namespace: memory.namespace });
  if (use === null || use.storageBytes + chargedBytes(memory) <= context.policy.quota.storageBytes)
    return null;
  return exceeded(use, 'storage_bytes', use.storageBytes, context.policy.quota.storageBytes);
}

/**
 * Why records do not fit: QUOTA_EXCEEDED when the owner of a record of a charged kind would have more than its bytes in
 * that namespace, or null. Records that grow count for what they grow. What a home decides about a record that is there is
 * never refused: it may be how the record ends, and others may wait for that.
 */
export function* recordsProblem(
  mutations: readonly Mutation[],
  { kinds, policy, now }: DecisionContext,
): Generator<ReadRequest, Failure | null, never> {
  const added = new Map<string, { readonly holder: string; readonly namespace: string; bytes: number }>();
  for (const mutation of mutations) {
    if (mutation.mutation !== 'write') continue;
    const kind: Kind = kinds.of(mutation.kind);
    const owner = kind.charged ? kind.ownerOf(mutation.image) : null;
    if (owner === null) continue;
    const { namespace, image, before } = mutation;
    if (before !== null && kind.writer === 'home') continue;
    const holder = quotaHolder(owner);
    const key = `${holder} ${namespace}`;
    const sum = added.get(key) ?? { holder, namespace, bytes: 0 };
    sum.bytes += payloadBytes(kind, image) - (before === null ? 0 : payloadBytes(kind, before));
    added.set(key, sum);
  }
  for (const { holder, namespace, bytes } of added.values()) {
    if (bytes <= 0) continue;
    const place = { holder, namespace };
    const use = (yield* quotaUseOf(place)) ?? freshUse(holder, namespace, policy.quota, now);
    const { storageBytes: max } = policy.quota;
    if (use.storageBytes + bytes > max) return exceeded(use, 'storage_bytes', use.storageBytes, max);
  }
  return null;
}

const payloadBytes = (kind: Kind, image: object): number => utf8Bytes(kind.payload.text(image));

/**
 * Why a holder may not write today: QUOTA_EXCEEDED when its writes of the day fill its written bytes, or null. The
 * write that fills them is still taken, so that no decision has to make the payloads.
 */
export function* writtenProblem(
  holder: string,
  context: DecisionContext,
): Generator<ReadRequest, Failure | null, never> {
  const written = yield* writtenBytes({ holder });
  const max = writtenBytesPerDay(context.policy.quota);
  if (written < max) return null;
  const sum = { holder, namespace: GLOBAL_QUOTA_NAMESPACE };
  return exceeded(sum, 'written_bytes_per_day', written, max, untilNextDay(context));
}

/** Charges a registration to the node: QUOTA_EXCEEDED when its registrations of the day are used up. */
export function* chargeRegistration(
  context: DecisionContext,
): Generator<ReadRequest, Result<Mutation>, never> {
  const place = { holder: REGISTRATIONS_HOLDER, namespace: AGENTS_NAMESPACE };
  const limits = limitsOf(place.holder, context.policy.quota);
  const use = yield* quotaUseOf(place);
  const current = use === null ? 0 : rolledUse(use, context.now).memoriesToday;
  if (current < limits.memoriesPerDay) {
    return ok(chargeQuota({ ...place, limits, memories: 1, links: 0 }));
  }
  return failed(
    refusal('this node', {
      limit: 'registrations_per_day',
      current,
      max: limits.memoriesPerDay,
      ...untilNextDay(context),
    }),
  );
}

/**
 * Charges a request for an approval: an agent may send as many in a day as it may store memories in a namespace, and what it
 * holds counts for the bytes that it writes. QUOTA_EXCEEDED beyond that.
 */
export function* chargeRequest(
  holder: string,
  context: DecisionContext,
): Generator<ReadRequest, Result<Mutation>, never> {
  const written = yield* writtenProblem(holder, context);
  if (written !== null) return failed(written);
  const place = { holder, namespace: REQUESTS_NAMESPACE };
  const limits = context.policy.quota;
  const use = yield* quotaUseOf(place);
  const current = use === null ? 0 : rolledUse(use, context.now).memoriesToday;
  const max = limits.memoriesPerDay;
  return current < max
    ? ok(chargeQuota({ ...place, limits, memories: 1, links: 0 }))
    : failed(exceeded(place, 'requests_per_day', current, max, untilNextDay(context)));
}

/** Only a daily limit ends by waiting. */
const untilNextDay = ({ now }: DecisionContext) => ({ retry_after_secs: secondsToNextDay(now) });

function exceeded(
  { holder, namespace }: Pick<QuotaUse, 'holder' | 'namespace'>,
  limit: string,
  current: number,
  max: number,
  more: { readonly retry_after_secs?: number } = {},
): Failure {
  const details = { limit, current, max, agent_id: holder, ...more };
  return refusal(`agent ${holder} namespace ${namespace}`, details);
}

function refusal(who: string, details: DetailsOf<'QUOTA_EXCEEDED'>): Failure {
  const { limit, current, max } = details;
  const message = `QUOTA_EXCEEDED: ${who} hit ${limit} (current=${current}, max=${max})`;
  return failure('QUOTA_EXCEEDED', message, details);
}

/** Answers a quota row as of now, and creates it at the first call. */
function* decideEnsureQuota(command: EnsureQuota, context: DecisionContext): Deciding<EnsureQuotaOutcome> {
  const { holder, namespace } = command;
  const limits = context.policy.quota;
  const known = yield* quotaUseOf({ holder: holder, namespace: namespace });
  if (known !== null) return decided({ use: { ...rolledUse(known, context.now), limits } }, []);
  return decided({ use: freshUse(holder, namespace, limits, context.now) }, [
    chargeQuota({ holder, namespace, limits, memories: 0, links: 0 }),
  ]);
}

export const ensureQuotaCommand = defineCommand({
  kind: 'ensure-quota',
  decide: decideEnsureQuota,
  gate: 'no memory',
});
