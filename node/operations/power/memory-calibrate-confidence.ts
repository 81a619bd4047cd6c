import { z } from 'zod';
import { ARCHIVE_DAYS_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import { CONFIDENCE_DAYS } from '../../../protocol/confidence/limits.js';
import type { Baseline } from '../../../protocol/confidence/queries.js';
import { defineOperation } from '../../pipeline/operation.js';

const DAY_SECONDS = 86_400;

const baseline = z.object({
  namespace: z.string(),
  source: z.string(),
  count: z.int(),
  median: z.number().describe('Of the derived confidences'),
  mean: z.number(),
  buckets: z.array(z.int()).describe('Derived confidences in each tenth from 0 to 1'),
  stated_median: z.number().describe('Of the stored confidences'),
  stated_mean: z.number(),
});

const report = z.object({
  window_days: z.int(),
  total_observations: z.int(),
  baselines: z.array(baseline),
  truncated: z.literal(true).describe('There are more baselines').optional(),
});

/**
 * Compares what recalled memories are said to be with what their signals say, by namespace and source (reference-mcp-cli
 * §6.5). It changes nothing. Callers get what their own recalls showed, admins and the operator what those of all did.
 */
export const memoryCalibrateConfidence = defineOperation({
  name: 'memory_calibrate_confidence',
  family: 'power',
  summary: 'Report how the confidences of recalled memories compare with those that their signals say.',
  input: z.object({
    days: z
      .int()
      .min(1)
      .max(ARCHIVE_DAYS_MAX)
      .default(CONFIDENCE_DAYS)
      .describe('Only recalls of the last so many days'),
    output_format: z.enum(['json', 'table']).default('json').describe('Shape of the answer: json or table'),
    from_shadow: z.boolean().default(true).describe('From observed recalls; there is no other source'),
  }),
  output: z.object({ report, note: z.string().optional() }),
  effect: 'read',
  guards: {},
  table: ({ report: { baselines, total_observations: total, window_days: days }, note }) =>
    tableText(baselines, `${total} observations in ${days} days`, note),
  http: [{ method: 'POST', path: '/memory_calibrate_confidence', fields: 'body', omit: ['from_shadow'] }],
  mcp: {
    description: 'Report how well the confidences of memories fit the signals about them.',
    omit: ['from_shadow'],
  },
  cli: {
    command: 'calibrate confidence',
    defaults: { output_format: 'table' },
    view: 'object',
    examples: ['calibrate confidence --days 7'],
  },
  run: async (call, { days, from_shadow: fromShadow }) => {
    if (!fromShadow) {
      return fail('VALIDATION_FAILED', 'from_shadow must be true: observed recalls are the only source', {
        fields: ['from_shadow'],
      });
    }
    const { store, touches, settings } = call.services;
    // What this process has not written yet belongs to the report.
    await touches.flush();
    const { viewer, admin, agentId } = call.caller;
    const found = await store.query({
      kind: 'calibrate-confidence',
      since: instantAfter(call.now, -days * DAY_SECONDS),
      agentId: viewer.all || admin ? null : agentId,
      viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const { total, baselines, truncated } = found.value;
    return ok({
      report: {
        window_days: days,
        total_observations: total,
        baselines: baselines.map((one) => ({ ...one, buckets: [...one.buckets] })),
        ...(truncated ? { truncated: true as const } : {}),
      },
      ...(settings.confidenceShadow ? {} : { note: OFF }),
    });
  },
});

const OFF = 'this node records no recalls: set SVC_CONFIDENCE_SHADOW=1 where it serves';

const HEAD = ['NAMESPACE', 'SOURCE', 'COUNT', 'MEDIAN', 'MEAN', 'STATED MEDIAN', 'STATED MEAN', 'BUCKETS'];

function tableText(baselines: readonly Baseline[], sum: string, note: string | undefined): string {
  const rows = baselines.map((one) => [
    ...[one.namespace, one.source, one.count, one.median, one.mean].map(String),
    ...[one.stated_median, one.stated_mean, one.buckets.join(' ')].map(String),
  ]);
  const widths = HEAD.map((name, at) =>
    Math.max(...[name, ...rows.map((row) => row[at]!)].map((cell) => cell.length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  const table = rows.length === 0 ? [] : [HEAD, ...rows].map(line);
  return [...table, sum, ...(note === undefined ? [] : [note])].map((each) => `${each}\n`).join('');
}
