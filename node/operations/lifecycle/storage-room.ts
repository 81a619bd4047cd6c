import { z } from 'zod';
import { roomState, unusedSince } from '../../../actors/maintenance/room.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { ROOM_STEPS } from '../../../protocol/replication/make-room.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

/** What the database takes of its limit, what would go first, and what went last; for operators (docs/room.md). */
export const storageRoom = defineOperation({
  name: 'storage_room',
  family: 'lifecycle',
  summary: 'Show what the database takes of its limit, and which memories go first.',
  input: z.object({}),
  output: z.object({
    state: z.enum(['no limit', 'enough', 'low', 'full']),
    max_bytes: z.int().nullable(),
    used_bytes: z.int().nullable().describe('Without free pages; null on a server'),
    file_bytes: z.int(),
    plan: z.array(
      z.object({
        step: z.enum(ROOM_STEPS),
        memories: z
          .int()
          .describe(
            'That this step could remove; for history, superseded texts of the oldest 100,000 operations',
          ),
        bytes: z.int().describe('Of their texts'),
      }),
    ),
    last: z
      .object({ at: z.string(), facts: z.record(z.string(), z.unknown()) })
      .nullable()
      .describe('What went when room was made last'),
    ...fields.listEnd,
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/room', fields: 'query' }],
  mcp: { description: 'Show how full the database is and which memories would go first.' },
  cli: { command: 'room', view: 'object' },
  run: async ({ services: { store, settings }, now }) => {
    const asked = await store.query({ kind: 'plan-room', unusedSince: unusedSince(now), now });
    if (!asked.ok) return failed(asked.error);
    const notes = await store.query({ kind: 'integrity-notes' });
    if (!notes.ok) return failed(notes.error);
    const { used_bytes, file_bytes, steps } = asked.value;
    const max = settings.storageMaxBytes;
    return ok({
      state: max === null || used_bytes === null ? ('no limit' as const) : roomState(used_bytes, max),
      max_bytes: max,
      used_bytes,
      file_bytes,
      plan: [...steps],
      last: notes.value.room ?? null,
    });
  },
});
