import { fail, failed, type Result } from '../protocol/base/result.js';
import { type ParsedArguments, parseArguments } from './arguments.js';
import type { Command, DocumentedFlag, Positional } from './command.js';
import { flagValue, GLOBAL_FLAGS } from './global-flags.js';
import { GLOBAL_ROWS, helpText, typedFlag } from './help.js';
import type { Terminal } from './terminal.js';

/** A command that is not an operation. */
export interface CommandDeclaration {
  /** The name in `NATIVE_COMMANDS`; empty for what runs without a command. */
  readonly name: string;
  readonly summary: string;
  /** Its own flags. One with the name of a flag of every command replaces that flag. */
  readonly flags?: readonly DocumentedFlag[];
  readonly positionals?: readonly Positional[];
  /** What the words after `--` are, which the command does not read. */
  readonly rest?: string;
  /** Example calls for help, without the program's name. */
  readonly examples?: readonly string[];
  /** Runs with the checked words; returns the exit code, or the failure to report. */
  readonly run: (parsed: ParsedArguments, terminal: Terminal) => Promise<Result<number>>;
}

/**
 * Makes a command from its declaration: it reads its words strictly (INVALID_ARGUMENT, UNKNOWN_FIELD), checks required
 * positionals, flags and choices (VALIDATION_FAILED), and writes its help.
 */
export function defineCommand(declaration: CommandDeclaration): Command {
  const { name, summary, flags = [], positionals = [], examples = [], rest } = declaration;
  const everywhere = GLOBAL_FLAGS.filter((flag) => !flags.some((own) => own.name === flag.name));
  const usage = [
    name,
    ...positionals.map((each) => (each.required === false ? `[${each.name}]` : `<${each.name}>`)),
    ...flags.filter((flag) => flag.required === true).map((flag) => `--${flag.name} <${flag.value}>`),
    '[options]',
    ...(rest === undefined ? [] : [`[-- ${rest}]`]),
  ]
    .join(' ')
    .trimStart();
  return {
    name,
    summary,
    usage,
    flags,
    positionals,
    help: (columns) =>
      helpText(
        {
          summary,
          usage,
          sections: [
            { title: 'Arguments', rows: positionals.map((each) => [`<${each.name}>`, each.doc]) },
            {
              title: 'Options',
              rows: flags.map((flag) => [typedFlag(flag.name, flag.short, flag.value), docOf(flag)]),
            },
            {
              title: 'Options of every command',
              rows: GLOBAL_ROWS.filter(([typed]) =>
                everywhere.some((flag) => typed === typedFlag(flag.name, flag.short, flag.value)),
              ),
            },
          ],
          examples,
        },
        columns,
      ),
    run: async (words, terminal) => {
      const spec = {
        flags: [...flags, ...everywhere],
        positionals: positionals.map((each) => each.name),
        ...(rest === undefined ? {} : { rest: true as const }),
      };
      const parsed = parseArguments(spec, words);
      if (!parsed.ok) return failed(parsed.error);
      const problem = checked(parsed.value, flags, positionals);
      return problem.ok ? declaration.run(parsed.value, terminal) : failed(problem.error);
    },
  };
}

const docOf = (flag: DocumentedFlag) => (flag.required === true ? `${flag.doc} (required)` : flag.doc);

/** The values that an argument takes, behind its name. */
const choicesOf = (choices: readonly string[] | undefined): string =>
  choices === undefined ? '' : ` (${choices.join(', ')})`;

/** VALIDATION_FAILED for a positional or flag that is missing, or a value that is not one of the choices. */
function checked(
  parsed: ParsedArguments,
  flags: readonly DocumentedFlag[],
  positionals: readonly Positional[],
): Result<ParsedArguments> {
  const missing = [
    ...positionals
      .slice(parsed.positionals.length)
      .filter((each) => each.required !== false)
      .map(({ name, choices }) => ({ name, shown: `<${name}>${choicesOf(choices)}` })),
    ...flags
      .filter((flag) => flag.required === true && flagValue(parsed, flag.name) === undefined)
      .map(({ name, choices }) => ({ name, shown: `--${name}${choicesOf(choices)}` })),
  ];
  if (missing.length > 0) {
    const names = missing.map(({ shown }) => shown).join(', ');
    return fail('VALIDATION_FAILED', `missing required argument: ${names}`, {
      fields: missing.map(({ name }) => name.replaceAll('-', '_')),
    });
  }
  const given = [
    ...flags.map((flag) => ({ ...flag, shown: `--${flag.name}`, values: parsed.flags.get(flag.name) ?? [] })),
    ...positionals.map((each, index) => ({
      ...each,
      shown: `<${each.name}>`,
      values: parsed.positionals.slice(index, index + 1),
    })),
  ];
  for (const { name, shown, choices, values } of given) {
    const wrong = choices === undefined ? undefined : values.find((value) => !choices.includes(value));
    if (wrong !== undefined) {
      const known = choices?.join(', ');
      return fail('VALIDATION_FAILED', `${shown}: "${wrong}" is not one of ${known}`, { fields: [name] });
    }
  }
  return { ok: true, value: parsed };
}
