import { z } from 'zod';
import { MARK_READ_BATCH_MAX, MARK_READ_IDS_MAX } from '../../protocol/messages/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { Call } from '../pipeline/call.js';
import * as fields from '../pipeline/fields.js';
import { defineOperation } from '../pipeline/operation.js';
import { inboxAgent } from './mail-caller.js';
import { resolveId } from './resolve-id.js';

/** Marks messages of the caller's inbox as read (POST /inbox/read). Nothing else marks them. */
export const memoryInboxRead = defineOperation({
  name: 'memory_inbox_read',
  family: 'power',
  summary: 'Mark messages of the own inbox as read.',
  core: false,
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
  guards: { attestation: 'by-name' },
  repeatable: () => true,
  http: [{ method: 'POST', path: '/inbox/read', fields: 'body' }],
  mcp: { description: 'Mark messages as read' },
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
  let marked = 0;
  for (let at = 0; at < known.length; at += MARK_READ_BATCH_MAX) {
    const done = await mark(call, agentId, known.slice(at, at + MARK_READ_BATCH_MAX));
    if (!done.ok) return failed(done.error);
    marked += done.value.marked.length;
    missing.push(...done.value.missing);
  }
  return missing.length === new Set(given).size
    ? fail('NOT_FOUND', 'no such message in this inbox')
    : ok({ marked, missing });
}

/** Marks page by page. A message that comes meanwhile may be marked too. */
async function markAll(call: Call, agentId: string): Promise<Result<Marked>> {
  for (let marked = 0; ; ) {
    const query = { kind: 'list-inbox', agentId, unreadOnly: true, limit: MARK_READ_BATCH_MAX } as const;
    const found = await call.services.store.query({ ...query, now: call.now });
    if (!found.ok) return failed(found.error);
    const ids = found.value.messages.map(({ id }) => id);
    const done = await mark(call, agentId, ids);
    if (!done.ok) return failed(done.error);
    marked += done.value.marked.length;
    if (done.value.marked.length === 0) return ok({ marked, missing: [] });
  }
}

const mark = (call: Call, reader: string, ids: readonly string[]) =>
  call.services.store.execute({ kind: 'mark-read', ids, reader, viewer: call.caller.viewer });
