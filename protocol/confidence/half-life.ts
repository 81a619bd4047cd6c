import { HALF_LIFE_DAYS } from '../memory/confidence.js';
import type { Governance } from '../namespaces/policy-members.js';

/** The half-life of confidences that the policies of a namespace say together, in days. */
export function halfLifeDays(governance: Governance): number {
  const days = governance['confidence_decay_half_life_days'];
  return typeof days === 'number' ? days : HALF_LIFE_DAYS;
}
