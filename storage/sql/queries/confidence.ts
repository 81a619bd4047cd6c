import { calibrationOf, type Observed } from '../../../protocol/confidence/baselines.js';
import { confidenceObservationKind } from '../../../protocol/confidence/observation-kind.js';
import type { CalibrateConfidence, Calibration } from '../../../protocol/confidence/queries.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The observed confidences of the memories that the viewer may see now, as these are called now. */
export function calibrateConfidence({ statements }: QueryParts, query: CalibrateConfidence): Calibration {
  const gate = visibleRows('m', query.viewer, query.now);
  const rows = statements
    .get(
      `SELECT m.namespace, m.source, o.stated, o.derived
       FROM ${confidenceObservationKind.table} o CROSS JOIN memories m ON m.id = o.memory_id
       WHERE o.observed_at >= @since AND (@agent IS NULL OR o.agent_id = @agent) AND ${gate.sql}`,
    )
    .iterate({ ...gate.parameters, since: query.since, agent: query.agentId }) as Iterable<Observed>;
  return calibrationOf(rows);
}
