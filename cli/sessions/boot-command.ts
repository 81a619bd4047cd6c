import { namespaceNameProblem } from '../../protocol/base/ids.js';
import {
  SESSION_START_LIMIT,
  SESSION_START_LIMIT_MAX,
  SESSION_START_TOKENS,
} from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import type { Terminal } from '../terminal.js';
import { type BootAsked, bootReport } from './boot-report.js';
import { type BootFormat, bootText } from './boot-text.js';
import { numberFlag } from './number-flag.js';

const FORMATS: Readonly<Record<string, BootFormat>> = {
  ...{ text: 'text', json: 'json', toon: 'toon' },
  ...{ 'toon-compact': 'toon_compact', toon_compact: 'toon_compact' },
};

/** The flags about which memories an agent gets at its start. */
export const BOOT_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'namespace',
    short: 'n',
    kind: 'value',
    value: 'text',
    doc: 'Namespace (that of the folder: the name of its repository, or its own)',
  },
  {
    name: 'limit',
    kind: 'value',
    value: 'number',
    doc: `At most this many memories, 1 to ${SESSION_START_LIMIT_MAX} (${SESSION_START_LIMIT})`,
  },
  {
    name: 'budget-tokens',
    kind: 'value',
    value: 'number',
    doc: `At most about this many tokens, 0 for no bound (${SESSION_START_TOKENS})`,
  },
];

/** What these flags ask for. */
export function bootAsked(
  parsed: ParsedArguments,
  folder: string,
): Result<Omit<BootAsked, 'whole' | 'facts'>> {
  const bounds = { usual: SESSION_START_LIMIT, min: 1, max: SESSION_START_LIMIT_MAX };
  const limit = numberFlag(parsed, 'limit', bounds);
  if (!limit.ok) return failed(limit.error);
  const tokens = { usual: SESSION_START_TOKENS, min: 0, max: 999_999_999 };
  const budgetTokens = numberFlag(parsed, 'budget-tokens', tokens);
  if (!budgetTokens.ok) return failed(budgetTokens.error);
  const namespace = flagValue(parsed, 'namespace')?.normalize('NFC') ?? null;
  const problem = namespace === null ? null : namespaceNameProblem(namespace);
  if (problem !== null)
    return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
  return ok({ namespace, folder, limit: limit.value, budgetTokens: budgetTokens.value });
}

/** Prints what an agent should know when it begins; an agent must not fail because of it, so its exit code is 0. */
export const bootCommand = defineCommand({
  name: 'boot',
  summary:
    'Print what an agent should know at its start: standards, and the most important and newest memories.',
  flags: [
    ...BOOT_FLAGS,
    {
      name: 'format',
      kind: 'value',
      value: Object.keys(FORMATS).join('|'),
      choices: Object.keys(FORMATS),
      doc: 'Shape of the output (text)',
    },
    { name: 'no-header', kind: 'switch', doc: 'Leave out the lines about the node' },
    { name: 'quiet', short: 'q', kind: 'switch', doc: 'Print nothing where there is no memory or a problem' },
    {
      name: 'cwd',
      kind: 'value',
      value: 'folder',
      path: 'folder',
      doc: 'The folder of the agent (this one)',
    },
  ],
  examples: ['boot', 'boot --quiet --no-header --limit 5', 'boot --format json --namespace team/alpha'],
  run: boot,
});

async function boot(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const asked = bootAsked(parsed, flagValue(parsed, 'cwd') ?? process.cwd());
  if (!asked.ok) return failed(asked.error);
  const named = flagValue(parsed, 'format');
  const format = isSet(parsed, 'json') ? 'json' : FORMATS[named ?? 'text']!;
  if (isSet(parsed, 'json') && named !== undefined && named !== 'json')
    return fail('INVALID_ARGUMENT', '--json and --format contradict each other', { fields: ['format'] });
  const header = !isSet(parsed, 'no-header');
  const whole = format === 'json';
  const report = await bootReport(parsed, { ...asked.value, whole, facts: whole || header });
  if (report === null || (isSet(parsed, 'quiet') && report.status !== 'ok')) return ok(0);
  await terminal.print(bootText(report, format, header));
  return ok(0);
}
