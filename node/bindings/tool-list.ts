import { z } from 'zod';
import type { ToolDefinition } from '../pipeline/call.js';
import type { McpBinding, Operation } from '../pipeline/operation.js';
import { type PlainSchema, type PlainType, type ToolRow, toolTable } from './tool-table.js';

type JsonSchema = Readonly<Record<string, unknown>>;

/** The row of an operation: a sentence or two, and one line for each argument, for the model that reads them. */
export const toolRow = (operation: Operation): ToolRow =>
  toolTable()[operation.name]?.row ?? rowOf(operation);

function rowOf(operation: Operation): ToolRow {
  const binding = operation.mcp as McpBinding;
  const { properties: shared, required: needed } = inputSchema(operation);
  const properties: Record<string, PlainSchema> = {};
  for (const [name, schema] of Object.entries(shared)) {
    if (binding.omit?.includes(name) === true) continue;
    const own = binding.defaults?.[name];
    const line = binding.lines?.[name] ?? lineOf(schema);
    properties[name] = {
      ...plain(schema),
      ...(line === undefined ? {} : { description: line }),
      ...(own === undefined ? {} : { default: own }),
    };
  }
  const required = needed.filter((name) => name in properties);
  return {
    name: operation.name,
    description: binding.description,
    inputSchema: { type: 'object', properties, ...(required.length === 0 ? {} : { required }) },
  };
}

/** The definition of an operation's tool; `verbose` gives its schema whole, with the bounds and patterns of each value. */
export function describeTool(operation: Operation, verbose: boolean): ToolDefinition {
  const { name, description, inputSchema: listed } = toolRow(operation);
  const { properties, required } = inputSchema(operation);
  const whole = Object.entries(properties).filter(([field]) => field in listed.properties);
  return {
    name,
    description,
    inputSchema: verbose ? { type: 'object', properties: Object.fromEntries(whole), required } : listed,
    docstring: operation.summary,
  };
}

function inputSchema({ input }: Operation) {
  const json = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  return {
    properties: (json['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>,
    required: (json['required'] ?? []) as readonly string[],
  };
}

/** The description of a field, which a field that may be null has at the other of its two types. */
const lineOf = (schema: JsonSchema): string | undefined =>
  (schema['description'] as string | undefined) ??
  choicesOf(schema)
    .map(({ description }) => description as string | undefined)
    .find((text) => text !== undefined);

/** The choices that a schema leaves, but null. */
const choicesOf = (schema: JsonSchema): readonly JsonSchema[] =>
  ((schema['anyOf'] ?? schema['oneOf'] ?? []) as JsonSchema[]).filter(({ type }) => type !== 'null');

/** A schema with one type: of several the first one declared; any JSON counts as an object. */
function plain(schema: JsonSchema): PlainSchema {
  const choices = choicesOf(schema);
  if (choices.length > 0) return { ...joined(choices.map(plain)), ...defaultOf(schema) };
  const types = [schema['type'] ?? 'object'].flat() as (PlainType | 'null')[];
  const type = types.find((each) => each !== 'null') as PlainType;
  const values = schema['enum'] as readonly unknown[] | undefined;
  return {
    type,
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== '') }),
    ...(type === 'array' ? { items: plain((schema['items'] ?? {}) as JsonSchema) } : {}),
    ...membersOf(schema),
    ...defaultOf(schema),
  };
}

/** One schema for several: the first, without the words that are not all that its type may say. */
function joined([first, ...others]: readonly PlainSchema[]): PlainSchema {
  const { enum: values, ...open } = first!;
  const same = others.filter(({ type }) => type === open.type);
  if (values === undefined || same.length > 0) return open;
  return first!;
}

function membersOf(schema: JsonSchema): Partial<PlainSchema> {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>> | undefined;
  if (properties === undefined) return {};
  const members = Object.entries(properties).map(([name, member]) => [name, plain(member)] as const);
  const required = schema['required'] as readonly string[] | undefined;
  return {
    properties: Object.fromEntries(members),
    ...(required === undefined || required.length === 0 ? {} : { required }),
  };
}

/** The default of a field, unless it is what an absent field means anyway. */
function defaultOf(schema: JsonSchema): Partial<PlainSchema> {
  const value = schema['default'];
  if (value === undefined || value === null || value === false || value === '') return {};
  if (typeof value === 'object' && Object.keys(value).length === 0) return {};
  return { default: value };
}
