import { toon } from '../../protocol/toon.js';
import type { Operation } from './operation.js';

/** The answer as TOON where the operation has rows and its `format` asks for it; null where it goes as JSON. */
export function toonText(
  operation: Operation,
  answer: Record<string, unknown>,
  format: unknown,
): string | null {
  // The archive has no format; its rows are for people's views alone.
  if (operation.rows === undefined || operation.rows === 'archived') return null;
  if (format !== 'toon' && format !== 'toon_compact') return null;
  return toon(answer, operation.rows, format === 'toon_compact');
}
