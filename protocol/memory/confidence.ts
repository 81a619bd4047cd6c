import type { Instant } from '../base/meanings.js';

/** Words for how sure a memory is (reference-http §4.1), surest first. */
export const CONFIDENCE_TIERS = ['confirmed', 'likely', 'ambiguous'] as const;
export type ConfidenceTier = (typeof CONFIDENCE_TIERS)[number];

/** A tier holds the confidences from its own floor up to the floor of the tier above. */
export const TIER_FLOORS: Readonly<Record<ConfidenceTier, number>> = {
  confirmed: 0.95,
  likely: 0.7,
  ambiguous: 0,
};

/** The confidences of a tier: at least `from`, and below `below` unless that is null. */
export function confidenceRange(tier: ConfidenceTier): {
  readonly from: number;
  readonly below: number | null;
} {
  const above = CONFIDENCE_TIERS[CONFIDENCE_TIERS.indexOf(tier) - 1];
  return { from: TIER_FLOORS[tier], below: above === undefined ? null : TIER_FLOORS[above] };
}

/** The tier of a confidence. */
export function confidenceTierOf(confidence: number): ConfidenceTier {
  return CONFIDENCE_TIERS.find((tier) => confidence >= TIER_FLOORS[tier]) ?? 'ambiguous';
}

/** The days in which a confidence loses half, where no policy says otherwise (reference-mcp-cli §6.5). */
export const HALF_LIFE_DAYS = 30;
/** What is known of a source of which nothing is known. */
const NEUTRAL = 0.5;
const DAY_MS = 86_400_000;

/** What a derived confidence was made from (reference-mcp-cli §6.5). */
export interface ConfidenceSignals {
  readonly source_age_days: number;
  readonly atom_derivation: boolean;
  /** The links and citations of the memory. */
  readonly prior_corroboration_count: number;
  /** 1 for a new memory, 0.5 after a half-life. */
  readonly freshness_factor: number;
  readonly baseline_per_source: number;
}

/** What of a memory its confidence follows from. */
export interface Evidence {
  /** When its text was written last. */
  readonly writtenAt: Instant;
  readonly isAtom: boolean;
  readonly corroborations: number;
}

export function confidenceSignals(
  { writtenAt, isAtom, corroborations }: Evidence,
  now: Instant,
  halfLifeDays: number,
): ConfidenceSignals {
  const age = ageDays(writtenAt, now);
  return {
    source_age_days: rounded(age),
    atom_derivation: isAtom,
    prior_corroboration_count: corroborations,
    freshness_factor: rounded(freshness(age, halfLifeDays)),
    baseline_per_source: NEUTRAL,
  };
}

/** The confidence that follows from signals alone, 0 to 1 (reference-mcp-cli §6.5). */
export function derivedConfidence(signals: ConfidenceSignals, halfLifeDays: number): number {
  const { source_age_days: age, freshness_factor: fresh, baseline_per_source: baseline } = signals;
  const base =
    NEUTRAL +
    (signals.atom_derivation ? 0.1 : 0) +
    0.05 * Math.log10(1 + signals.prior_corroboration_count) -
    (0.02 * age * Math.LN2) / halfLifeDays;
  return rounded(Math.min(1, Math.max(0, base)) * fresh + (1 - fresh) * baseline);
}

/** A confidence after the time since its text was written; it is the stored one while that changes nothing. */
export function decayedConfidence(
  { confidence, writtenAt }: { readonly confidence: number; readonly writtenAt: Instant },
  now: Instant,
  halfLifeDays: number,
): number {
  const fresh = freshness(ageDays(writtenAt, now), halfLifeDays);
  const left = rounded(confidence * fresh);
  return left < confidence && rounded(confidence) !== left ? left : confidence;
}

const freshness = (days: number, halfLifeDays: number): number => 2 ** (-days / halfLifeDays);

/** A text of the future, as a clock that was ahead leaves it, is new. */
const ageDays = (from: Instant, to: Instant): number =>
  Math.max(0, (Date.parse(to) - Date.parse(from)) / DAY_MS);

/** Four decimals, so that a text of this hour has not aged. */
const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
