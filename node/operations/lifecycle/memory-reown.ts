import { z } from 'zod';
import { isReservedNamespace } from '../../../protocol/base/ids.js';
import { EXPORT_PAGE_SIZE } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { ListPlace } from '../../../protocol/memory/queries.js';
import { wouldReown } from '../../../protocol/memory/reown.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { operatorView } from '../../transfer/operator-view.js';

/** Gives the memories of a namespace to another agent (reference-mcp-cli §2.2). */
export const memoryReown = defineOperation({
  name: 'memory_reown',
  family: 'lifecycle',
  summary: 'Give the memories of a namespace to another agent.',
  input: z.object({
    namespace: fields.namespace.describe('Only this namespace, not those below it'),
    to: fields.agentId.describe('Who they belong to afterwards'),
    claim_unowned: z.boolean().default(false).describe('Also those that belong to nobody'),
    dry_run: z.boolean().default(false).describe('Only count them'),
  }),
  output: z.object({ matched: z.int(), rewritten: z.int(), dry_run: z.boolean() }),
  effect: 'write',
  overwrites: true,
  guards: { admin: true, attestation: 'by-name' },
  cli: {
    command: 'reown',
    view: 'message',
    message: ({ matched, rewritten, dry_run }) =>
      dry_run === true
        ? `${matched} memories would change their owner`
        : `${rewritten} of ${matched} memories have a new owner`,
    examples: ['reown --namespace team/alpha --to ai:writer --dry-run'],
  },
  run: async (call, { namespace, to, claim_unowned: claimUnowned, dry_run }) => {
    const view = operatorView(call.caller);
    if (!view.ok) return failed(view.error);
    if (isReservedNamespace(namespace)) {
      const message = `"${namespace}" belongs to the service, and so do its memories`;
      return fail('VALIDATION_FAILED', message, { fields: ['namespace'] });
    }
    const found = await memoriesIn(call, namespace);
    if (!found.ok) return failed(found.error);
    const matched = found.value.filter((memory) => wouldReown(memory, to, claimUnowned));
    let rewritten = 0;
    for (const { id } of dry_run ? [] : matched) {
      const command = { kind: 'reown-memory', id, to, claimUnowned, viewer: view.value } as const;
      const done = await call.services.store.execute(command);
      // A memory that somebody deleted meanwhile has no owner to change.
      if (!done.ok && done.error.code !== 'NOT_FOUND') return failed(done.error);
      if (done.ok && done.value.changed) rewritten += 1;
    }
    return ok({ matched: matched.length, rewritten, dry_run });
  },
});

async function memoriesIn(call: ReadCall, namespace: string): Promise<Result<readonly Memory[]>> {
  const viewer = operatorView(call.caller);
  if (!viewer.ok) return failed(viewer.error);
  const bounds = { tier: null, minPriority: null, since: null, until: null, tags: [], agentId: null };
  const filter = {
    ...bounds,
    namespace,
    viewer: viewer.value,
    now: call.now,
    limit: EXPORT_PAGE_SIZE,
    offset: 0,
  };
  const memories: Memory[] = [];
  for (let after: ListPlace | undefined; ; ) {
    const page = await call.services.store.query({ kind: 'list-memories', after, filter, family: null });
    if (!page.ok) return failed(page.error);
    memories.push(...page.value.memories);
    if (page.value.next === null) return ok(memories);
    after = page.value.next;
  }
}
