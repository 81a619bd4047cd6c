import { z } from 'zod';
import { REPORT_ERROR_LENGTH_MAX, REPORT_ERRORS_MAX } from '../../../protocol/curation/limits.js';

/** What a cycle of the curator did (reference-mcp-cli §6.9). */
export const cycleReport = z.object({
  started_at: z.string(),
  completed_at: z.string(),
  cycle_duration_ms: z.int(),
  memories_scanned: z.int(),
  memories_eligible: z.int(),
  auto_tagged: z.int(),
  contradictions_found: z.int(),
  operations_attempted: z.int().describe('Questions to a model'),
  operations_skipped_cap: z
    .int()
    .describe('Questions that were not asked: the cap of the cycle, or of the day, was reached'),
  autonomy: z.object({
    clusters_formed: z.int(),
    memories_consolidated: z.int(),
    memories_forgotten: z.int(),
    priority_adjustments: z.int(),
    rollback_entries_written: z.int(),
    errors: z.array(z.string()),
  }),
  reflections_written: z.int(),
  personas_generated: z.int(),
  errors: z.array(z.string()),
  dry_run: z.boolean(),
});
export type CycleReport = z.output<typeof cycleReport>;

/** A report before anything was done. */
export function emptyReport(at: string, dryRun: boolean): CycleReport {
  return {
    ...{ started_at: at, completed_at: at, cycle_duration_ms: 0, memories_scanned: 0, memories_eligible: 0 },
    ...{ auto_tagged: 0, contradictions_found: 0, operations_attempted: 0, operations_skipped_cap: 0 },
    autonomy: {
      ...{ clusters_formed: 0, memories_consolidated: 0, memories_forgotten: 0, priority_adjustments: 0 },
      ...{ rollback_entries_written: 0, errors: [] },
    },
    ...{ reflections_written: 0, personas_generated: 0, errors: [], dry_run: dryRun },
  };
}

/** Adds a failure to a report, as long as it has room. */
export function addError(errors: string[], error: string): void {
  if (errors.length < REPORT_ERRORS_MAX) errors.push(error.slice(0, REPORT_ERROR_LENGTH_MAX));
}
