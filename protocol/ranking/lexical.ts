import { PhraseMatcher } from './phrases.js';
import type { QueryAnalysis } from './query.js';
import { type TextMatch, TextMatcher } from './text-match.js';
import type { RankingWeights } from './weights.js';

/** Query words whose neighbourhood in a text is examined: the most telling ones. 8 words make 28 pairs, a bit each. */
const PAIRED_TERMS_MAX = 8;
/** Following occurrences that are examined for the neighbourhood of one occurrence. */
const PAIRED_OCCURRENCES_MAX = 6;

/** How well a word distinguishes rows: BM25's inverse document frequency, above 0. */
export function inverseFrequency(rows: number, rowsWithWord: number): number {
  const known = Math.min(rowsWithWord, rows);
  return Math.log(1 + (rows - known + 0.5) / (known + 0.5));
}

/** Lexical evidence of one row. */
export interface LexicalEvidence {
  /** Score of the words by themselves; 0 when the row has no word of the query. */
  readonly words: number;
  /** Sum of the weights of the query words in the row. */
  readonly covered: number;
  /** The query words in the row, a bit for each of the first 31. */
  readonly terms: number;
  /** Pairs of query words near each other, a bit for each. */
  readonly near: number;
  /** Pairs that follow each other as in the query. */
  readonly adjacent: number;
  /** Phrases of the query (a word and a function word next to it), a bit for each. */
  readonly phrases: number;
  /** Sum of the telling weights of the query words in the best passage, together with title and tags. */
  readonly together: number;
  /** Sum of the telling weights of the query words in title and tags. */
  readonly named: number;
}

/**
 * Scores texts against one query: BM25 with a weight and a length norm for each field, an extra share for words in one
 * passage, for pairs of words that are near each other or follow each other as in the query, and for words next to the
 * same function word as in the query. The weight of a pair or phrase is known only when the candidates are known
 * (`PairWeights`).
 */
export class LexicalScorer {
  readonly #idf: Float64Array;
  readonly #telling: Float64Array;
  readonly #averageWords: number;
  readonly #weights: RankingWeights;
  readonly #matcher: TextMatcher;
  readonly #phrases: PhraseMatcher;
  readonly #frequency: Float64Array;
  readonly #inWindow: Int32Array;
  /** 1 for each term in title or tags. */
  readonly #named: Uint8Array;
  readonly #terms: number;
  /**
   * Bit of the unordered pair of two terms, -1 when there is no such pair; and of the ordered pair when the query has
   * it.
   */
  readonly #nearBit: Int8Array;
  readonly #adjacentBit: Int8Array;
  #near = 0;
  #adjacent = 0;
  #together = 0;

  /**
   * `idf` and `telling` have one entry for each term of the analysis: what orders rows, and what evidence is measured by.
   * `averageWords` is the average length of a row.
   */
  constructor(
    analysis: QueryAnalysis,
    { idf, telling }: { readonly idf: Float64Array; readonly telling: Float64Array },
    averageWords: number,
    weights: RankingWeights,
  ) {
    this.#idf = idf;
    this.#telling = telling;
    this.#averageWords = Math.max(1, averageWords);
    this.#weights = weights;
    this.#matcher = new TextMatcher(analysis.terms);
    this.#phrases = new PhraseMatcher(analysis.phrases);
    this.#terms = analysis.terms.length;
    this.#frequency = new Float64Array(this.#terms);
    this.#inWindow = new Int32Array(this.#terms);
    this.#named = new Uint8Array(this.#terms);
    this.#nearBit = new Int8Array(this.#terms * this.#terms).fill(-1);
    this.#adjacentBit = new Int8Array(this.#terms * this.#terms).fill(-1);
    this.#numberPairs(analysis);
  }

  #numberPairs(analysis: QueryAnalysis): void {
    const telling = analysis.terms.map((_term, index) => index);
    telling.sort((left, right) => (this.#idf[right] ?? 0) - (this.#idf[left] ?? 0));
    telling.length = Math.min(telling.length, PAIRED_TERMS_MAX);
    let bit = 0;
    for (let left = 0; left < telling.length; left++) {
      for (let right = left + 1; right < telling.length; right++) {
        const [first, second] = [telling[left] ?? 0, telling[right] ?? 0];
        this.#nearBit[first * this.#terms + second] = bit;
        this.#nearBit[second * this.#terms + first] = bit;
        bit += 1;
      }
    }
    for (const [first, second] of analysis.pairs) {
      const at = first * this.#terms + second;
      this.#adjacentBit[at] = this.#nearBit[at] ?? -1;
    }
  }

  /** The sum of the weights of these terms, as `LexicalEvidence.terms` has them. */
  weightOf(terms: number): number {
    let sum = 0;
    for (let rest = terms; rest !== 0; rest &= rest - 1) sum += this.#idf[31 - Math.clz32(rest & -rest)] ?? 0;
    return sum;
  }

  score(title: string, content: string, tags: string): LexicalEvidence {
    const weights = this.#weights;
    this.#frequency.fill(0);
    this.#near = 0;
    this.#adjacent = 0;
    this.#add(this.#matcher.match(title), weights.titleWeight);
    if (tags.length > 2) this.#add(this.#matcher.match(tags), weights.tagWeight);
    this.#noteNamed();
    const named = this.#together;
    const body = this.#matcher.match(content);
    const length = 1 - weights.lengthPenalty + (weights.lengthPenalty * body.words) / this.#averageWords;
    this.#add(body, 1 / length);
    const phrases = this.#phrases.match(content, body);
    let score = 0;
    let covered = 0;
    let terms = 0;
    for (let term = 0; term < this.#terms; term++) {
      const frequency = this.#frequency[term] ?? 0;
      if (frequency === 0) continue;
      const saturated = (frequency * (weights.saturation + 1)) / (frequency + weights.saturation);
      score += (this.#idf[term] ?? 0) * saturated;
      covered += this.#idf[term] ?? 0;
      if (term < 31) terms |= 1 << term;
    }
    if (score > 0) score += weights.passage * this.#bestPassage(body);
    const together = this.#together;
    return {
      words: score,
      covered,
      terms,
      near: this.#near,
      adjacent: this.#adjacent,
      phrases,
      together,
      named,
    };
  }

  /** Notes the terms found so far, in title and tags, and begins `together` with them. */
  #noteNamed(): void {
    this.#together = 0;
    for (let term = 0; term < this.#terms; term++) {
      const named = (this.#frequency[term] ?? 0) > 0;
      this.#named[term] = named ? 1 : 0;
      if (named) this.#together += this.#telling[term] ?? 0;
    }
  }

  #add(match: TextMatch, weight: number): void {
    for (let term = 0; term < this.#terms; term++) {
      this.#frequency[term] = (this.#frequency[term] ?? 0) + weight * (match.counts[term] ?? 0);
    }
    const { nearWords, adjacentWords } = this.#weights;
    for (let at = 0; at + 1 < match.occurrences; at++) {
      const row = (match.terms[at] ?? 0) * this.#terms;
      const position = match.positions[at] ?? 0;
      const last = Math.min(match.occurrences - 1, at + PAIRED_OCCURRENCES_MAX);
      for (let next = at + 1; next <= last; next++) {
        const distance = (match.positions[next] ?? 0) - position;
        if (distance > nearWords) break;
        const pair = row + (match.terms[next] ?? 0);
        const near = this.#nearBit[pair] ?? -1;
        if (near >= 0) this.#near |= 1 << near;
        if (distance > adjacentWords) continue;
        const adjacent = this.#adjacentBit[pair] ?? -1;
        if (adjacent >= 0) this.#adjacent |= 1 << adjacent;
      }
    }
  }

  /** The greatest sum of word weights inside one passage of the content; notes `together`. */
  #bestPassage(match: TextMatch): number {
    const inWindow = this.#inWindow.fill(0);
    let best = 0;
    let sum = 0;
    let together = this.#together;
    let from = 0;
    for (let to = 0; to < match.occurrences; to++) {
      const term = match.terms[to] ?? 0;
      if (inWindow[term] === 0) {
        sum += this.#idf[term] ?? 0;
        if (this.#named[term] === 0) together += this.#telling[term] ?? 0;
      }
      inWindow[term] = (inWindow[term] ?? 0) + 1;
      const start = (match.positions[to] ?? 0) - this.#weights.passageWords;
      while ((match.positions[from] ?? 0) <= start) {
        const left = match.terms[from] ?? 0;
        inWindow[left] = (inWindow[left] ?? 0) - 1;
        if (inWindow[left] === 0) {
          sum -= this.#idf[left] ?? 0;
          if (this.#named[left] === 0) together -= this.#telling[left] ?? 0;
        }
        from += 1;
      }
      if (sum > best) best = sum;
      if (together > this.#together) this.#together = together;
    }
    return best;
  }
}

/**
 * How well each pair and phrase of the query distinguishes the candidates: two common words next to each other can be
 * rare.
 */
export class PairWeights {
  readonly #near = new Float64Array(32);
  readonly #adjacent = new Float64Array(32);
  readonly #phrases = new Float64Array(32);
  readonly #weights: RankingWeights;

  /** `rows` counts the candidates, and those with no word of the query that are not listed. */
  constructor(
    candidates: readonly { readonly evidence: LexicalEvidence }[],
    rows: number,
    weights: RankingWeights,
  ) {
    this.#weights = weights;
    for (const { evidence: candidate } of candidates) {
      countBits(candidate.near, this.#near);
      countBits(candidate.adjacent, this.#adjacent);
      countBits(candidate.phrases, this.#phrases);
    }
    for (const counts of [this.#near, this.#adjacent, this.#phrases]) {
      for (let bit = 0; bit < counts.length; bit++) {
        counts[bit] = inverseFrequency(rows, counts[bit] ?? 0);
      }
    }
  }

  /** The lexical score of a row, pairs and phrases included. */
  score(evidence: LexicalEvidence): number {
    return (
      evidence.words +
      this.#weights.near * sumBits(evidence.near, this.#near) +
      this.#weights.adjacent * sumBits(evidence.adjacent, this.#adjacent) +
      this.#weights.phrase * sumBits(evidence.phrases, this.#phrases)
    );
  }
}

function countBits(mask: number, counts: Float64Array): void {
  for (let rest = mask; rest !== 0; rest &= rest - 1) {
    const bit = 31 - Math.clz32(rest & -rest);
    counts[bit] = (counts[bit] ?? 0) + 1;
  }
}

function sumBits(mask: number, values: Float64Array): number {
  let sum = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) {
    sum += values[31 - Math.clz32(rest & -rest)] ?? 0;
  }
  return sum;
}
