import { fieldTypes, isRequired as isRequiredField } from '../node/pipeline/coerce.js';
import type { CliBinding, Operation } from '../node/pipeline/operation.js';
import type { ArgumentSpec, Flag } from './arguments.js';
import { GLOBAL_FLAGS } from './global-flags.js';

/** An operation that has a command. */
export type CliOperation = Operation & { readonly cli: CliBinding };

/** The format for people, which is the default. */
export const FOR_PEOPLE = 'human';

export const kebab = (name: string) => name.replaceAll('_', '-');

/** The flag of a field, without dashes, as help and messages show it. */
export const flagOf = (operation: CliOperation, field: string) =>
  kebab(operation.cli.shown?.[field] ?? field);

/** Fields that this surface accepts, positionals included, in the order of the schema. */
export function fieldsOf(operation: CliOperation): string[] {
  return Object.keys(operation.input.shape).filter((field) => operation.cli.omit?.includes(field) !== true);
}

/** True when a call without the field fails. */
export function isRequired(operation: CliOperation, field: string): boolean {
  return operation.cli.defaults?.[field] === undefined && isRequiredField(operation, field);
}

/** The letter that stands for a field, if any. */
function shortOf(operation: CliOperation, field: string): string | undefined {
  return Object.entries(operation.cli.short ?? {}).find(([, named]) => named === field)?.[0];
}

/** The arguments of the command: every field as a flag, its positionals, and the flags of all commands. */
export function argumentSpecOf(operation: CliOperation): ArgumentSpec {
  const own = fieldsOf(operation).map(
    (field): Flag => ({
      name: kebab(field),
      short: shortOf(operation, field),
      kind: kindOf(operation, field),
      checkedBySchema: true,
    }),
  );
  const aliases = Object.entries(operation.cli.aliases ?? {});
  return {
    flags: [...own, ...GLOBAL_FLAGS.filter(({ name }) => !own.some((flag) => flag.name === name))],
    aliases: Object.fromEntries(aliases.map(([alias, field]) => [kebab(alias), kebab(field)])),
    positionals: operation.cli.positionals ?? [],
  };
}

function kindOf(operation: CliOperation, field: string): Flag['kind'] {
  const types = fieldTypes(operation, field);
  if (types.includes('array')) return 'list';
  return types.length === 1 && types[0] === 'boolean' ? 'switch' : 'value';
}
