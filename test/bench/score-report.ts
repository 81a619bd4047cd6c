import { RECALL_LIMIT } from '../../protocol/base/limits.js';
import type { RowSort } from '../../protocol/ranking/evidence.js';
import { leastScore, RECALL_MIN_SCORE } from '../../protocol/ranking/likelihood.js';
import { separation } from './notes.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';

/** A question whose rows have scores, best first. */
export interface Judged {
  readonly source: string;
  readonly sort: string;
  readonly mode: string;
  /** Memories that answer it; 0 when none does. */
  readonly wanted: number;
  readonly rows: readonly {
    readonly key: string;
    readonly sort: RowSort;
    readonly right: boolean;
    readonly score: number;
  }[];
}

type Row = Judged['rows'][number];

/** The rows that a recall returns by default. */
export function returned(rows: readonly Row[]): readonly Row[] {
  const first = rows.slice(0, RECALL_LIMIT);
  const answered = first.some(({ sort, score }) => sort === 'note' && score >= RECALL_MIN_SCORE);
  return first.filter(({ sort, score }) => score >= leastScore(sort, answered));
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const percent = (values: readonly boolean[]): number => rounded(100 * mean(values.map(Number)), 1);

/** What the scores of some questions are worth. */
export function figuresOf(judged: readonly Judged[]) {
  const answerable = judged.filter(({ wanted }) => wanted > 0);
  const single = judged.filter(({ wanted }) => wanted === 1);
  const none = judged.filter(({ wanted }) => wanted === 0);
  const tops = (some: readonly Judged[]) => some.map(({ rows }) => rows[0]?.score ?? 0);
  const wrong = ({ rows }: Judged) => rows.filter(({ right, score }) => !right && score >= 0.5).length;
  const fraction = ({ rows, wanted }: Judged, some: (rows: readonly Row[]) => readonly Row[]) =>
    new Set(some(rows).flatMap(({ key, right }) => (right ? [key] : []))).size / wanted;
  const ten = (rows: readonly Row[]) => rows.slice(0, RECALL_LIMIT);
  return {
    questions: [answerable.length, none.length],
    first: percent(answerable.map(({ rows }) => rows[0]?.right === true)),
    three: percent(answerable.map(({ rows }) => rows.slice(0, 3).some(({ right }) => right))),
    ten: percent(answerable.map(({ rows }) => ten(rows).some(({ right }) => right))),
    fraction: rounded(100 * mean(answerable.map((one) => fraction(one, ten))), 1),
    kept: rounded(100 * mean(answerable.map((one) => fraction(one, returned))), 1),
    rows: rounded(mean(single.map(({ rows }) => returned(rows).length)), 2),
    wrong: rounded(mean(judged.map(wrong)), 2),
    none: rounded(mean(none.map(({ rows }) => returned(rows).length)), 2),
    auc: none.length === 0 ? null : rounded(separation(tops(answerable), tops(none)), 3),
    error: rounded(calibrationOf(judged).error, 3),
  };
}

/** Ten bins of scores: how many rows there are, their mean score, and how many of them are right; and the expected error. */
export function calibrationOf(judged: readonly Judged[]) {
  const rows = judged.flatMap(({ rows: own }) => own.slice(0, RECALL_LIMIT));
  const bins = Array.from({ length: 10 }, (_, bin) => {
    const own = rows.filter(({ score }) => Math.min(9, Math.floor(score * 10)) === bin);
    return {
      rows: own.length,
      score: mean(own.map(({ score }) => score)),
      right: mean(own.map(({ right }) => Number(right))),
    };
  });
  const error = bins.reduce(
    (sum, bin) => sum + (Math.abs(bin.score - bin.right) * bin.rows) / Math.max(1, rows.length),
    0,
  );
  return { bins, error };
}

const BAR = 40;

/** A reliability diagram: a bar as long as the share of right rows, and a mark at the mean score. */
function diagramOf(judged: readonly Judged[]): string[] {
  return calibrationOf(judged).bins.map(({ rows, score, right }, bin) => {
    const bar = Array.from({ length: BAR }, (_, at): string => (at < Math.round(right * BAR) ? '█' : '·'));
    if (rows > 0) bar[Math.min(BAR - 1, Math.round(score * BAR))] = '|';
    return `${(bin / 10).toFixed(1)} to ${((bin + 1) / 10).toFixed(1)}  ${bar.join('')}  ${String(rows).padStart(5)} rows, score ${score.toFixed(2)}, right ${right.toFixed(2)}`;
  });
}

/** The figures of each set as the score is, and as a fit to the other sets would be; a diagram for each sort. */
export function reportOf(now: readonly Judged[], cross: readonly Judged[]): BenchResult {
  const groups = [
    ...new Set(now.flatMap(({ sort, source, mode }) => [`all ${sort}\n${mode}`, `${source}\n${mode}`])),
  ];
  const ownOf = (judged: readonly Judged[], group: string) => {
    const [name, mode] = group.split('\n') as [string, string];
    return judged.filter((one) => one.mode === mode && (one.source === name || `all ${one.sort}` === name));
  };
  const figures = groups.sort().map((group) => {
    const [source, mode] = group.split('\n') as [string, string];
    return { source, mode, now: figuresOf(ownOf(now, group)), cross: figuresOf(ownOf(cross, group)) };
  });
  const cells = ({
    first,
    three,
    ten,
    fraction,
    kept,
    rows,
    wrong,
    none,
    auc,
    error,
  }: ReturnType<typeof figuresOf>) =>
    [first, three, ten, fraction, kept, rows, wrong, none, auc ?? '', error].map(String);
  const sorts = [...new Set(now.map(({ sort }) => sort))];
  return {
    tables: (['now', 'cross'] as const).map((which) => ({
      title:
        which === 'now' ? 'score: as it is' : 'score: weights that were fitted without the set that is asked',
      columns: [
        ...['set', 'mode', 'first', '@3', '@10', 'fraction', 'kept', 'rows', 'wrong', 'none', 'AUC', 'error'],
        ...['answered', 'not'],
      ],
      rows: figures.map((line) => [
        ...[line.source, line.mode, ...cells(line[which])],
        ...line[which].questions.map(String),
      ]),
      notes:
        which === 'now'
          ? []
          : [
              'fraction, kept: of the right rows, among the first ten, and after the default cut; rows: for a question with one answer',
              'wrong: rows with a score of 0.5 or more that do not answer; none: rows for a question without an answer',
              'error: expected error of the score as a likelihood, over the first ten rows',
              ...sorts.flatMap((sort) => [
                `${sort}: rows by score, held back`,
                ...diagramOf(cross.filter((one) => one.sort === sort && one.mode === 'hybrid')),
              ]),
            ],
    })),
    json: {
      figures,
      calibration: Object.fromEntries(
        sorts.map((sort) => [sort, calibrationOf(cross.filter((one) => one.sort === sort))]),
      ),
    },
  };
}
