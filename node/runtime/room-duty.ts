import { makeRoom, type RoomState, roomState } from '../../actors/maintenance/room.js';
import { ROOM_INTERVAL_MS, ROOM_REST, ROOM_REST_MS } from '../../protocol/replication/room-limits.js';
import type { Duty } from './duty.js';

/** Keeps the embedded database below `[storage] max_bytes`: warns before, removes what goes first, and says what went. */
export const room: Duty = {
  ...{ name: 'room', every: ROOM_INTERVAL_MS, needs: ['clock'], wokenBy: ['log'] },
  run: ({ store, settings: { storageMaxBytes: maxBytes }, clock, log }) => {
    let said: RoomState = 'enough';
    let restsUntilMs = Number.NEGATIVE_INFINITY;
    return async () => {
      if (maxBytes === null) return null;
      const beganMs = clock.monotonicMs();
      if (beganMs < restsUntilMs) return { afterMs: restsUntilMs - beganMs };
      const made = await makeRoom(store, maxBytes, clock.nowMs());
      if (!made.ok) return { afterMs: ROOM_REST_MS };
      const asked = await store.query({ kind: 'used-room' });
      const used = asked.ok ? (asked.value.used_bytes ?? 0) : 0;
      const state = roomState(used, maxBytes);
      const report = made.value;
      const went = report === null ? 0 : Object.values(report.removed).reduce((sum, count) => sum + count, 0);
      if (report !== null && went > 0) log.warn({ ...report }, 'memories went to make room in the database');
      if (state !== said && state !== 'enough') {
        const facts = {
          code: state === 'full' ? 'ROOM_FULL' : 'ROOM_LOW',
          used_bytes: used,
          max_bytes: maxBytes,
        };
        log.warn(
          facts,
          state === 'full' ? 'the database is full: stores are refused' : 'the database is nearly full',
        );
      }
      said = state;
      // A search for what may go reads the database.
      const nowMs = clock.monotonicMs();
      const restMs = Math.max(ROOM_REST_MS, (nowMs - beganMs) * ROOM_REST);
      restsUntilMs = nowMs + restMs;
      return { afterMs: state === 'enough' ? ROOM_INTERVAL_MS : restMs };
    };
  },
};
