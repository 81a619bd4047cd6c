import { nearest } from '../protocol/base/nearest.js';
import { fail, ok, type Result } from '../protocol/base/result.js';

/** A flag of a command. */
export interface Flag {
  /** In kebab case, without dashes. */
  readonly name: string;
  readonly short?: string | undefined;
  /** A list may be repeated; a switch takes no value unless written `--flag=false`. */
  readonly kind: 'value' | 'list' | 'switch';
  /** A schema checks the value of the switch, so that its error message is the same on every surface. */
  readonly checkedBySchema?: true;
}

/** The arguments of a command. */
export interface ArgumentSpec {
  readonly flags: readonly Flag[];
  /** Other names of flags: name to flag name. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Names of the positionals, in order. */
  readonly positionals: readonly string[];
  /** The words after `--` are not read: they are meant for another program. */
  readonly rest?: true;
}

/** Words as they were typed: values by flag name (a switch holds `true` or `false`), and positionals in order. */
export interface ParsedArguments {
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
  /** The words after `--` that are meant for another program. */
  readonly rest: readonly string[];
}

/**
 * Reads a command's words strictly: an unknown flag is UNKNOWN_FIELD with the nearest known one; a missing value, a
 * repeated flag that is not a list, or a surplus word is INVALID_ARGUMENT. A value may begin with a dash if it is not
 * a flag of the command; after `--` no word is a flag.
 */
export function parseArguments(spec: ArgumentSpec, words: readonly string[]): Result<ParsedArguments> {
  const flags = new Map<string, string[]>();
  const positionals: string[] = [];
  const rest: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string;
    if (word === '--') {
      (spec.rest === true ? rest : positionals).push(...words.slice(index + 1));
      break;
    }
    if (word === '-' || !word.startsWith('-')) {
      positionals.push(word);
      continue;
    }
    const { flag, attached, negated } = findFlag(spec, word);
    if (flag === undefined) return unknownFlag(spec, word);
    const values = flags.get(flag.name) ?? [];
    if (values.length > 0 && flag.kind !== 'list') {
      return fail('INVALID_ARGUMENT', `--${flag.name} is given more than once`);
    }
    if (flag.kind === 'switch') {
      const value = negated ? 'false' : (attached ?? 'true');
      if (flag.checkedBySchema !== true && value !== 'true' && value !== 'false') {
        return fail('INVALID_ARGUMENT', `--${flag.name} takes only true or false as a value`);
      }
      values.push(value);
    } else if (attached !== null) {
      values.push(attached);
    } else {
      const next = words[index + 1];
      if (next === undefined) return fail('INVALID_ARGUMENT', `--${flag.name} needs a value`);
      if (
        next === '--' ||
        (next !== '-' && next.startsWith('-') && findFlag(spec, next).flag !== undefined)
      ) {
        return fail(
          'INVALID_ARGUMENT',
          `--${flag.name} needs a value; write --${flag.name}=${next} if that is the value`,
        );
      }
      values.push(next);
      index += 1;
    }
    flags.set(flag.name, values);
  }
  const surplus = positionals[spec.positionals.length];
  if (surplus !== undefined) {
    const hint = positionals.length > 1 ? '; put quotes around text with spaces' : '';
    return fail('INVALID_ARGUMENT', `unexpected argument "${surplus}"${hint}`);
  }
  return ok({ flags, positionals, rest });
}

function findFlag(spec: ArgumentSpec, word: string) {
  const equals = word.indexOf('=');
  const attached = equals === -1 ? null : word.slice(equals + 1);
  const typed = equals === -1 ? word : word.slice(0, equals);
  if (!typed.startsWith('--')) {
    return { flag: spec.flags.find(({ short }) => `-${short}` === typed), attached, negated: false };
  }
  const named = (name: string) => spec.flags.find((flag) => flag.name === (spec.aliases?.[name] ?? name));
  const flag = named(typed.slice(2));
  if (flag !== undefined) return { flag, attached, negated: false };
  const positive = typed.startsWith('--no-') && attached === null ? named(typed.slice(5)) : undefined;
  return { flag: positive?.kind === 'switch' ? positive : undefined, attached, negated: true };
}

function unknownFlag(spec: ArgumentSpec, word: string): Result<never> {
  const typed = word.replace(/=.*$/s, '');
  const known = [...spec.flags.map(({ name }) => name), ...Object.keys(spec.aliases ?? {})];
  const near = typed.startsWith('--') ? nearest(typed.slice(2), known) : null;
  const isText = /\s/.test(typed) && spec.positionals.length > 0;
  const hint =
    near !== null
      ? `; did you mean --${near}?`
      : isText
        ? '; write -- before a text that begins with a dash'
        : '';
  return fail('UNKNOWN_FIELD', `unknown flag ${typed}${hint}`, { fields: [typed] });
}
