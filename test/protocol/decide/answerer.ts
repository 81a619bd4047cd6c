import assert from 'node:assert/strict';
import type { Result } from '../../../protocol/base/result.js';
import type { VersionVector } from '../../../protocol/base/version-vector.js';
import { CHAIN, type Chain, decide } from '../../../protocol/chain.js';
import type { Decision, DecisionContext } from '../../../protocol/decide/deciding.js';
import { handles, ReadHandlers } from '../../../protocol/decide/handlers.js';
import { lastNumberOf, localRowCount, localRowsOf } from '../../../protocol/decide/local-rows.js';
import type {
  DeclaredMutation,
  LocalMutation,
  Mutation,
  Remove,
  Write,
} from '../../../protocol/decide/mutations.js';
import type { ReadRequest } from '../../../protocol/decide/reads.js';
import { ownOrigin, recordsWith, subjectRow, tombstoneOf } from '../../../protocol/decide/reads.js';
import type { DatabaseOwner, Row } from '../../../protocol/decide/rows.js';
import { leadsBack, sourcesOf } from '../../../protocol/graph/reads.js';
import { boundKeyOf, quotaUseOf, usedEnvelope, writtenBytes } from '../../../protocol/identity/reads.js';
import type { Where } from '../../../protocol/kinds/find.js';
import type { Kind, Subject } from '../../../protocol/kinds/kind.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import type { Encoders } from '../../../protocol/maintenance/encoder-ref.js';
import {
  comingIncomplete,
  databaseOwner,
  encodersInUse,
  ridsAfter,
  waitingTexts,
} from '../../../protocol/maintenance/reads.js';
import type { ArchivedRow } from '../../../protocol/memory/archived-memory.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import type { LastEdit } from '../../../protocol/memory/reads.js';
import {
  archivedMemory,
  expiredMemories,
  forgettableMemories,
  lastEditOf,
  memoryLife,
  memoryRead,
  purgeableMemories,
  titleExpiryOf,
  titleRead,
} from '../../../protocol/memory/reads.js';
import type { Standard } from '../../../protocol/memory/standard-kind.js';
import { holdsOthers, standardsOf } from '../../../protocol/namespaces/reads.js';
import type { Command, OutcomeOf } from '../../../protocol/release.js';
import { KINDS } from '../../../protocol/release.js';
import { TRUST_ALL } from '../../../protocol/rules/rules.js';
import { type Subscription, subscriptionKind } from '../../../protocol/webhooks/subscription.js';
import { aMemory, UNLIMITED } from '../../support/memories.js';

export const NOW = '2026-07-28T12:00:00.000Z';
export const NOW_MS = Date.parse(NOW);

/** The instant that lies `seconds` after NOW. */
export const at = (seconds: number) => new Date(NOW_MS + seconds * 1000).toISOString();

/** A row as an engine would hand it out. */
export const aRow = (fields: Partial<MemoryRow> = {}): MemoryRow => ({
  rid: 1,
  life_at: null,
  ...aMemory(),
  ...fields,
});

/** The node that decides. */
export const SELF = 'peer-00000000000000aa';
export const SELF_ORIGIN = `${SELF}/epoch1`;

/** A row of a kind. */
export type KindRow = Row & { readonly kind: string };

/** The row of a subject that this node wrote last, and that has seen nothing else. */
export function aKindRow<I extends object>(
  kind: Kind<I>,
  image: I,
  fields: Partial<Row<I>> = {},
): KindRow & Row<I> {
  const id = kind.idOf(image) ?? '';
  const stamp = {
    hlc: '1785240000000-00000',
    origin: SELF_ORIGIN,
    origin_seq: 1,
    seen: { [SELF_ORIGIN]: 1 },
  };
  return { kind: kind.name, id, namespace: 'global', image, stamp, ...fields };
}

const memberOf = (image: object, member: string): unknown => (image as Record<string, unknown>)[member];

/** What a decision came to. */
export interface Outcome<T> {
  readonly result: Result<Decision<T>>;
  readonly reads: readonly ReadRequest[];
}

/** What the engine holds while a decision is taken. */
export interface Held {
  readonly rows?: readonly MemoryRow[];
  readonly owner?: DatabaseOwner | null;
  readonly encoders?: Encoders;
  readonly comingIncomplete?: boolean;
  readonly nowMs?: number;
  readonly archived?: readonly ArchivedRow[];
  readonly lastEdit?: LastEdit | null;
  /** Rows of other kinds than memories. */
  readonly subjects?: readonly KindRow[];
  /** What removed subjects had seen. */
  readonly tombstones?: readonly (Subject & { readonly seen: VersionVector; readonly word?: string })[];
  readonly kinds?: Kinds;
  readonly subscriptions?: readonly Subscription[];
}

const contextOf = ({ nowMs = NOW_MS, kinds = KINDS }: Held): DecisionContext => ({
  nowMs,
  now: new Date(nowMs).toISOString(),
  policy: UNLIMITED,
  kinds,
  ruleTrust: TRUST_ALL,
});

/** The chain without its policy, which has tests of its own (test/protocol/governance). */
/** The chain with a policy that allows every command. */
export const UNGOVERNED: Chain = {
  ...CHAIN,
  // biome-ignore lint/correctness/useYield: a policy may read; this one reads nothing.
  *policy() {
    return null;
  },
};

/** Drives the decision of a command over rows in memory; nothing is applied. */
export function decideOver<C extends Command>(
  command: C,
  rows: readonly MemoryRow[] = [],
  options: Omit<Held, 'rows'> = {},
): Outcome<OutcomeOf<C>> {
  const { value, reads } = driven((context) => decide(command, context, UNGOVERNED), { ...options, rows });
  return { result: value as Result<Decision<OutcomeOf<C>>>, reads };
}

/** Drives anything that reads over rows in memory; nothing is applied. */
export function driven<T>(
  begin: (context: DecisionContext) => Generator<ReadRequest, T, never>,
  held: Held,
): { readonly value: T; readonly reads: readonly ReadRequest[] } {
  const reads: ReadRequest[] = [];
  const before = JSON.stringify({ ...held, kinds: null });
  const deciding = begin(contextOf(held)) as Generator<ReadRequest, T, unknown>;
  const [answers, context] = [answersOver(held), contextOf(held)];
  let step = deciding.next();
  while (!step.done) {
    // Every change asks for them; tests of events look at what comes of it.
    if (step.value.read !== localRowCount.read) reads.push(step.value);
    step = deciding.next(answers.answer(step.value, context));
  }
  assert.equal(JSON.stringify({ ...held, kinds: null }), before, 'a decision is pure');
  return { value: step.value, reads };
}

function answersOver(held: Held): ReadHandlers {
  const { rows = [], subjects = [], archived = [] } = held;
  return new ReadHandlers([
    handles(memoryRead, (request) => rows.find((row) => row.id === request.id) ?? null),
    handles(memoryLife, (request) => rows.find((row) => row.id === request.id) ?? null),
    handles(
      titleRead,
      (request) =>
        rows.find((row) => row.title === request.title && row.namespace === request.namespace) ?? null,
    ),
    handles(
      titleExpiryOf,
      (request) =>
        rows.find((row) => row.title === request.title && row.namespace === request.namespace) ?? null,
    ),
    handles(expiredMemories, (request) =>
      rows
        .filter((row) => row.expires_at !== null && row.expires_at <= request.before)
        .slice(0, request.limit),
    ),
    handles(waitingTexts, () => null),
    handles(databaseOwner, () => held.owner ?? null),
    handles(encodersInUse, () => held.encoders ?? { searched: null, coming: null, hasVectors: false }),
    handles(comingIncomplete, () => held.comingIncomplete ?? false),
    handles(ridsAfter, (request) => ({
      rids: rows
        .map(({ rid }) => rid)
        .filter((rid) => rid > request.afterRid)
        .slice(0, request.limit),
    })),
    // Nothing is used yet: the real engines' tests have quotas and envelopes.
    handles(writtenBytes, () => 0),
    handles(quotaUseOf, () => null),
    handles(usedEnvelope, () => null),
    handles(boundKeyOf, () => null),
    handles(archivedMemory, (request) => archived.find((row) => row.memory.id === request.id) ?? null),
    handles(purgeableMemories, (request) =>
      archived
        .filter((row) => row.archivedAt <= request.before)
        .map(({ memory, archivedAt, seen }) => ({
          id: memory.id,
          namespace: memory.namespace,
          archivedAt,
          seen,
        }))
        .slice(0, request.limit),
    ),
    handles(forgettableMemories, (request) => rows.slice(0, request.limit)),
    handles(lastEditOf, () => held.lastEdit ?? null),
    handles(ownOrigin, () => ({ origin: SELF_ORIGIN, seq: 0 })),
    handles(
      subjectRow,
      (request) => subjects.find(({ kind, id }) => kind === request.kind && id === request.id) ?? null,
    ),
    handles(recordsWith, (request) =>
      subjects
        .filter(
          ({ kind, image }) => kind === request.kind && memberOf(image, request.member) === request.value,
        )
        .slice(0, request.limit),
    ),
    handles(holdsOthers, () => false),
    handles(standardsOf, (request) =>
      subjects
        .filter(({ kind, id }) => kind === 'standard' && request.namespaces.includes(id))
        .map(({ image }) => image as Standard),
    ),
    handles(localRowsOf, ({ of, where, limit }) => localRowsHeld(held, of, where).slice(0, limit)),
    handles(localRowCount, ({ of, where }) => localRowsHeld(held, of, where).length),
    handles(lastNumberOf, () => 0),
    // No links lead anywhere: the real engine's tests have cycles.
    handles(leadsBack, () => 'no'),
    handles(sourcesOf, () => []),
    handles(tombstoneOf, (subject) => {
      const found = held.tombstones?.find(({ kind, id }) => kind === subject.kind && id === subject.id);
      return found === undefined
        ? null
        : { seen: found.seen, deleted_at: NOW, word: found.word ?? 'delete', namespace: 'global' };
    }),
  ]);
}

/** The mutations and value of a decision that must have been taken. */
export function taken<T>({ result }: Outcome<T>): { value: T; mutations: readonly Mutation[] } {
  assert.ok(result.ok, result.ok ? '' : `${result.error.code}: ${result.error.message}`);
  const { value, mutations } = result.value;
  // What a quota is charged with has tests of its own.
  return { value, mutations: mutations.filter(({ mutation }) => mutation !== 'charge-quota') };
}

/** The failure of a decision that must have been refused. */
export function refused<T>({ result }: Outcome<T>) {
  assert.ok(!result.ok, 'the command was not refused');
  return result.error;
}

/** The only mutation of a decision, which must be of a kind. */
export function onlyMutation<K extends Mutation['mutation']>(
  outcome: Outcome<unknown>,
  kind: K,
): Extract<Mutation, { mutation: K }> {
  const { mutations } = taken(outcome);
  assert.deepEqual(
    mutations.map((mutation) => mutation.mutation),
    [kind],
  );
  return mutations[0] as Extract<Mutation, { mutation: K }>;
}

/** The only mutation of a decision, which must be of a declaration. */
export function onlyLocal<Members>(
  outcome: Outcome<unknown>,
  declared: DeclaredMutation<Members>,
): LocalMutation & Members {
  return onlyMutation(outcome, declared.mutation) as LocalMutation & Members;
}

/** The only mutation of a decision, which must insert a memory. */
export function inserted(outcome: Outcome<unknown>): Write<Memory> {
  const write = onlyMutation(outcome, 'write');
  assert.deepEqual([write.kind, write.before], ['memory', null]);
  return write as Write<Memory>;
}

/** The only mutation of a decision, which must replace the row of a memory. */
export function replaced(outcome: Outcome<unknown>): Write<Memory> {
  const write = onlyMutation(outcome, 'write');
  assert.equal(write.kind, 'memory');
  assert.notEqual(write.before, null);
  return write as Write<Memory>;
}

/** The mutation that stores a memory which was never there. */
export const storeOf = (memory: Memory): Write<Memory> => ({
  mutation: 'write',
  kind: 'memory',
  word: 'store',
  id: memory.id,
  namespace: memory.namespace,
  seen: memory.seen,
  before: null,
  image: memory,
});

/** The mutation that removes a row. */
export const removalOf = (
  row: MemoryRow,
  { word, reason, archive }: { readonly word: string; readonly reason: string; readonly archive: boolean },
): Remove<MemoryRow> => ({
  mutation: 'remove',
  kind: 'memory',
  word,
  id: row.id,
  namespace: row.namespace,
  seen: row.seen,
  before: row,
  reason,
  facts: { title: row.title, expires_at: row.expires_at, version: row.version, rest: {} },
  keepCopy: archive,
});

/** The fields in which two memories differ. */
export function changedFields(before: Memory, after: Memory): string[] {
  return Object.keys({ ...before, ...after })
    .filter((key) => {
      const [a, b] = [before, after].map((memory) => JSON.stringify(memory[key as keyof Memory]));
      return a !== b;
    })
    .sort();
}

/** The subscriptions that the engine holds, which are its only local rows. */
function localRowsHeld({ subscriptions = [] }: Held, of: string, where: Where = {}): readonly object[] {
  if (of !== subscriptionKind.name) return [];
  return subscriptions.filter((row) =>
    Object.entries(where).every(([member, value]) => memberOf(row, member) === value),
  );
}
