import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { parseToml } from '../../node/config/config-file.js';
import { replaceFile } from '../../node/config/replace-file.js';
import {
  missingRules,
  permissionsToml,
  policiesAsPermissions,
} from '../../node/operations/governance/policies-as-permissions.js';
import type { Services } from '../../node/pipeline/call.js';
import { PrivateFile } from '../../node/private-file.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { EXPORT_BYTES_MAX, EXPORT_PAGE_SIZE } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { type Standard, standardKind } from '../../protocol/memory/standard-kind.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { asOperator } from '../rules/rule-parts.js';

/** Prints the policies of namespaces as permission rules, or writes them into a configuration file. */
export const migrateCommand = defineCommand({
  name: 'governance migrate-to-permissions',
  summary: 'Print the policies of namespaces as [[permissions.rules]], or write them into a file.',
  flags: [
    {
      name: 'config-in',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'Configuration file to add them to; rules that it has already are left out',
    },
    {
      name: 'config-out',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'Write the result there instead of printing it; it may be the file of --config-in, which is then kept as <file>.bak.<time>',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Print, and write nothing' },
  ],
  examples: [
    'governance migrate-to-permissions --dry-run',
    'governance migrate-to-permissions --config-in config.toml --config-out config.toml',
  ],
  run: (parsed, terminal) =>
    asOperator(parsed, async (services) => {
      const before = textOf(flagValue(parsed, 'config-in'));
      if (!before.ok) return failed(before.error);
      const standards = await standardsOf(services);
      if (!standards.ok) return failed(standards.error);
      const { rules, left } = policiesAsPermissions(standards.value);
      const missing = missingRules(rules, before.value.values);
      const translation = { rules: missing, left };
      const isThere = missing.length === 0 && rules.length > 0;
      const toml = isThere ? '# the file has these rules already\n' : permissionsToml(translation);
      const out = flagValue(parsed, 'config-out');
      if (out === undefined || isThere || isSet(parsed, 'dry-run')) {
        await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(translation)}\n` : toml);
        return ok(0);
      }
      const written = write(parsed, out, before.value.text, toml);
      if (!written.ok) return failed(written.error);
      const { backup } = written.value;
      const answer = { ...translation, written: out, ...(backup === null ? {} : { backup }) };
      const said = `wrote ${out}: ${translation.rules.length} rules added${backup === null ? '' : `; backup: ${backup}`}`;
      await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : `${said}\n`);
      return ok(0);
    }),
});

interface ConfigText {
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The file to add to; empty without one. CONFIG_INVALID where it is not TOML. */
function textOf(path: string | undefined): Result<ConfigText> {
  if (path === undefined) return ok({ text: '', values: {} });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return fail('INVALID_ARGUMENT', `cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
  const parsed = parseToml(text, path);
  return 'code' in parsed ? fail('CONFIG_INVALID', parsed.message) : ok({ text, values: parsed.values });
}

/** Writes the text with the rules behind it. CONFLICT for another file that exists. */
function write(
  parsed: ParsedArguments,
  out: string,
  before: string,
  toml: string,
): Result<{ readonly backup: string | null }> {
  const after = before === '' ? toml : `${before.trimEnd()}\n\n${toml}`;
  if ('code' in parseToml(after, out)) {
    const message =
      'the rules cannot be added to this file: write its "permissions" as [[permissions.rules]] first';
    return fail('CONFIG_INVALID', message);
  }
  const given = flagValue(parsed, 'config-in');
  if (existsSync(out)) {
    if (given === undefined || realpathSync(given) !== realpathSync(out)) {
      return fail(
        'CONFLICT',
        `${out} exists: give it as --config-in too, to add to it, or name another file`,
      );
    }
    return ok({ backup: replaceFile(out, before, after, systemClock, systemRandom) });
  }
  const file = new PrivateFile(out, systemRandom.uuid());
  try {
    file.write(after);
    file.finish();
  } catch (error) {
    file.abandon();
    throw error;
  }
  return ok({ backup: null });
}

async function standardsOf({ store }: Services): Promise<Result<readonly Standard[]>> {
  const standards: Standard[] = [];
  let after = { kind: standardKind.name, id: '' };
  for (;;) {
    const page = await store.query({
      kind: 'export-records',
      after,
      limit: EXPORT_PAGE_SIZE,
      bytesMax: EXPORT_BYTES_MAX,
    });
    if (!page.ok) return failed(page.error);
    const { records, more, last } = page.value;
    const found = records.filter(({ kind }) => kind === standardKind.name);
    standards.push(...found.map(({ image }) => image as Standard));
    if (!more || last === null || last.kind !== standardKind.name) return ok(standards);
    after = last;
  }
}
