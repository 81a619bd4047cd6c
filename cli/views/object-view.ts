import { oneLine, pad } from './text.js';

type Fields = Readonly<Record<string, unknown>>;

/** Any answer as lines of name and value; members of lists are indented, one to a line. */
export function objectView(answer: Fields): string {
  return `${linesOf(answer, '').join('\n')}\n`;
}

function linesOf(fields: Fields, indent: string): string[] {
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map((name) => name.length)) + 2;
  return names.flatMap((name) => {
    const value = fields[name];
    const head = indent + name.replaceAll('_', ' ');
    if (Array.isArray(value)) {
      if (value.length === 0) return [`${indent}${pad(name.replaceAll('_', ' '), width)}none`];
      return [head, ...value.map((item) => `${indent}  ${itemText(item)}`)];
    }
    if (typeof value === 'object' && value !== null)
      return [head, ...linesOf(value as Fields, `${indent}  `)];
    return [`${indent}${pad(name.replaceAll('_', ' '), width)}${oneLine(String(value))}`];
  });
}

function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return oneLine(String(item));
  const values = Object.values(item).map((value) =>
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  );
  return oneLine(values.join('  '));
}
