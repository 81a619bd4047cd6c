import { z } from 'zod';
import { instantMeaning, instantOfDate } from './fields.js';
import type { Operation } from './operation.js';

type JsonSchema = { type?: string | string[]; anyOf?: JsonSchema[]; items?: JsonSchema };

type WithInput = Pick<Operation, 'input'>;

const schemas = new WeakMap<WithInput['input'], Readonly<Record<string, JsonSchema>>>();

function fieldSchemas({ input }: WithInput): Readonly<Record<string, JsonSchema>> {
  let known = schemas.get(input);
  if (known === undefined) {
    const json = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
    known = (json.properties ?? {}) as Record<string, JsonSchema>;
    schemas.set(input, known);
  }
  return known;
}

function typesOf(schema: JsonSchema | undefined): string[] {
  if (schema === undefined) return [];
  const own = schema.type === undefined ? [] : [schema.type].flat();
  return [...own, ...(schema.anyOf ?? []).flatMap(typesOf)];
}

/** The JSON types that a field accepts. */
export function fieldTypes(operation: WithInput, field: string): readonly string[] {
  return typesOf(fieldSchemas(operation)[field]);
}

/** True when the field has no default and may not be absent. */
export function isRequired(operation: Operation, field: string): boolean {
  const schema = operation.input.shape[field] as { safeParse(value: unknown): { success: boolean } };
  return !schema.safeParse(undefined).success;
}

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
  if (WITH_COMMAS.has(field) || !typesOf(itemsOf(fieldSchemas(operation)[field])).includes('string')) return;
  const items = text.split(',').map((item) => item.trim());
  return items.includes('') ? undefined : items;
}

/** The schema of the items of a list, also of one that may be null. */
const itemsOf = (schema: JsonSchema | undefined): JsonSchema | undefined =>
  schema?.items ?? schema?.anyOf?.map(itemsOf).find((items) => items !== undefined);

/** The value of a JSON text; undefined for another text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
