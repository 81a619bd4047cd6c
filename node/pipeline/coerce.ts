import type { z } from 'zod';
import { fieldFacts } from './field-facts.js';
import { instantMeaning, instantOfDate } from './fields.js';
import type { Operation } from './operation.js';

type WithInput = Pick<Operation, 'input'>;

/** The JSON types that a field accepts. */
export const fieldTypes = (operation: WithInput, field: string): readonly string[] =>
  fieldFacts(operation)[field]?.types ?? [];

/** True when the field has no default and may not be absent. */
export const isRequired = (operation: WithInput, field: string): boolean =>
  fieldFacts(operation)[field]?.required === true;

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/;

/**
 * Converts a text from a query string or a command line to the type of the field. A text without that form stays as it
 * is, so that the schema refuses it with its own message.
 */
export function coerceText(operation: Operation, field: string, value: string): unknown {
  const types = fieldTypes(operation, field);
  if (types.includes('string') || types.length === 0) return value;
  const numeric = types.includes('integer') || types.includes('number');
  if (numeric && NUMBER.test(value)) return Number(value);
  if (types.includes('boolean')) {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
  }
  if (types.includes('array')) {
    const parsed = value.startsWith('[') ? parseJson(value) : undefined;
    if (Array.isArray(parsed)) return parsed;
    return value === '' ? [] : value.split(',');
  }
  if (types.includes('object')) return parseJson(value) ?? value;
  return value;
}

/** Lists of texts whose items may hold commas, so that a comma need not part two of them. */
const WITH_COMMAS: ReadonlySet<string> = new Set(['aliases', 'args']);

/**
 * What a text plainly means that the schema of its field refused: a number, true or false, a list of texts that commas
 * part, a day. Undefined where another reading is possible; the refusal then stands.
 */
export function plainMeaning(operation: WithInput, field: string, text: string): unknown {
  const instant = Object.hasOwn(operation.input.shape, field)
    ? instantMeaning(operation.input.shape[field] as z.ZodType)
    : null;
  if (instant !== null) return instant.dates ? (instantOfDate(text, instant) ?? undefined) : undefined;
  const types = fieldTypes(operation, field);
  if (types.includes('string')) return undefined;
  if ((types.includes('integer') || types.includes('number')) && NUMBER.test(text)) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return types.includes('array') ? listOf(operation, field, text) : undefined;
}

function listOf(operation: WithInput, field: string, text: string): readonly string[] | undefined {
  if (WITH_COMMAS.has(field) || fieldFacts(operation)[field]?.items?.includes('string') !== true) return;
  const items = text.split(',').map((item) => item.trim());
  return items.includes('') ? undefined : items;
}

/** The value of a JSON text; undefined for another text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
