import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { FindValue } from '../../protocol/kinds/find.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import {
  OFFLOAD_SWEEP_MS,
  SWEEP_PAUSE_MS,
  SWEEP_ROWS_MAX,
  TRANSCRIPT_SWEEP_MS,
} from '../../protocol/transcripts/limits.js';
import { offloadId, offloadKind } from '../../protocol/transcripts/offload-kind.js';
import { transcriptId, transcriptKind } from '../../protocol/transcripts/transcript-kind.js';
import { transcriptLife } from '../config/transcript-life.js';
import type { Duty } from './duty.js';

/** Due rows by the end of their time; `after` is the end of the page before. */
const dueRows = (now: string, after: readonly FindValue[] | null) => ({
  ...({ kind: 'find-records', viewer: null, now, limit: SWEEP_ROWS_MAX, skipDamaged: true } as const),
  ...{ where: { expires_at: { to: now } }, order: { by: 'expires_at' } },
  ...(after === null ? {} : { after }),
});

/**
 * Walks through the transcripts whose time is over, once a day. The node that captured a transcript sweeps it; the others
 * do so when it is overdue by its grace, since that node may be gone.
 */
export const sweepTranscripts: Duty = {
  ...{ name: 'transcripts', every: TRANSCRIPT_SWEEP_MS, first: 60_000, needs: ['clock'] },
  run: ({ store, settings, clock, peerId }) => {
    let after: readonly FindValue[] | null = null;
    return async () => {
      const now = instantFromMs(clock.nowMs());
      const found = await store.query({ ...dueRows(now, after), of: transcriptKind.name });
      if (!found.ok) return null;
      const transcripts = rowsOf(transcriptKind, found.value).flatMap((row) => {
        const archivedBefore = instantAfter(now, -transcriptLife(settings, row.namespace).graceSeconds);
        const mine = row.captured_by === peerId || row.expires_at <= archivedBefore;
        return mine ? [{ id: transcriptId(row), archivedBefore }] : [];
      });
      if (transcripts.length > 0)
        await store.execute({ kind: 'sweep-transcripts', transcripts }, { lane: 'background' });
      after = found.value.next;
      return after === null ? null : { afterMs: SWEEP_PAUSE_MS };
    };
  },
};

/** Removes contents that were put aside and whose time is over. */
export const sweepOffloads: Duty = {
  ...{ name: 'offloads', every: OFFLOAD_SWEEP_MS, first: 60_000, needs: ['clock'] },
  run: ({ store, clock }) => {
    let after: readonly FindValue[] | null = null;
    return async () => {
      const now = instantFromMs(clock.nowMs());
      const found = await store.query({ ...dueRows(now, after), of: offloadKind.name });
      if (!found.ok) return null;
      const ids = rowsOf(offloadKind, found.value).map((row) => offloadId(row.ref_id, row.agent_id));
      if (ids.length > 0) await store.execute({ kind: 'sweep-offloads', ids }, { lane: 'background' });
      after = found.value.next;
      return after === null ? null : { afterMs: SWEEP_PAUSE_MS };
    };
  },
};
