import { z } from 'zod';
import { instantMeaning } from '../node/pipeline/fields.js';
import { hasFormats } from '../node/pipeline/formatted-text.js';
import type { Flag } from './arguments.js';
import type { DocumentedFlag, Positional } from './command.js';
import { GLOBAL_ROWS, type HelpPage, type HelpRow, typedFlag } from './help.js';
import {
  argumentSpecOf,
  type CliOperation,
  FOR_PEOPLE,
  fieldsOf,
  flagOf,
  isRequired,
  kebab,
  ownFlagOf,
  shortOf,
  YES,
} from './operation-flags.js';
import { spokenForms } from './spoken-instant.js';

interface FieldSchema {
  readonly items?: FieldSchema;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly FieldSchema[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
}

/** The help of an operation's command: what it does, its arguments from the schema, examples. */
export function operationHelp(operation: CliOperation): HelpPage {
  const { flags, positionals } = operationArguments(operation);
  const aliases = Object.keys(operation.cli.aliases ?? {});
  return {
    summary: operation.summary,
    usage: usageOf(operation),
    sections: [
      { title: 'Arguments', rows: positionals.map(({ name, doc }): HelpRow => [`<${name}>`, doc]) },
      {
        title: 'Options',
        rows: flags.map(({ name, short, value, doc }): HelpRow => [typedFlag(name, short, value), doc]),
      },
      {
        title: 'Options of every command',
        rows: GLOBAL_ROWS.filter(
          ([typed]) =>
            ![...fieldsOf(operation).map((field) => ownFlagOf(operation, field)), ...aliases].some((name) =>
              typed.includes(`--${kebab(name)} `),
            ),
        ),
      },
    ],
    examples: operation.cli.examples ?? [],
  };
}

/** The arguments of the command, documented from the schema. */
export function operationArguments(operation: CliOperation): {
  readonly flags: readonly DocumentedFlag[];
  readonly positionals: readonly Positional[];
} {
  const json = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
  const schemas = (json.properties ?? {}) as Record<string, FieldSchema>;
  const documented = (field: string) => {
    const schema = schemas[field] ?? {};
    const choices = schema.enum ?? schema.items?.enum;
    return {
      name: flagOf(operation, field),
      doc: documentation(operation, field, schema),
      ...(choices === undefined ? {} : { choices: choices.map(String) }),
    };
  };
  const byPosition = operation.cli.positionals ?? [];
  const known = new Map(argumentSpecOf(operation).flags.map((flag) => [flag.name, flag]));
  const flags = fieldsOf(operation)
    .filter((field) => !byPosition.includes(field))
    .map((field) => ({
      ...(known.get(ownFlagOf(operation, field)) as Flag),
      ...documented(field),
      value: valueWord(schemas[field] ?? {}),
    }));
  return {
    flags: operation.cli.confirm === undefined ? flags : [...flags, YES],
    positionals: byPosition.map((field) => ({
      ...documented(field),
      required: isRequired(operation, field),
    })),
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
    ...required.map((field) => `--${flagOf(operation, field)} <${flagOf(operation, field)}>`),
    '[options]',
  ].join(' ');
}

function documentation(operation: CliOperation, field: string, schema: FieldSchema): string {
  if (field === 'format' && hasFormats(operation)) {
    const formats = [FOR_PEOPLE, ...(schema.enum ?? [])].join(', ');
    return `Shape of the answer: ${formats} (default ${FOR_PEOPLE})`;
  }
  const standard = operation.cli.defaults?.[field] ?? schema.default;
  const meaning = instantMeaning(operation.input.shape[field] as z.ZodType);
  const notes = [
    ...(isRequired(operation, field) ? ['required'] : []),
    ...(standard === undefined || isEmpty(standard) ? [] : [`default ${textOf(standard)}`]),
    ...(operation.cli.derived?.[field] === undefined ? [] : [`default ${operation.cli.derived[field].from}`]),
    ...otherNames(operation, field).map((name) => `also --${name}`),
    ...(meaning === null ? [] : [`also ${spokenForms(meaning)}`]),
    ...(operation.cli.stdin?.includes(field) === true ? ['- reads standard input'] : []),
    ...(operation.cli.files?.includes(field) === true
      ? ['path of a file with JSON, - for standard input']
      : []),
    ...(operation.cli.secrets?.includes(field) === true
      ? ['given as - for standard input, env:<variable> or file:<path>']
      : []),
    ...(valueWord(schema) === 'list' ? ['separated by commas, or repeated'] : []),
  ];
  const doc = schema.description ?? kebab(field).replaceAll('-', ' ');
  const choices = schema.enum !== undefined && !schema.enum.every((choice) => doc.includes(String(choice)));
  const text = choices ? `${doc}: ${schema.enum?.join(', ')}` : doc;
  return notes.length === 0 ? text : `${text} (${notes.join('; ')})`;
}

/** The flags of a field that help does not show in its first column. */
function otherNames(operation: CliOperation, field: string): string[] {
  if (operation.cli.positionals?.includes(field) === true) {
    const flag = shortOf(operation, field) === undefined ? [] : [ownFlagOf(operation, field)];
    return [...flag, ...aliasesOf(operation, field)];
  }
  const names = [ownFlagOf(operation, field), ...aliasesOf(operation, field)];
  return names.filter((name) => name !== flagOf(operation, field));
}

const aliasesOf = (operation: CliOperation, field: string) =>
  Object.entries(operation.cli.aliases ?? {}).flatMap(([alias, named]) =>
    named === field ? [kebab(alias)] : [],
  );

/** The placeholder of the value in help; undefined for a switch. */
function valueWord(schema: FieldSchema): string | undefined {
  const types = typesOf(schema);
  if (types.length === 1 && types[0] === 'boolean') return undefined;
  if (types.includes('array')) return schema.type === 'array' && !takesTexts(schema) ? 'json' : 'list';
  if (types.includes('object')) return 'json';
  if (types.includes('string')) return 'text';
  return types.includes('integer') || types.includes('number') ? 'number' : 'value';
}

const takesTexts = (schema: FieldSchema) => schema.items?.type === 'string';

function typesOf(schema: FieldSchema): string[] {
  return [...[schema.type ?? []].flat(), ...(schema.anyOf ?? []).flatMap(typesOf)];
}

const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
