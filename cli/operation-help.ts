import { z } from 'zod';
import { GLOBAL_ROWS, type HelpPage, type HelpRow, typedFlag } from './help.js';
import { type CliOperation, fieldsOf, isRequired, kebab, shortOf } from './operation-flags.js';

interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly FieldSchema[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
}

/** The help of an operation's command: what it does, its arguments from the schema, examples. */
export function operationHelp(operation: CliOperation): HelpPage {
  const json = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
  const schemas = (json.properties ?? {}) as Record<string, FieldSchema>;
  const positionals = operation.cli.positionals ?? [];
  const row = (field: string, typed: string): HelpRow => {
    const schema = schemas[field] ?? {};
    return [typed, documentation(operation, field, schema)];
  };
  return {
    summary: operation.summary,
    usage: usageOf(operation),
    sections: [
      { title: 'Arguments', rows: positionals.map((field) => row(field, `<${kebab(field)}>`)) },
      {
        title: 'Options',
        rows: fieldsOf(operation)
          .filter((field) => !positionals.includes(field))
          .map((field) =>
            row(field, typedFlag(kebab(field), shortOf(operation, field), valueWord(schemas[field] ?? {}))),
          ),
      },
      {
        title: 'Options of every command',
        rows: GLOBAL_ROWS.filter(
          ([typed]) => !fieldsOf(operation).some((field) => typed.includes(`--${kebab(field)} `)),
        ),
      },
    ],
    examples: operation.cli.examples ?? [],
  };
}

/** The call in one line: `store --title <text> --content <text> [options]`. */
export function usageOf(operation: CliOperation): string {
  const positionals = operation.cli.positionals ?? [];
  const required = fieldsOf(operation).filter(
    (field) => !positionals.includes(field) && isRequired(operation, field),
  );
  return [
    operation.cli.command,
    ...positionals.map((field) => (isRequired(operation, field) ? `<${kebab(field)}>` : `[${kebab(field)}]`)),
    ...required.map((field) => `--${kebab(field)} <${kebab(field)}>`),
    '[options]',
  ].join(' ');
}

function documentation(operation: CliOperation, field: string, schema: FieldSchema): string {
  const standard = operation.cli.defaults?.[field] ?? schema.default;
  const notes = [
    ...(isRequired(operation, field) ? ['required'] : []),
    ...(standard === undefined || isEmpty(standard) ? [] : [`default ${textOf(standard)}`]),
    ...(operation.cli.stdin?.includes(field) === true ? ['- reads standard input'] : []),
    ...(valueWord(schema) === 'list' ? ['separated by commas, or repeated'] : []),
  ];
  const doc = schema.description ?? kebab(field).replaceAll('-', ' ');
  const choices = schema.enum !== undefined && !schema.enum.every((choice) => doc.includes(String(choice)));
  const text = choices ? `${doc}: ${schema.enum?.join(', ')}` : doc;
  return notes.length === 0 ? text : `${text} (${notes.join('; ')})`;
}

/** What stands for the value in help; undefined for a switch, which takes none. */
function valueWord(schema: FieldSchema): string | undefined {
  const types = typesOf(schema);
  if (types.length === 1 && types[0] === 'boolean') return undefined;
  if (types.includes('array')) return schema.type === 'array' && !takesTexts(schema) ? 'json' : 'list';
  if (types.includes('object')) return 'json';
  if (types.includes('string')) return 'text';
  return types.includes('integer') || types.includes('number') ? 'number' : 'value';
}

const takesTexts = (schema: FieldSchema & { readonly items?: FieldSchema }) =>
  schema.items?.type === 'string';

function typesOf(schema: FieldSchema): string[] {
  return [...[schema.type ?? []].flat(), ...(schema.anyOf ?? []).flatMap(typesOf)];
}

const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
