import { fieldTypes, isRequired as isRequiredField } from '../node/pipeline/coerce.js';
import type { CliBinding, Operation } from '../node/pipeline/operation.js';
import type { ArgumentSpec, Flag } from './arguments.js';
import type { DocumentedFlag } from './command.js';
import { GLOBAL_FLAGS } from './global-flags.js';

/** An operation that has a command. */
export type CliOperation = Operation & { readonly cli: CliBinding };

/** The format for people, which is the default. */
export const FOR_PEOPLE = 'human';

export const kebab = (name: string) => name.replaceAll('_', '-');

/** The flag of a field, without dashes. */
export const ownFlagOf = (operation: CliOperation, field: string) =>
  kebab(operation.cli.flags?.[field] ?? field);

/** The same, as help and messages show it. */
export const flagOf = (operation: CliOperation, field: string) =>
  kebab(operation.cli.shown?.[field] ?? ownFlagOf(operation, field));

/** True when a flag is that of a field, and not the one of every command with the same name. */
export const hasOwnFlag = (operation: CliOperation, flag: string) =>
  fieldsOf(operation).some((field) => ownFlagOf(operation, field) === flag);

/** Fields that this surface accepts, positionals included, in the order of the schema. */
export function fieldsOf(operation: CliOperation): string[] {
  return Object.keys(operation.input.shape).filter((field) => operation.cli.omit?.includes(field) !== true);
}

/** True when a call without the field fails. */
export function isRequired(operation: CliOperation, field: string): boolean {
  const { defaults, derived } = operation.cli;
  if (defaults?.[field] !== undefined || derived?.[field] !== undefined) return false;
  return isRequiredField(operation, field);
}

/** The letter that stands for a field, if any. */
export function shortOf(operation: CliOperation, field: string): string | undefined {
  return Object.entries(operation.cli.short ?? {}).find(([, named]) => named === field)?.[0];
}

/** The flag of commands that ask before they run. */
export const YES: DocumentedFlag = {
  name: 'yes',
  short: 'y',
  kind: 'switch',
  doc: 'Do not ask on a terminal; elsewhere nothing is asked',
};

/** The arguments of the command: every field as a flag, its positionals, and the flags of all commands. */
export function argumentSpecOf(operation: CliOperation): ArgumentSpec {
  const own = fieldsOf(operation).map(
    (field): Flag => ({
      name: ownFlagOf(operation, field),
      short: shortOf(operation, field),
      kind: kindOf(operation, field),
      checkedBySchema: true,
    }),
  );
  const aliases = Object.entries(operation.cli.aliases ?? {});
  if (operation.cli.confirm !== undefined) own.push(YES);
  return {
    flags: [...own, ...GLOBAL_FLAGS.filter(({ name }) => !own.some((flag) => flag.name === name))],
    aliases: Object.fromEntries(aliases.map(([alias, field]) => [kebab(alias), ownFlagOf(operation, field)])),
    positionals: operation.cli.positionals ?? [],
  };
}

function kindOf(operation: CliOperation, field: string): Flag['kind'] {
  const types = fieldTypes(operation, field);
  if (types.includes('array')) return 'list';
  return types.length === 1 && types[0] === 'boolean' ? 'switch' : 'value';
}
