/** A record of a file, with the number of its first line; `problem` when its text is not JSON. */
export type FileRecord =
  | { readonly line: number; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

/**
 * The records of a text: one JSON document (an object, or an array of records), or JSON Lines. Blank lines are
 * ignored.
 */
export function jsonRecords(text: string): readonly FileRecord[] {
  const whole = parsed(text);
  if (whole.ok) {
    const start = text.search(/\S/);
    if (!Array.isArray(whole.value)) return [{ line: lineAt(text, start), value: whole.value }];
    const lines = elementLines(text, start);
    return whole.value.map((value, index) => ({ line: lines[index] as number, value }));
  }
  const records: FileRecord[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const record = parsed(line);
    records.push(
      record.ok
        ? { line: index + 1, value: record.value }
        : { line: index + 1, problem: `is not JSON: ${record.message}` },
    );
  }
  return records;
}

type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

function parsed(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: (error as Error).message };
  }
}

const lineAt = (text: string, offset: number) => text.slice(0, offset).split('\n').length;

/** The line on which each element of the array at `start` begins; the text is known to be JSON. */
function elementLines(text: string, start: number): number[] {
  const lines: number[] = [];
  let line = 1;
  let depth = 0;
  let expected = false;
  for (const { 0: token, index } of text.matchAll(/\n|"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s[\]{},"]+/g)) {
    if (token === '\n') {
      line += 1;
      continue;
    }
    if (expected && token !== ']') lines.push(line);
    expected = false;
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth === 1 && (token === ',' || index === start)) expected = true;
  }
  return lines;
}
