import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { MARK_READ_BATCH_MAX, MARK_READ_IDS_MAX, UNREAD_IDS_MAX } from '../../../protocol/messages/limits.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { inboxAgent } from '../shared/mail-caller.js';
import { resolveId } from '../shared/resolve-id.js';

/** Marks messages of the caller's inbox as read (POST /inbox/read). Nothing else marks them. */
export const memoryInboxRead = defineOperation({
  name: 'memory_inbox_read',
  family: 'power',
  summary: 'Mark messages of the own inbox as read.',
  input: z.object({
    ids: z
      .array(fields.memoryId)
      .max(MARK_READ_IDS_MAX)
      .describe(`Messages to mark, at most ${MARK_READ_IDS_MAX}`)
      .optional(),
    all: z.boolean().default(false).describe('Mark every message that is unread now, instead of ids'),
  }),
  output: z.object({
    agent_id: z.string(),
    marked: z.int().describe('Messages that were unread before'),
    missing: z.array(z.string()).optional().describe('Ids that name no message of the inbox'),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  repeatable: true,
  http: [{ method: 'POST', path: '/inbox/read', fields: 'body' }],
  mcp: { description: 'Mark messages of your inbox as read.' },
  cli: {
    command: 'inbox-read',
    view: 'message',
    message: ({ marked, agent_id }) => `marked as read: ${marked} of ${agent_id}`,
    examples: ['inbox-read --ids 3f2a,77b0', 'inbox-read --all --agent-id ai:reviewer'],
  },
  run: async (call, { ids = [], all }) => {
    const agent = inboxAgent(call);
    if (!agent.ok) return failed(agent.error);
    if (all === ids.length > 0) {
      return fail('VALIDATION_FAILED', 'name messages in ids, or mark all of them with all', {
        fields: ['ids', 'all'],
      });
    }
    const done = all ? await markAll(call, agent.value) : await markNamed(call, agent.value, ids);
    if (!done.ok) return failed(done.error);
    const { marked, missing } = done.value;
    return ok({
      agent_id: agent.value,
      marked,
      ...(missing.length === 0 ? {} : { missing: [...missing] }),
    });
  },
});

interface Marked {
  readonly marked: number;
  readonly missing: readonly string[];
}

/** NOT_FOUND when no id names a message of the inbox. */
async function markNamed(call: Call, agentId: string, given: readonly string[]): Promise<Result<Marked>> {
  const known: string[] = [];
  const missing: string[] = [];
  for (const prefix of new Set(given)) {
    const id = await resolveId(call, prefix);
    if (id.ok) known.push(id.value);
    else if (id.error.code === 'NOT_FOUND') missing.push(prefix);
    else return failed(id.error);
  }
  const done = await markBatches(call, agentId, known);
  if (!done.ok) return failed(done.error);
  const { marked } = done.value;
  missing.push(...done.value.missing);
  return missing.length === new Set(given).size
    ? fail('NOT_FOUND', 'no such message in this inbox')
    : ok({ marked, missing });
}

/** Marks what is unread. A message that comes meanwhile may be marked too. */
async function markAll(call: Call, agentId: string): Promise<Result<Marked>> {
  for (let marked = 0; ; ) {
    const query = { kind: 'unread-messages', agentId, limit: UNREAD_IDS_MAX, now: call.now } as const;
    const found = await call.services.store.query(query);
    if (!found.ok) return failed(found.error);
    const done = await markBatches(call, agentId, found.value.ids);
    if (!done.ok) return failed(done.error);
    marked += done.value.marked;
    if (found.value.ids.length < UNREAD_IDS_MAX || done.value.marked === 0)
      return ok({ marked, missing: [] });
  }
}

async function markBatches(call: Call, reader: string, ids: readonly string[]): Promise<Result<Marked>> {
  const { viewer } = call.caller;
  let marked = 0;
  const missing: string[] = [];
  for (let at = 0; at < ids.length; at += MARK_READ_BATCH_MAX) {
    const batch = ids.slice(at, at + MARK_READ_BATCH_MAX);
    const done = await call.services.store.execute({ kind: 'mark-read', ids: batch, reader, viewer });
    if (!done.ok) return failed(done.error);
    marked += done.value.marked.length;
    missing.push(...done.value.missing);
  }
  return ok({ marked, missing });
}
