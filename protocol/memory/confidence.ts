/** Words for how sure a memory is (reference-http §4.1), surest first. */
export const CONFIDENCE_TIERS = ['confirmed', 'likely', 'ambiguous'] as const;
export type ConfidenceTier = (typeof CONFIDENCE_TIERS)[number];

/** A tier holds the confidences from its own floor up to the floor of the tier above. */
const FLOORS: Readonly<Record<ConfidenceTier, number>> = { confirmed: 0.95, likely: 0.7, ambiguous: 0 };

/** The confidences of a tier: at least `from`, and below `below` unless that is null. */
export function confidenceRange(tier: ConfidenceTier): {
  readonly from: number;
  readonly below: number | null;
} {
  const above = CONFIDENCE_TIERS[CONFIDENCE_TIERS.indexOf(tier) - 1];
  return { from: FLOORS[tier], below: above === undefined ? null : FLOORS[above] };
}

/** The tier of a confidence. */
export function confidenceTierOf(confidence: number): ConfidenceTier {
  return CONFIDENCE_TIERS.find((tier) => confidence >= FLOORS[tier]) ?? 'ambiguous';
}
