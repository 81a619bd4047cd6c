import { z } from 'zod';
import type { ToolDefinition } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';

/** A tool as `tools/list` shows it. */
export interface ToolRow {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: object;
    readonly required?: string[];
  };
}

type JsonSchema = Record<string, unknown>;

/** Parts of a schema that a caller does not need: text for people, and rules that are checked at the call. */
const TRIMMED: ReadonlySet<string> = new Set([
  '$schema',
  'additionalProperties',
  'description',
  'maxItems',
  'maxLength',
  'maximum',
  'minimum',
  'pattern',
  'propertyNames',
]);

/** Maximum length of a description, in characters (reference-mcp-cli §1.1). */
const DESCRIPTION_LENGTH_MAX = 32;

/** The row of an operation: every property, type, default and enum, without prose (reference-mcp-cli §1.1). */
export const toolRow = (operation: Operation): ToolRow => rowOf(operation, false);

function rowOf(operation: Operation, prose: boolean): ToolRow {
  const json = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const properties: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries((json['properties'] ?? {}) as Record<string, JsonSchema>)) {
    if (operation.mcp?.omit?.includes(name) === true) continue;
    const own = operation.mcp?.defaults?.[name];
    properties[name] = {
      ...(prose ? schema : (trim(schema) as object)),
      ...(own === undefined ? {} : { default: own }),
    };
  }
  const required = ((json['required'] ?? []) as string[]).filter((name) => name in properties);
  return {
    name: operation.name,
    description: (operation.mcp?.description ?? operation.summary).slice(0, DESCRIPTION_LENGTH_MAX),
    inputSchema: { type: 'object', properties, ...(required.length === 0 ? {} : { required }) },
  };
}

/** The full definition of an operation's tool; its schema has prose when `verbose`. */
export function describeTool(operation: Operation, verbose: boolean): ToolDefinition {
  const { name, description, inputSchema } = rowOf(operation, verbose);
  return { name, description, inputSchema, docstring: operation.summary };
}

/** `value` without the trimmed parts. Property names are data, not parts of a schema, so they are kept. */
function trim(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trim);
  if (typeof value !== 'object' || value === null) return value;
  const kept: JsonSchema = {};
  for (const [key, part] of Object.entries(value)) {
    if (TRIMMED.has(key)) continue;
    if (key === 'properties') {
      kept[key] = Object.fromEntries(
        Object.entries(part as object).map(([name, schema]) => [name, trim(schema)]),
      );
    } else {
      kept[key] = key === 'default' || key === 'enum' ? part : trim(part);
    }
  }
  return shortened(kept);
}

/** A choice between schemas that differ only in their type is written as a list of types. */
function shortened(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const choices = anyOf as JsonSchema[];
  const types = choices.map(({ type }) => type);
  const details = choices.flatMap(({ type: _type, ...others }) => Object.entries(others));
  const plain = types.every((type) => typeof type === 'string') && new Set(types).size === types.length;
  // `items` does not constrain text, so it may apply to both types; other keywords could narrow the wrong type.
  if (!plain || details.some(([key]) => key !== 'items') || details.length > 1) return schema;
  return { ...rest, type: types, ...Object.fromEntries(details) };
}
