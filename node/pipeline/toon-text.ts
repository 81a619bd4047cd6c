import { toon } from '../../protocol/toon.js';
import type { Operation } from './operation.js';

/** The answer as TOON where the operation has rows and its `format` asks for it; null where it goes as JSON. */
export function toonText(
  operation: Operation,
  answer: Record<string, unknown>,
  format: unknown,
): string | null {
  if (operation.rows === undefined || (format !== 'toon' && format !== 'toon_compact')) return null;
  return toon(answer, operation.rows, format === 'toon_compact');
}
