import type { RankingWeights } from './weights.js';

/** What a row says of itself, whatever the query is. */
export interface Standing {
  readonly tier: string;
  /** 1 to 10. */
  readonly priority: number;
  /** 0 to 1. */
  readonly confidence: number;
  /** Days since the row was created, 0 or more. */
  readonly ageDays: number;
  /** Whether the caller's session has recalled it before. */
  readonly recalled: boolean;
}

const TIER_RANK: Readonly<Record<string, number>> = { short: 0, mid: 0.5, long: 1 };

/** The bounded boosts of a row in log odds: the same for equal rows, and never more than the sum of the boost weights. */
export function boostOf(row: Standing, weights: RankingWeights): number {
  const halfLives: Readonly<Record<string, number>> = weights.halfLifeDays;
  const halfLife = halfLives[row.tier] ?? weights.halfLifeDays.mid;
  const recency = 0.5 ** (Math.max(0, row.ageDays) / halfLife);
  return (
    weights.boostTier * ((TIER_RANK[row.tier] ?? 0) - 0.5) +
    weights.boostPriority * ((Math.min(10, Math.max(1, row.priority)) - 5) / 9) +
    weights.boostConfidence * (Math.min(1, Math.max(0, row.confidence)) - 1) +
    weights.boostRecency * (recency - 1) +
    (row.recalled ? weights.boostSession : 0)
  );
}
