import { fail, ok, type Result } from '../../protocol/base/result.js';

const NONE: Result<ReadonlyMap<string, string>> = ok(new Map());

/**
 * Reads a query string, form-encoded (`+` is a space). INVALID_REQUEST for a sequence that is not UTF-8,
 * VALIDATION_FAILED for a repeated parameter, because either value would be a guess.
 */
export function parseQuery(text: string): Result<ReadonlyMap<string, string>> {
  if (text === '') return NONE;
  const values = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    if (name === null || value === null) {
      return fail('INVALID_REQUEST', 'the query string is not percent-encoded UTF-8');
    }
    if (values.has(name)) {
      return fail('VALIDATION_FAILED', `query parameter given twice: ${name}`, { fields: [name] });
    }
    values.set(name, value);
  }
  return ok(values);
}

function decode(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
