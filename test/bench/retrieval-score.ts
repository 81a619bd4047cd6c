import { rounded } from './statistics.js';

/** Ranks at which answers are judged. */
export const CUTS = [1, 5, 10] as const;
const MEASURES = ['any', 'fraction', 'all'] as const;

/** For example `fraction@5`. */
export type Measure = `${(typeof MEASURES)[number]}@${(typeof CUTS)[number]}`;

/** Every measure, in the order of tables. */
export const ALL_MEASURES = MEASURES.flatMap((measure) => CUTS.map((cut): Measure => `${measure}@${cut}`));

/** Sums up how much of the questions' evidence was found. */
export class Score {
  private readonly sums = new Map<Measure, number>();
  questions = 0;

  /** `found` are the keys of a question's answers, best first; one key may come more than once. */
  add(found: readonly string[], evidence: readonly string[]): void {
    this.questions += 1;
    const ranked = [...new Set(found)];
    for (const cut of CUTS) {
      const top = new Set(ranked.slice(0, cut));
      const fraction = evidence.filter((key) => top.has(key)).length / evidence.length;
      this.grow(`fraction@${cut}`, fraction);
      this.grow(`any@${cut}`, fraction > 0 ? 1 : 0);
      this.grow(`all@${cut}`, fraction === 1 ? 1 : 0);
    }
  }

  /** In percent, one decimal. */
  percent(): Record<Measure, number> {
    const share = (measure: Measure) => (100 * (this.sums.get(measure) ?? 0)) / Math.max(this.questions, 1);
    return Object.fromEntries(ALL_MEASURES.map((measure) => [measure, rounded(share(measure), 1)])) as Record<
      Measure,
      number
    >;
  }

  private grow(measure: Measure, by: number): void {
    this.sums.set(measure, (this.sums.get(measure) ?? 0) + by);
  }
}
