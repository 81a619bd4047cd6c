import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { environmentWith } from '../../node/config/load-settings.js';
import { systemRandom } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { utf8Prefix } from '../../protocol/base/utf8.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import type { Terminal } from '../terminal.js';
import { printable } from '../views/text.js';
import { BOOT_FLAGS, bootAsked } from './boot-command.js';
import { bootReport } from './boot-report.js';
import { bootText } from './boot-text.js';

/** How a program takes a text for its model: behind a flag, in a variable, or in a file behind a flag. */
type Way =
  | { readonly by: 'flag'; readonly name: string }
  | { readonly by: 'variable'; readonly name: string }
  | { readonly by: 'file'; readonly name: string };

const flag = (name: string): Way => ({ by: 'flag', name });

/** The ways of known programs; others take `--system`. */
const WAYS: Readonly<Record<string, Way>> = {
  codex: flag('--system'),
  'codex-cli': flag('--system'),
  gemini: flag('--system'),
  claude: flag('--append-system-prompt'),
  'claude-cli': flag('--append-system-prompt'),
  aider: { by: 'file', name: '--message-file' },
  ollama: { by: 'variable', name: 'OLLAMA_SYSTEM' },
};

/** The flags that name a way. */
const WAY_FLAGS = {
  'system-flag': 'flag',
  'system-env': 'variable',
  'message-file-flag': 'file',
} as const;

const PREAMBLE =
  'You have a long-term memory: the MCP server "mnemesh". Recall with memory_recall before you ask the user or guess, and store with memory_store what a later session needs.';

/** A word of an argument or a variable has at most 128 KiB on Linux. */
const TEXT_BYTES_MAX = 120_000;

/** Exit codes of a shell. */
const EXIT = { notFound: 127, notStarted: 126, signal: 128 } as const;

/** Starts an agent with what it should know. Its streams, signals and exit code are those of the agent. */
export const wrapCommand = defineCommand({
  name: 'wrap',
  summary: 'Start an agent with what it should know from its memory in its system prompt.',
  flags: [
    {
      name: 'system-flag',
      kind: 'value',
      value: 'flag',
      doc: 'Flag of the agent before the text (its usual one, or --system)',
    },
    { name: 'system-env', kind: 'value', value: 'name', doc: 'Variable of the agent that holds the text' },
    {
      name: 'message-file-flag',
      kind: 'value',
      value: 'flag',
      doc: 'Flag of the agent before a file with the text',
    },
    { name: 'no-boot', kind: 'switch', doc: 'Start the agent as it is' },
    ...BOOT_FLAGS,
  ],
  positionals: [{ name: 'agent', doc: 'The program of the agent' }],
  rest: 'arguments of the agent',
  examples: ['wrap claude -- --continue', 'wrap my-agent --system-flag --instructions -- --model fast'],
  run: wrap,
});

async function wrap(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const agent = parsed.positionals[0]!;
  const way = wayOf(parsed, agent);
  if (!way.ok) return failed(way.error);
  const text = await textFor(parsed);
  if (!text.ok) return failed(text.error);
  if (text.value === null) return ok(await run(agent, parsed.rest, {}, terminal));
  const { by, name } = way.value;
  if (by === 'flag') return ok(await run(agent, [name, text.value, ...parsed.rest], {}, terminal));
  if (by === 'variable') return ok(await run(agent, parsed.rest, { [name]: text.value }, terminal));
  const file = messageFile(settingsFor(parsed).home, text.value);
  try {
    return ok(await run(agent, [name, file, ...parsed.rest], {}, terminal));
  } finally {
    rmSync(file, { force: true });
  }
}

function wayOf(parsed: ParsedArguments, agent: string): Result<Way> {
  const named = Object.entries(WAY_FLAGS).flatMap(([word, by]) => {
    const name = flagValue(parsed, word);
    return name === undefined ? [] : [{ word, way: { by, name } }];
  });
  const [first, second] = named;
  if (first === undefined) return ok(WAYS[basename(agent)] ?? flag('--system'));
  if (second !== undefined)
    return fail(
      'INVALID_ARGUMENT',
      `--${first.word} and --${second.word} contradict each other: name one way`,
    );
  const { by, name } = first.way;
  if (by === 'variable' ? /^[A-Za-z_]\w*$/.test(name) : name !== '') return ok(first.way);
  return fail('VALIDATION_FAILED', `--${first.word}: "${name}" is not a name of a ${by}`, {
    fields: [first.word.replaceAll('-', '_')],
  });
}

/** What the agent is told; null where it is started as it is. An agent starts without its memories where they cannot be read. */
async function textFor(parsed: ParsedArguments): Promise<Result<string | null>> {
  const asked = bootAsked(parsed, process.cwd());
  if (!asked.ok) return failed(asked.error);
  if (isSet(parsed, 'no-boot')) return ok(null);
  const report = await bootReport(parsed, { ...asked.value, whole: false, facts: false });
  if (report === null) return ok(null);
  const memories = report.status === 'ok' ? `\n\n${bootText(report, 'text', false)}` : '';
  return ok(utf8Prefix(printable(PREAMBLE + memories), TEXT_BYTES_MAX));
}

/** A file that only its user can read. */
function messageFile(home: string, text: string): string {
  const folder = join(home, 'wrap');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${systemRandom.uuid()}.txt`);
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  return file;
}

/** Signals that are passed on to the agent. A terminal sends the first two to it by itself. */
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT'] as const;
const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/** Runs the agent with the streams of this process to its end. */
function run(
  agent: string,
  words: readonly string[],
  added: Readonly<Record<string, string>>,
  terminal: Terminal,
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(agent, words, { stdio: 'inherit', env: environmentWith(added) });
    const passOn = (signal: NodeJS.Signals) => void child.kill(signal);
    const leave = () => undefined;
    const onTerminal = process.stdin.isTTY === true;
    const handlers = [
      ...FROM_TERMINAL.map((signal) => [signal, onTerminal ? leave : passOn] as const),
      ...PASSED_ON.map((signal) => [signal, passOn] as const),
    ];
    for (const [signal, handler] of handlers) process.on(signal, handler);
    const end = (code: number) => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
      resolve(code);
    };
    child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const missing = code === 'ENOENT';
      const why = missing ? 'there is no such program' : message;
      void terminal.complain(`error: cannot start ${agent}: ${why}\n`);
      end(missing ? EXIT.notFound : EXIT.notStarted);
    });
    child.once('exit', (code, signal) =>
      end(code ?? EXIT.signal + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}
