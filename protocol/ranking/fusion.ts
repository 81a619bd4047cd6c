import type { RankingWeights } from './weights.js';

/** A visible row with all its evidence. */
export interface Candidate {
  readonly rid: number;
  /** Lexical score (`LexicalScorer`), 0 or more. */
  readonly lexical: number;
  /** Weighted lexical score of the neighbouring rows. */
  readonly lexicalContext: number;
  /** Cosine in standard deviations from the mean; null without a vector. */
  readonly semantic: number | null;
  /** Mean of the same over the neighbouring rows; null when no neighbour has a vector. */
  readonly semanticContext: number | null;
  readonly tier: string;
  /** 1 to 10. */
  readonly priority: number;
  /** 0 to 1. */
  readonly confidence: number;
  /** Days since the row was created, 0 or more. */
  readonly ageDays: number;
  /** Whether the caller's session has recalled it before. */
  readonly recalled?: boolean;
}

/** A row in the order of a ranking. */
export interface FusedRow {
  readonly rid: number;
  /** Sum of the weighted evidence, bounded. */
  readonly raw: number;
  readonly score: number;
  /** The evidence of the row as a share of the best row's, 0 to 1. */
  readonly share: number;
}

const TIER_RANK: Readonly<Record<string, number>> = { short: 0, mid: 0.5, long: 1 };

/** The bounded boosts of a row: the same for equal rows, and never more than the sum of the boost weights. */
export function boostOf(candidate: Candidate, weights: RankingWeights): number {
  const halfLives: Readonly<Record<string, number>> = weights.halfLifeDays;
  const halfLife = halfLives[candidate.tier] ?? weights.halfLifeDays.mid;
  const recency = 0.5 ** (Math.max(0, candidate.ageDays) / halfLife);
  return (
    weights.boostTier * (TIER_RANK[candidate.tier] ?? 0) +
    weights.boostPriority * ((Math.min(10, Math.max(1, candidate.priority)) - 1) / 9) +
    weights.boostConfidence * Math.min(1, Math.max(0, candidate.confidence)) +
    weights.boostRecency * recency +
    (candidate.recalled === true ? weights.boostSession : 0)
  );
}

/** How much of the query its words explain, 0 to 1. */
function explainedShare(strength: number, weights: RankingWeights): number {
  return Math.min(1, Math.max(0, strength) / weights.strengthFull);
}

/** The weight of one standard deviation of the cosine when words explain `strength` of the query. */
export function semanticWeight(strength: number, weights: RankingWeights): number {
  return weights.semantic + weights.semanticAlone * (1 - explainedShare(strength, weights));
}

/**
 * Ranks candidates. Lexical evidence leads: a candidate's evidence is divided by the best candidate's and multiplied by
 * how much of the query (`strength`, 0 to 1) any candidate explains. Semantics moves a row by standard deviations, more
 * when words explain less, and decides by itself when no row has a word of the query. Scores are in (0, 1), descending;
 * equal scores go newest row first.
 */
export function fuse(
  candidates: readonly Candidate[],
  strength: number,
  weights: RankingWeights,
): FusedRow[] {
  let best = 0;
  for (const candidate of candidates) {
    best = Math.max(best, candidate.lexical + candidate.lexicalContext);
  }
  const explained = explainedShare(strength, weights);
  const scale = best > 0 ? explained ** weights.strengthPower / best : 0;
  const semantic = semanticWeight(strength, weights);
  const peak = weights.semanticPeak * (1 - explained);
  const rows = candidates.map((candidate) => {
    const sum =
      (candidate.lexical + candidate.lexicalContext) * scale +
      semantic * (candidate.semantic ?? 0) +
      peak * Math.max(0, (candidate.semantic ?? 0) - weights.semanticPeakFrom) +
      weights.semanticContext * (candidate.semanticContext ?? 0) +
      boostOf(candidate, weights);
    const raw = Math.min(20, Math.max(-20, Number.isFinite(sum) ? sum : 0));
    return { rid: candidate.rid, raw, score: squash(raw) };
  });
  rows.sort((left, right) => right.raw - left.raw || right.rid - left.rid);
  const most = rows[0]?.raw ?? 0;
  return rows.map((row) => ({ ...row, share: most > 0 ? Math.max(0, row.raw / most) : 1 }));
}

/** Rows that `reorderFirst` moves; more of them lose what the neighbours say in a conversation. */
export const REORDERED_ROWS = 8;

/**
 * Orders the first rows also by `ownOdds`, the log odds that a row by itself answers, the more the less of the query
 * words explain. Scores and shares stay with the places, so that they never rise.
 */
export function reorderFirst(
  rows: readonly FusedRow[],
  strength: number,
  weights: RankingWeights,
  ownOdds: (rid: number) => number,
): FusedRow[] {
  const weight = weights.own * (1 - explainedShare(strength, weights));
  if (weight === 0) return [...rows];
  const moved = rows
    .slice(0, REORDERED_ROWS)
    .map(({ rid, raw }) => ({ rid, raw: raw + weight * ownOdds(rid) }))
    .sort((left, right) => right.raw - left.raw);
  return rows.map((row, place) => ({ ...row, rid: moved[place]?.rid ?? row.rid }));
}

/** Maps a number into (0, 1) without changing the order. */
const squash = (raw: number): number => 1 / (1 + Math.exp(-raw));
