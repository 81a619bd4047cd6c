import { NotEditableError } from './not-editable.js';

/** How a kind of file marks its block. */
export interface Marks {
  readonly begin: string;
  readonly end: string;
}

const WORDS = 'mnemesh (managed by "mnemesh install"; do not edit)';

/** The block of a file whose comments begin with `#`, such as TOML and YAML. */
export const HASH_MARKS: Marks = { begin: `# >>> ${WORDS} >>>`, end: '# <<< mnemesh <<<' };

/** The block of a Markdown file. */
export const MARKDOWN_MARKS: Marks = { begin: `<!-- >>> ${WORDS} >>> -->`, end: '<!-- <<< mnemesh <<< -->' };

/** Whether the text has a block between the marks. */
export const hasBlock = (text: string, marks: Marks): boolean => rangeOf(text, marks) !== null;

/**
 * Text in which the block between the marks has these lines, or is gone (null). All other characters stay as they are.
 * Throws NotEditableError where one of the marks is missing.
 */
export function editBlock(text: string, lines: readonly string[] | null, marks: Marks): string {
  const range = rangeOf(text, marks);
  const block = lines === null ? '' : `${[marks.begin, ...lines, marks.end].join('\n')}\n`;
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

function rangeOf(text: string, { begin, end }: Marks): readonly [number, number] | null {
  const from = text.search(new RegExp(`^${escaped(begin)}`, 'm'));
  if (from === -1) return null;
  const at = text.indexOf(end, from);
  const next = text.indexOf(begin, from + begin.length);
  // What stands after it may be the user's.
  if (at === -1 || (next !== -1 && next < at)) throw new NotEditableError(`has "${begin}" without "${end}"`);
  const after = at + end.length;
  return [from, text[after] === '\n' ? after + 1 : after];
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
