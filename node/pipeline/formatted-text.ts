import type { Operation } from './operation.js';
import { dotText, mermaidText } from './pictures.js';
import { toon } from './toon.js';

/** The answer in the `format` or `output_format` that the input requests; null where the answer is JSON. */
export function formattedText(
  operation: Operation,
  answer: Record<string, unknown>,
  { format, content, output_format: outputFormat }: Readonly<Record<string, unknown>>,
): string | null {
  const { rows, picture, table } = operation;
  if (table !== undefined && outputFormat === 'table') return table(answer);
  if (picture !== undefined && format === 'dot') return dotText(picture(answer));
  if (picture !== undefined && format === 'mermaid') return mermaidText(picture(answer));
  // The archive has no format; its rows are only for the views for people.
  if (rows === undefined || rows === 'archived') return null;
  if (format !== 'toon' && format !== 'toon_compact') return null;
  const text = content === 'passage' ? 'passage' : content === 'full' ? 'content' : null;
  return toon(answer, rows, format === 'toon_compact', text);
}

/** True for an operation whose answer has other formats than JSON. */
export const hasFormats = ({ rows, picture, table }: Operation): boolean =>
  picture !== undefined || table !== undefined || (rows !== undefined && rows !== 'archived');
