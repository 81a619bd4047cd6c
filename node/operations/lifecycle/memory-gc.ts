import { z } from 'zod';
import { dropReceipts } from '../../../actors/maintenance/drop-receipts.js';
import { makeRoom } from '../../../actors/maintenance/room.js';
import { unpinRemoved } from '../../../actors/maintenance/unpin-removed.js';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { defineOperation } from '../../pipeline/operation.js';
import { inBatches } from '../shared/in-batches.js';

const expiredOutput = z.object({ expired_deleted: z.int() });
const expired = ({ expired_deleted }: Record<string, unknown>) => ({ expired_deleted });

/** Removes expired memories now instead of at the next round (interface §3, §4.4, POST /gc). */
export const memoryGc = defineOperation({
  name: 'memory_gc',
  family: 'lifecycle',
  summary: 'Remove expired memories now.',
  input: z.object({ dry_run: z.boolean().default(false).describe('Only count') }),
  output: z.object({ expired_deleted: z.int(), dry_run: z.boolean() }),
  effect: 'write',
  overwrites: true,
  guards: { admin: true, attestation: 'by-name' },
  http: [
    { method: 'POST', path: '/gc', fields: 'body', omit: ['dry_run'], shape: expired, output: expiredOutput },
  ],
  mcp: {
    description: 'Clean up: remove memories that have expired now, instead of waiting for it.',
    // The reference's name for it on this surface (reference-mcp-cli §1.2).
    shape: ({ expired_deleted, dry_run }) => ({ collected: expired_deleted, dry_run }),
    output: z.object({ collected: z.int(), dry_run: z.boolean() }),
  },
  cli: {
    command: 'gc',
    omit: ['dry_run'],
    shape: expired,
    view: 'message',
    progress: 'expired memories:',
    message: (output) => `expired: ${output['expired_deleted']}`,
  },
  run: async (call, input) => {
    const { store, settings } = call.services;
    if (input.dry_run) {
      const counted = await store.query({ kind: 'count-expired', now: call.now });
      return counted.ok ? ok({ expired_deleted: counted.value.count, dry_run: true }) : failed(counted.error);
    }
    const removed = await inBatches(
      async () => {
        const result = await store.execute({
          kind: 'expire-memories',
          limit: limits.GC_BATCH_MAX,
          archive: settings.archiveOnGc,
        });
        return result.ok ? ok({ done: result.value.expired, more: result.value.more }) : failed(result.error);
      },
      (done) => call.progress(done, null),
    );
    if (!removed.ok) return failed(removed.error);
    const unpinned = await unpinRemoved(store);
    if (!unpinned.ok) return failed(unpinned.error);
    const dropped = await dropReceipts(store);
    if (!dropped.ok) return failed(dropped.error);
    // Where no process owns the database, nothing else makes room in it.
    const made =
      settings.storageMaxBytes === null
        ? ok(null)
        : await makeRoom(store, settings.storageMaxBytes, call.services.clock.nowMs());
    if (!made.ok) return failed(made.error);
    return ok({ expired_deleted: removed.value, dry_run: false });
  },
});
