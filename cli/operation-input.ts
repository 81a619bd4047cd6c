import type { Readable } from 'node:stream';
import type { z } from 'zod';
import { variableOf } from '../node/config/load-settings.js';
import { readSecretFile, type SecretFileProblem } from '../node/config/secret-file.js';
import { coerceText, fieldTypes, parseJson } from '../node/pipeline/coerce.js';
import { instantMeaning } from '../node/pipeline/fields.js';
import { systemClock } from '../node/seams.js';
import { REQUEST_BODY_BYTES_MAX } from '../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { type CliOperation, fieldsOf, flagOf, isRequired, kebab, ownFlagOf } from './operation-flags.js';
import { spokenInstant } from './spoken-instant.js';

type Input = Record<string, unknown>;

/**
 * The fields of a call from the typed words: text is converted to the types of the schema, and `-` is read from
 * standard input if the binding allows it. VALIDATION_FAILED names everything that is missing.
 */
export async function operationInput(
  operation: CliOperation,
  parsed: ParsedArguments,
  stdin: Readable,
): Promise<Result<Input>> {
  const typed = typedTexts(operation, parsed);
  if (!typed.ok) return failed(typed.error);
  const missing = fieldsOf(operation).filter(
    (field) => !typed.value.has(field) && isRequired(operation, field),
  );
  if (missing.length > 0) {
    const names = missing.map((field) => argumentName(operation, field)).join(', ');
    return fail('VALIDATION_FAILED', `missing required argument: ${names}`, { fields: missing });
  }
  const input: Input = { ...operation.cli.defaults };
  let stdinTakenBy: string | null = null;
  for (const [field, texts] of typed.value) {
    if (operation.cli.secrets?.includes(field) === true) {
      const secret = await secretFrom(texts.at(-1)!, `--${kebab(field)}`, stdin);
      if (!secret.ok) return failed(secret.error);
      input[field] = secret.value;
    } else if (operation.cli.files?.includes(field) === true) {
      const value = await fileValue(texts.at(-1)!, `--${flagOf(operation, field)}`, stdin);
      if (!value.ok) return failed(value.error);
      input[field] = value.value;
    } else if (texts.at(-1) === '-' && operation.cli.stdin?.includes(field) === true) {
      if (stdinTakenBy !== null) {
        return fail(
          'INVALID_ARGUMENT',
          `--${kebab(stdinTakenBy)} and --${kebab(field)} cannot both be read from -`,
        );
      }
      stdinTakenBy = field;
      const text = await readText(stdin);
      if (!text.ok) return failed(text.error);
      input[field] = text.value;
    } else {
      input[field] = instantFrom(operation, field, texts) ?? coerce(operation, field, texts);
    }
  }
  for (const [field, { make }] of Object.entries(operation.cli.derived ?? {})) {
    if (!typed.value.has(field)) input[field] = make(input);
  }
  return ok(input);
}

/** The argument of a field: `<id>` by position, `--title` by flag. */
export function argumentName(operation: CliOperation, field: string): string {
  return operation.cli.positionals?.includes(field) === true
    ? `<${kebab(field)}>`
    : `--${flagOf(operation, field)}`;
}

function typedTexts(
  operation: CliOperation,
  parsed: ParsedArguments,
): Result<Map<string, readonly string[]>> {
  const texts = new Map<string, readonly string[]>();
  for (const field of fieldsOf(operation)) {
    const values = parsed.flags.get(ownFlagOf(operation, field));
    if (values !== undefined) texts.set(field, values);
  }
  for (const [index, field] of (operation.cli.positionals ?? []).entries()) {
    const value = parsed.positionals[index];
    if (value === undefined) continue;
    if (texts.has(field)) return fail('INVALID_ARGUMENT', `--${kebab(field)} is given more than once`);
    texts.set(field, [value]);
  }
  return ok(texts);
}

/**
 * The instant that the words of a field mean; null for a field of another kind, for a text that it takes as it is, and for
 * other words: the schema refuses those with the message of every surface.
 */
function instantFrom(operation: CliOperation, field: string, texts: readonly string[]): string | null {
  const schema = operation.input.shape[field] as z.ZodType;
  const meaning = instantMeaning(schema);
  const text = texts.at(-1)!;
  if (meaning === null || schema.safeParse(text).success) return null;
  return spokenInstant(text, meaning, systemClock.nowMs());
}

/** A repeated flag adds to its list; each time it may hold several items, separated by commas. */
function coerce(operation: CliOperation, field: string, typed: readonly string[]): unknown {
  const words = operation.cli.values?.[field];
  const texts = typed.map((text) =>
    words !== undefined && Object.hasOwn(words, text) ? words[text]! : text,
  );
  if (texts.length === 1 || !fieldTypes(operation, field).includes('array')) {
    return coerceText(operation, field, texts.at(-1)!);
  }
  return texts.flatMap((text) => {
    const value = coerceText(operation, field, text);
    return typeof value === 'string' ? value.split(',') : (value as unknown[]);
  });
}

/** A secret from where the argument says; the argument itself would show in the list of processes. */
export async function secretFrom(source: string, flag: string, stdin: Readable): Promise<Result<string>> {
  if (source === '-') {
    const text = await readText(stdin);
    return text.ok ? ok(text.value.split(/\r?\n/, 1)[0]!) : text;
  }
  if (source.startsWith('env:')) {
    const value = variableOf(source.slice(4));
    if (value !== null) return ok(value);
    return fail('INVALID_ARGUMENT', `${flag}: the variable that it names is not set`);
  }
  if (source.startsWith('file:')) {
    const read = readSecretFile(source.slice(5), 0o600);
    if (read.ok) return ok(read.secret.reveal());
    return fail('INVALID_ARGUMENT', `${flag}: the file that it names ${FILE_PROBLEMS[read.problem]}`);
  }
  return fail(
    'INVALID_ARGUMENT',
    `${flag} takes no secret, because other users can read arguments: give - for standard input, env:<variable> or file:<path>`,
  );
}

/** The JSON in a file that an argument names. */
export async function fileValue(path: string, flag: string, stdin: Readable): Promise<Result<unknown>> {
  const { createReadStream } = await import('node:fs');
  let text: Result<string>;
  try {
    text = await readText(path === '-' ? stdin : createReadStream(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return fail('INVALID_ARGUMENT', `${flag}: ${path} cannot be read (${code})`);
  }
  if (!text.ok) return text;
  const value = parseJson(text.value);
  return value === undefined ? fail('INVALID_ARGUMENT', `${flag}: ${path} does not hold JSON`) : ok(value);
}

const FILE_PROBLEMS: Readonly<Record<SecretFileProblem, string>> = {
  missing: 'does not exist',
  unreadable: 'cannot be read',
  'lax-mode': 'may be read by others: chmod 600 it',
  empty: 'has no secret on its first line',
};

async function readText(stdin: Readable): Promise<Result<string>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > REQUEST_BODY_BYTES_MAX) {
      return fail('PAYLOAD_TOO_LARGE', `standard input is longer than ${REQUEST_BODY_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks)));
  } catch {
    return fail('INVALID_ARGUMENT', 'standard input is not valid UTF-8');
  }
}
