import { toon } from '../../protocol/toon.js';
import type { Operation } from './operation.js';

/** The answer as TOON where the operation has rows and its `format` requests it; null where the answer is JSON. */
export function toonText(
  operation: Operation,
  answer: Record<string, unknown>,
  format: unknown,
): string | null {
  // The archive has no format; its rows are only for the views for people.
  if (operation.rows === undefined || operation.rows === 'archived') return null;
  if (format !== 'toon' && format !== 'toon_compact') return null;
  return toon(answer, operation.rows, format === 'toon_compact');
}
