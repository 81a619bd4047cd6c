import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { EncoderRef, Encoders } from './encoder-ref.js';
import { clearSearched, putEncoder, requeueEmbeddings, switchEncoder } from './mutations.js';
import { comingIncomplete, encodersInUse, ridsAfter } from './reads.js';

/** Says which encoder is configured; where another one is searched, this one comes. */
export interface PlanEncoder {
  readonly kind: 'plan-encoder';
  readonly configured: EncoderRef;
  /** The searched encoder can no longer be asked, so its vectors are dropped and the configured one serves at once. */
  readonly replace: boolean;
}

export type PlanEncoderOutcome = Pick<Encoders, 'coming'> & { readonly searched: EncoderRef };

function* decidePlanEncoder({ configured, replace }: PlanEncoder): Deciding<PlanEncoderOutcome> {
  const { searched, coming, isRecorded, hasVectors } = yield* encodersInUse();
  const dropComing: Mutation[] = coming === null ? [] : [putEncoder({ role: 'coming', encoder: null })];
  const serves = { searched: configured, coming: null };
  const search: Mutation = putEncoder({ role: 'searched', encoder: configured });
  if (searched === null || (isSame(searched, configured) && !isRecorded)) {
    return decided(serves, [...dropComing, search]);
  }
  if (isSame(searched, configured)) return decided(serves, dropComing);
  if (!hasVectors || replace) {
    // Rows that the other encoder skipped wait for this one.
    return decided(serves, [...dropComing, clearSearched(), search]);
  }
  const planned = { searched, coming: configured };
  const record: Mutation[] = isRecorded ? [] : [putEncoder({ role: 'searched', encoder: searched })];
  if (coming !== null && isSame(coming, configured)) return decided(planned, record);
  return decided(planned, [...record, putEncoder({ role: 'coming', encoder: configured })]);
}

/** Makes the coming encoder the searched one, unless a memory still waits for it. */
export interface SwitchEncoder {
  readonly kind: 'switch-encoder';
  readonly coming: EncoderRef;
}

export interface SwitchEncoderOutcome {
  readonly switched: boolean;
}

function* decideSwitchEncoder(command: SwitchEncoder): Deciding<SwitchEncoderOutcome> {
  const { coming } = yield* encodersInUse();
  if (coming === null || !isSame(coming, command.coming)) return decided({ switched: false }, []);
  if (yield* comingIncomplete()) return decided({ switched: false }, []);
  return decided({ switched: true }, [switchEncoder({ encoder: coming })]);
}

/** Lets memories wait for new vectors, a part of them at a time; they are found by their old ones meanwhile. */
export interface RequeueEmbeddings {
  readonly kind: 'requeue-embeddings';
  readonly afterRid: number;
  readonly namespace: string | null;
  readonly limit: number;
}

export interface RequeueEmbeddingsOutcome {
  readonly count: number;
  /** Where the next part begins; null after the last. */
  readonly nextRid: number | null;
}

function* decideRequeue(command: RequeueEmbeddings): Deciding<RequeueEmbeddingsOutcome> {
  const { rids } = yield* ridsAfter({
    afterRid: command.afterRid,
    namespace: command.namespace,
    limit: command.limit,
  });
  const nextRid = rids.length < command.limit ? null : rids.at(-1)!;
  return decided({ count: rids.length, nextRid }, [requeueEmbeddings({ rids })]);
}

const isSame = (one: EncoderRef, other: EncoderRef) => one.model === other.model && one.dim === other.dim;

export const planEncoderCommand = defineCommand({
  kind: 'plan-encoder',
  decide: decidePlanEncoder,
  gate: 'upkeep',
});

export const switchEncoderCommand = defineCommand({
  kind: 'switch-encoder',
  decide: decideSwitchEncoder,
  gate: 'upkeep',
});

export const requeueEmbeddingsCommand = defineCommand({
  kind: 'requeue-embeddings',
  decide: decideRequeue,
  gate: 'upkeep',
});
