import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import type { ForgetFilter } from '../../../protocol/memory/forget-filter.js';
import { analyseQuery } from '../../../protocol/ranking/query.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { erasedHere, erasedText, eraseField, erasureOutput } from '../shared/erased.js';
import { inBatches } from '../shared/in-batches.js';

const input = z.object({
  namespace: fields.namespaceOrSubtree
    .describe('Exactly this namespace; with /** at its end, it and all below it')
    .optional(),
  pattern: fields.queryText.describe('Words; the memory must contain at least one of them').optional(),
  tier: fields.tier.optional(),
  dry_run: z.boolean().default(false).describe('Only count'),
  erase: eraseField,
  confirm_global: z.boolean().default(false).describe('Forget everything when no filter is given'),
});

type Input = z.output<typeof input>;

/** Forgets every memory that fits all given filters (interface §4.4, POST /forget). */
export const memoryForget = defineOperation({
  name: 'memory_forget',
  family: 'lifecycle',
  summary: 'Forget all memories that fit a namespace, words or a tier.',
  input,
  output: z.object({
    deleted: z.int().optional(),
    archived: z.boolean().optional(),
    would_delete: z.int().optional(),
    dry_run: z.boolean().optional(),
    ...erasureOutput.shape,
  }),
  effect: 'write',
  overwrites: true,
  guards: { admin: true, attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [
    {
      method: 'POST',
      path: '/forget',
      fields: 'body',
      omit: ['dry_run', 'confirm_global'],
      shape: ({ deleted, erased, finished_here, derived }) => ({
        deleted,
        ...(erased === true ? { erased, finished_here, derived } : {}),
      }),
      output: z.object({ deleted: z.int(), ...erasureOutput.shape }),
    },
  ],
  mcp: {
    description:
      'Throw away all memories of a namespace, about some words, or of a tier at once. Try dry_run first; the archive keeps copies.',
    omit: ['confirm_global'],
  },
  cli: {
    command: 'forget',
    short: { n: 'namespace', p: 'pattern', t: 'tier' },
    view: 'message',
    message: (output) =>
      output['dry_run'] === true
        ? `would forget: ${output['would_delete']}`
        : output['erased'] === true
          ? erasedText(String(output['deleted']), output)
          : `forgot: ${output['deleted']}${output['archived'] === true ? ' (copies are in the archive)' : ''}`,
    progress: 'forgotten memories:',
    confirm: {
      preview: { dry_run: true },
      question: ({ would_delete }) => (would_delete === 0 ? null : `Forget ${would_delete} memories?`),
    },
    examples: [
      'forget --namespace scratch --dry-run',
      'forget --namespace "team/**" --dry-run',
      'forget --pattern "old deploy" --yes',
      'forget --namespace team/ended --erase --yes',
    ],
  },
  run: forget,
});

async function forget(call: Call, fieldsIn: Input) {
  const { namespace, pattern, tier, dry_run, confirm_global, erase } = fieldsIn;
  if (namespace === undefined && pattern === undefined && tier === undefined && !confirm_global) {
    const hint = call.surface === 'cli' ? ', or --confirm-global to forget everything' : '';
    return fail('VALIDATION_FAILED', `at least one of namespace, pattern and tier is required${hint}`, {
      fields: ['namespace', 'pattern', 'tier'],
    });
  }
  if (pattern !== undefined && analyseQuery(pattern).terms.length === 0) {
    return fail('VALIDATION_FAILED', 'pattern: must hold a word', { fields: ['pattern'] });
  }
  const { store, settings } = call.services;
  const filter: ForgetFilter = {
    namespace: namespace ?? null,
    tier: tier ?? null,
    pattern: pattern ?? null,
    throughRid: null,
    viewer: call.caller.viewer,
  };
  const counted = await store.query({ kind: 'count-forgettable', filter, now: call.now });
  if (!counted.ok) return failed(counted.error);
  if (dry_run) return ok({ would_delete: counted.value.count, dry_run: true });
  // Memories stored while the batches run stay.
  const { throughRid, count } = counted.value;
  const erased: string[] = [];
  const deleted = await inBatches(
    async () => {
      const result = await store.execute({
        kind: 'forget-memories',
        by: call.caller.agentId,
        filter: { ...filter, throughRid },
        limit: limits.REMOVE_BATCH_MAX,
        archive: settings.archiveOnGc,
        ...(erase ? { erase: true as const } : {}),
      });
      if (result.ok) erased.push(...(result.value.erased ?? []));
      return result.ok ? ok({ done: result.value.deleted, more: result.value.more }) : failed(result.error);
    },
    (done) => call.progress(done, count),
  );
  if (!deleted.ok) return failed(deleted.error);
  if (!erase) return ok({ deleted: deleted.value, archived: settings.archiveOnGc });
  const here = await erasedHere(call, erased);
  return here.ok ? ok({ deleted: deleted.value, archived: false, ...here.value }) : failed(here.error);
}
