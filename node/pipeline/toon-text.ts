import { toon } from '../../protocol/toon.js';
import type { Operation } from './operation.js';

/** The answer as TOON where the operation has rows and the input's `format` requests it; null where it is JSON. */
export function toonText(
  operation: Operation,
  answer: Record<string, unknown>,
  { format, content }: Readonly<Record<string, unknown>>,
): string | null {
  // The archive has no format; its rows are only for the views for people.
  if (operation.rows === undefined || operation.rows === 'archived') return null;
  if (format !== 'toon' && format !== 'toon_compact') return null;
  const text = content === 'passage' ? 'passage' : content === 'full' ? 'content' : null;
  return toon(answer, operation.rows, format === 'toon_compact', text);
}
