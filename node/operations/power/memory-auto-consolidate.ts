import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { excerpt } from '../../../protocol/base/utf8.js';
import type { ConsolidationGroup } from '../../../protocol/lifecycle/queries.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { consolidation, hookedConsolidation as joined } from './memory-consolidate.js';

/** Refusals that concern only one group; the others continue. */
const GROUP_FAILURES: ReadonlySet<string> = new Set([
  ...['NOT_FOUND', 'FORBIDDEN', 'CONFLICT', 'HOOK_VETO', 'OVERLOADED'],
]);

/** Joins memories of one namespace with the same first tag (reference-mcp-cli §2.2). Only on the command line. */
export const memoryAutoConsolidate = defineOperation({
  name: 'memory_auto_consolidate',
  family: 'power',
  summary: 'Join memories that share their namespace and first tag.',
  input: z.object({
    namespace: fields.namespace.optional(),
    short_only: z.boolean().default(false).describe('Only memories of the short tier'),
    min_count: z
      .int()
      .min(limits.CONSOLIDATE_IDS_MIN)
      .max(limits.CONSOLIDATE_IDS_MAX)
      .default(limits.CONSOLIDATE_GROUP_MIN)
      .describe('Smallest group to join'),
    dry_run: z.boolean().default(false).describe('Only show the groups'),
  }),
  output: z.object({
    consolidated: z.int().optional(),
    dry_run: z.boolean().optional(),
    groups: z.array(
      z.object({
        namespace: z.string(),
        tag: z.string(),
        count: z.int(),
        titles: z.array(z.string()),
        id: z.string().optional(),
        error: z.string().optional(),
      }),
    ),
  }),
  effect: 'write',
  openWorld: true,
  overwrites: true,
  guards: { attestation: 'by-name' },
  cli: {
    command: 'auto-consolidate',
    short: { n: 'namespace' },
    view: 'object',
    progress: 'joined groups:',
    examples: ['auto-consolidate --short-only --dry-run'],
  },
  run: async (call, input) => {
    const { store } = call.services;
    const found = await store.query({
      kind: 'consolidation-groups',
      namespace: input.namespace ?? null,
      shortOnly: input.short_only,
      countMin: input.min_count,
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    if (input.dry_run) return ok({ dry_run: true, groups: found.value.groups.map(shown) });
    const groups = [];
    let consolidated = 0;
    for (const [index, group] of found.value.groups.entries()) {
      call.progress(index, found.value.groups.length);
      const result = await joined(
        call,
        consolidation(call, {
          ids: group.ids,
          title: titleOf(group),
          summary: null,
          namespace: group.namespace,
          tier: 'long',
          onConflict: 'version',
        }),
      );
      if (result.ok) {
        consolidated += result.value.consolidated;
        groups.push({ ...shown(group), id: result.value.memory.id });
      } else if (GROUP_FAILURES.has(result.error.code)) {
        // A member changed its owner or was removed after the groups were read, or a hook denies or has no room.
        groups.push({ ...shown(group), error: result.error.message });
      } else {
        return failed(result.error);
      }
    }
    return ok({ consolidated, groups });
  },
});

const shown = ({ namespace, tag, ids, titles }: ConsolidationGroup) => ({
  namespace,
  tag,
  count: ids.length,
  titles: [...titles],
});

/** Leaves room for the number that a taken title gets. */
const titleOf = ({ tag }: ConsolidationGroup) => `Consolidated: ${excerpt(tag, limits.TAG_BYTES_MAX)}`;
