/** A value of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  /** As they stand in the text; empty without labels. */
  readonly labels: string;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;

/** The samples of a text; comments and what is no number are left out. */
export function samplesOf(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    const number = Number(value);
    return name === undefined || Number.isNaN(number) ? [] : [{ name, labels, value: number }];
  });
}

/** The gauges of a text, which its `# TYPE` lines name, each as the sum over its labels. */
export function gaugesOf(text: string): ReadonlyMap<string, number> {
  const names = new Set([...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name!));
  const gauges = new Map<string, number>();
  for (const { name, value } of samplesOf(text))
    if (names.has(name)) gauges.set(name, (gauges.get(name) ?? 0) + value);
  return gauges;
}

/** The points of a line through values, in a box of this size. */
export function linePoints(values: readonly number[], width: number, height: number): string {
  const [low, high] = [Math.min(...values, 0), Math.max(...values, 1)];
  const step = values.length < 2 ? 0 : width / (values.length - 1);
  return values
    .map((value, index) => {
      const y = height - ((value - low) / (high - low)) * height;
      return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}
