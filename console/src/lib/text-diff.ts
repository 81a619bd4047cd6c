/** A line of two texts side by side. */
export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new';
  readonly text: string;
}

/** Longer texts are shown as one gone and one new: comparing them would take long. */
const LINES_MAX = 1500;

/** The lines of two texts: what both have, what went, and what came. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  if (old.length > LINES_MAX || fresh.length > LINES_MAX) {
    return [...old.map((text) => line('gone', text)), ...fresh.map((text) => line('new', text))];
  }
  const common = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let [at, to] = [0, 0];
  while (at < old.length || to < fresh.length) {
    if (at < old.length && to < fresh.length && old[at] === fresh[to]) {
      lines.push(line('same', old[at]!));
      at += 1;
      to += 1;
    } else if (to >= fresh.length || (at < old.length && common[at + 1]![to]! >= common[at]![to + 1]!)) {
      lines.push(line('gone', old[at]!));
      at += 1;
    } else {
      lines.push(line('new', fresh[to]!));
      to += 1;
    }
  }
  return lines;
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.split('\n'));

const line = (kind: DiffLine['kind'], text: string): DiffLine => ({ kind, text });

/** The length of the longest common sequence of lines from each pair of places on. */
function commonLengths(old: readonly string[], fresh: readonly string[]): readonly Uint16Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let at = old.length - 1; at >= 0; at -= 1) {
    for (let to = fresh.length - 1; to >= 0; to -= 1) {
      table[at]![to] =
        old[at] === fresh[to]
          ? table[at + 1]![to + 1]! + 1
          : Math.max(table[at + 1]![to]!, table[at]![to + 1]!);
    }
  }
  return table;
}
