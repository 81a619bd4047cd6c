import { formatHlc } from '../../protocol/base/hlc.js';
import type { Instant } from '../../protocol/base/meanings.js';
import { ok, type Result } from '../../protocol/base/result.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import { ROOM_STEPS, type RoomStep } from '../../protocol/replication/make-room.js';
import {
  ROOM_BATCH_MAX,
  ROOM_MAKE_SHARE,
  ROOM_UNTIL_SHARE,
  ROOM_UNUSED_DAYS,
  ROOM_WARN_SHARE,
} from '../../protocol/replication/room-limits.js';
import type { Store } from '../../storage/port.js';

const DAY_SECONDS = 86_400;
const HISTORY_PAGE = 500;

/** How near a database is to its limit. `full`: stores are refused. */
export type RoomState = 'enough' | 'low' | 'full';

/** What went to make room. */
export interface RoomReport {
  readonly removed: Readonly<Partial<Record<RoomStep, number>>>;
  readonly used_bytes_before: number;
  readonly used_bytes_after: number;
  readonly max_bytes: number;
}

/** The state of a database with so many bytes in use. */
export function roomState(usedBytes: number, maxBytes: number): RoomState {
  if (usedBytes >= maxBytes) return 'full';
  return usedBytes >= maxBytes * ROOM_WARN_SHARE ? 'low' : 'enough';
}

/** A memory is unused when nobody has changed or read it since this instant. */
export const unusedSince = (now: Instant): Instant => instantAfter(now, -ROOM_UNUSED_DAYS * DAY_SECONDS);

/**
 * Removes what goes first, step by step, until the database is below its limit again; null when it is not near it. Each
 * batch is a transaction. The audit chain records the batches that remove memories.
 */
export async function makeRoom(
  store: Store,
  maxBytes: number,
  nowMs: number,
): Promise<Result<RoomReport | null>> {
  const look = async () => {
    const asked = await store.query({ kind: 'used-room' });
    return asked.ok ? ok({ used: asked.value.used_bytes ?? 0, alone: asked.value.alone }) : asked;
  };
  const before = await look();
  if (!before.ok) return before;
  if (before.value.used < maxBytes * ROOM_MAKE_SHARE) return ok(null);
  const removed: Partial<Record<RoomStep, number>> = {};
  let after = before.value.used;
  for (const step of ROOM_STEPS) {
    if (step === 'history' && !before.value.alone) continue;
    let from: number | null = 0;
    while (from !== null && after >= maxBytes * ROOM_UNTIL_SHARE) {
      const batch: Batch =
        step === 'history' ? await dropHistory(store, from, nowMs) : await removeSome(store, step, nowMs);
      if (!batch.ok) return batch;
      removed[step] = (removed[step] ?? 0) + batch.value.removed;
      from = batch.value.next;
      const now = await look();
      if (!now.ok) return now;
      after = now.value.used;
    }
  }
  const report = {
    removed,
    used_bytes_before: before.value.used,
    used_bytes_after: after,
    max_bytes: maxBytes,
  };
  if (Object.values(removed).some((count) => count > 0)) {
    const noted = await store.execute(
      { kind: 'note-integrity', name: 'room', facts: report, audit: null },
      { lane: 'background' },
    );
    if (!noted.ok) return noted;
  }
  return ok(report);
}

/** What a batch removed, and where the next one begins; null when the step has no more. */
type Batch = Result<{ readonly removed: number; readonly next: number | null }>;

const LANE = { lane: 'background' } as const;

async function removeSome(store: Store, step: Exclude<RoomStep, 'history'>, nowMs: number): Promise<Batch> {
  const since = unusedSince(instantFromMs(nowMs));
  const done = await store.execute(
    { kind: 'make-room', step, unusedSince: since, limit: ROOM_BATCH_MAX },
    LANE,
  );
  return done.ok ? ok({ removed: done.value.removed, next: done.value.more ? 0 : null }) : done;
}

async function dropHistory(store: Store, after: number, nowMs: number): Promise<Batch> {
  const before = formatHlc(nowMs, 0);
  const found = await store.query(
    { kind: 'superseded-payloads', before, everyoneHas: null, after, limit: HISTORY_PAGE },
    LANE,
  );
  if (!found.ok) return found;
  const { places, next } = found.value;
  if (places.length > 0) {
    const dropped = await store.execute({ kind: 'drop-payloads', places }, LANE);
    if (!dropped.ok) return dropped;
  }
  return ok({ removed: places.length, next });
}
