const BEGIN = '# >>> mnemesh (managed by "mnemesh install"; do not edit) >>>';
const END = '# <<< mnemesh <<<';

/** Whether the text has a block between the marks. */
export const hasBlock = (text: string): boolean => rangeOf(text) !== null;

/** Text in which the block between the marks has these lines, or is gone (null). All other characters stay as they are. */
export function editBlock(text: string, lines: readonly string[] | null): string {
  const range = rangeOf(text);
  const block = lines === null ? '' : `${[BEGIN, ...lines, END].join('\n')}\n`;
  if (range !== null) {
    const [from, to] = range;
    // With the block goes the blank line that was put before it.
    const start = lines === null && text.slice(0, from).endsWith('\n\n') ? from - 1 : from;
    return text.slice(0, start) + block + text.slice(to);
  }
  if (lines === null) return text;
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return text + gap + block;
}

function rangeOf(text: string): readonly [number, number] | null {
  const from = text.search(new RegExp(`^${escaped(BEGIN)}`, 'm'));
  if (from === -1) return null;
  const end = text.indexOf(END, from);
  if (end === -1) return null;
  const after = end + END.length;
  return [from, text[after] === '\n' ? after + 1 : after];
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
