import type { Instant, SubjectId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { after } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { isExpired } from '../memory/access.js';
import { memoryById } from '../memory/reads.js';
import { dropUnused } from './blobs.js';
import { offloadKind } from './offload-kind.js';
import { transcriptKind } from './transcript-kind.js';

/** Archives transcripts whose time is over and of which no memory is left, and removes those that were archived long ago. */
export interface SweepTranscripts {
  readonly kind: 'sweep-transcripts';
  readonly transcripts: readonly {
    readonly id: SubjectId;
    /** One that was archived before this is removed. */
    readonly archivedBefore: Instant;
  }[];
}

/** Removes contents that were put aside and whose time is over. */
export interface SweepOffloads {
  readonly kind: 'sweep-offloads';
  readonly ids: readonly SubjectId[];
}

export interface SweepOutcome {
  readonly archived: number;
  readonly dropped: number;
}

/** A transcript whose memory is there again comes back from the archive. */
function* decideSweepTranscripts(
  { transcripts }: SweepTranscripts,
  { now }: DecisionContext,
): Deciding<SweepOutcome> {
  const [changed, dropped, blobs]: [Mutation[], Mutation[], string[]] = [[], [], []];
  for (const { id, archivedBefore } of transcripts) {
    const row = yield* recordRow(transcriptKind, id);
    if (row === null || row.image.expires_at > now) continue;
    const { memory_id, archived_at, blob_id } = row.image;
    const memory = yield* memoryById(memory_id);
    const told = memory !== null && !isExpired(memory, now);
    if (!told && archived_at !== null && archived_at <= archivedBefore) {
      dropped.push(dropRecord(transcriptKind, row, 'expired'));
      blobs.push(blob_id);
    } else if (told === (archived_at !== null)) {
      changed.push(yield* putRecord(transcriptKind, row, { ...row.image, archived_at: told ? null : now }));
    }
  }
  yield* after(dropped);
  return decided({ archived: changed.length, dropped: dropped.length }, [
    ...changed,
    ...(yield* dropUnused(blobs)),
  ]);
}

function* decideSweepOffloads({ ids }: SweepOffloads, { now }: DecisionContext): Deciding<SweepOutcome> {
  const [dropped, blobs]: [Mutation[], string[]] = [[], []];
  for (const id of ids) {
    const row = yield* recordRow(offloadKind, id);
    const until = row?.image.expires_at ?? null;
    if (row === null || until === null || until > now) continue;
    dropped.push(dropRecord(offloadKind, row, 'expired'));
    blobs.push(row.image.blob_id);
  }
  yield* after(dropped);
  return decided({ archived: 0, dropped: dropped.length }, yield* dropUnused(blobs));
}

export const sweepTranscriptsCommand = defineCommand({
  kind: 'sweep-transcripts',
  decide: decideSweepTranscripts,
  gate: 'upkeep',
});

export const sweepOffloadsCommand = defineCommand({
  kind: 'sweep-offloads',
  decide: decideSweepOffloads,
  gate: 'upkeep',
});
