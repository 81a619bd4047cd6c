import type { MemoryId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, type Done, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { changeRows, localRow } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { after, ownOrigin, type Reading, recordsWith } from '../decide/reads.js';
import { dropRecord, putRecord } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { homeId } from '../kinds/home.js';
import type { Kind } from '../kinds/kind.js';
import { NO_REST } from '../kinds/payload.js';
import { ERASED } from '../kinds/version.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { aliasKind } from '../memory/alias-kind.js';
import { erasureKind } from '../memory/erasure-kind.js';
import { otherHome } from '../policies/decide-pending.js';
import { type PendingAction, pendingKind } from '../policies/pending-kind.js';
import { dropUnused } from '../transcripts/blobs.js';
import { type Transcript, transcriptKind } from '../transcripts/transcript-kind.js';
import { type ErasureDone, erasureDoneKind } from './erasure-done-kind.js';
import { dropTraces } from './mutations.js';

/** Takes away what other rows say of erased memories; their own rows are gone. */
export interface ClearErased {
  readonly kind: 'clear-erased';
  readonly ids: readonly MemoryId[];
}

/** The memories that no row here says a text of any more. An action of another node's goes when that node ends it. */
export interface ClearErasedOutcome {
  readonly cleared: readonly MemoryId[];
}

/** Overwrites a part of what was freed. */
export interface WipeFreed {
  readonly kind: 'wipe-freed';
}

/** What `wipe-freed` answers: false asks for another round. */
export interface WipeFreedOutcome {
  readonly done: boolean;
}

/** Notes, and tells the other nodes, that this node has overwritten what it held of memories. */
export interface NoteErasures {
  readonly kind: 'note-erasures';
  readonly ids: readonly MemoryId[];
}

/** Records about one memory that are looked at together. */
const RECORDS_MAX = 1000;

/**
 * Removes the transcripts that the memories were made from, with their texts, the names of entities, and the actions of
 * this home that hold a text. Who the turns were of stays as their digests, so that they are not taken in again.
 */
function* decideClearErased({ ids }: ClearErased): Deciding<ClearErasedOutcome> {
  const mutations: Mutation[] = [];
  const blobs: string[] = [];
  const waiting = new Set<MemoryId>();
  for (const id of ids) {
    for (const row of yield* recordsOf(transcriptKind, id)) {
      mutations.push(dropRecord(transcriptKind, row, ERASED));
      blobs.push((row.image as Transcript).blob_id);
    }
    for (const row of yield* recordsOf(aliasKind, id)) mutations.push(dropRecord(aliasKind, row, ERASED));
    for (const row of yield* recordsOf(pendingKind, id)) {
      if (!saysText(row.image)) continue;
      if ((yield* otherHome(row.id)) !== null) {
        waiting.add(id);
        continue;
      }
      const facts = yield* numbered(row.id, { rest: NO_REST });
      mutations.push({ ...dropRecord(pendingKind, row, ERASED), facts });
    }
  }
  yield* after(mutations);
  const cleared = ids.filter((id) => !waiting.has(id));
  return decided({ cleared }, [...(yield* dropUnused(blobs, ERASED)), dropTraces({ ids })]);
}

function* recordsOf<I extends object>(kind: Kind<I>, id: MemoryId): Reading<readonly Row<I>[]> {
  const asked = { kind: kind.name, member: 'memory_id', value: id, limit: RECORDS_MAX };
  return (yield* recordsWith(asked)) as readonly Row<I>[];
}

/** An action that only removes says no text. */
const saysText = ({ command, becomes }: PendingAction): boolean =>
  becomes.length > 0 || command['kind'] !== 'delete-memory';

function* decideNoteErasures({ ids }: NoteErasures, { now }: DecisionContext): Deciding<Done> {
  const peer_id = peerOfOrigin((yield* ownOrigin()).origin);
  const mutations: Mutation[] = [];
  for (const memory_id of ids) {
    const erasure = yield* localRow(erasureKind, { memory_id });
    if (erasure === null || erasure.finished_at !== null) continue;
    mutations.push(changeRows(erasureKind, { memory_id }, { finished_at: now }));
    if (erasure.outside === 1) continue;
    const { namespace } = erasure;
    const done: ErasureDone = { memory_id, peer_id, namespace, done_at: now, rest: NO_REST };
    const place = { id: homeId(peer_id, memory_id), namespace };
    mutations.push(yield* putRecord(erasureDoneKind, place, done));
  }
  return decided({}, mutations);
}

export const clearErasedCommand = defineCommand({
  kind: 'clear-erased',
  decide: decideClearErased,
  gate: 'upkeep',
});

/** The writer does it behind its transaction, and answers for it. */
export const wipeFreedCommand = defineCommand({
  kind: 'wipe-freed',
  // biome-ignore lint/correctness/useYield: it reads nothing
  decide: function* (_command: WipeFreed): Deciding<WipeFreedOutcome> {
    return decided({ done: false }, []);
  },
  gate: 'upkeep',
});

export const noteErasuresCommand = defineCommand({
  kind: 'note-erasures',
  decide: decideNoteErasures,
  gate: 'upkeep',
});
