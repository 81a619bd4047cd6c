import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { inspectConfiguration } from '../node/config/load-settings.js';
import { createFile } from '../node/config/replace-file.js';
import { systemRandom } from '../node/seams.js';
import { namespaceNameProblem } from '../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import { PROGRAM } from './command.js';
import { hasTerminal } from './confirm.js';
import { defineCommand } from './define-command.js';
import { isSet, settingSources } from './global-flags.js';
import { printable } from './views/text.js';

interface Question {
  /** The key of the configuration file, with its section. */
  readonly key: string;
  readonly ask: string;
  readonly usual: string;
  readonly problem: (answer: string) => string | null;
  /** The value in TOML. */
  readonly written: (answer: string) => string;
}

const yesNo = {
  problem: (answer: string) => (/^(y|yes|n|no)$/i.test(answer) ? null : 'answer y or n'),
  written: (answer: string) => String(/^y/i.test(answer)),
};

const QUESTIONS: readonly Question[] = [
  {
    key: 'storage.default_namespace',
    ask: 'Namespace of notes that name none',
    usual: 'global',
    problem: namespaceNameProblem,
    written: (answer) => JSON.stringify(answer),
  },
  {
    key: 'http.port',
    ask: 'Port of the HTTP API',
    usual: '9077',
    problem: (answer) =>
      /^\d{1,5}$/.test(answer) && Number(answer) <= 65_535 ? null : 'must be a port, 0 to 65535',
    written: (answer) => answer,
  },
  {
    key: 'embeddings.backend',
    ask: 'Find notes by meaning with the built-in encoder (builtin), or by words alone (none)',
    usual: 'builtin',
    problem: (answer) => (answer === 'builtin' || answer === 'none' ? null : 'must be builtin or none'),
    written: (answer) => JSON.stringify(answer),
  },
  { key: 'logging.enabled', ask: 'Write the log of serve into files', usual: 'n', ...yesNo },
  { key: 'audit.enabled', ask: 'Copy the audit chain into files', usual: 'n', ...yesNo },
];

/** Asks what a node needs to know, and writes its configuration. */
export const initCommand = defineCommand({
  name: 'init',
  summary: 'Ask a few questions and write the configuration file; a file that is there stays as it is.',
  flags: [{ name: 'yes', short: 'y', kind: 'switch', doc: 'Ask nothing, and write the usual answers' }],
  examples: ['init', 'init --yes --config ./node.toml'],
  run: async (parsed, terminal) => {
    const { file } = inspectConfiguration(...settingSources(parsed));
    const { path } = file;
    if (existsSync(path)) {
      return fail('CONFLICT', `${path} is there already: edit it, or see it with ${PROGRAM} config show`);
    }
    const isAsking = !isSet(parsed, 'yes');
    if (isAsking && !hasTerminal()) {
      return fail(
        'VALIDATION_FAILED',
        'init asks questions and needs a terminal: give --yes for the usual answers',
      );
    }
    const answers = isAsking ? await asked() : ok(QUESTIONS.map(({ usual }) => usual));
    if (!answers.ok) return failed(answers.error);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createFile(path, fileOf(answers.value), systemRandom);
    const values = Object.fromEntries(QUESTIONS.map(({ key }, index) => [key, answers.value[index]]));
    const next = `Next: ${PROGRAM} serve, or ${PROGRAM} install <client> for an agent on this machine\n`;
    await terminal.print(
      isSet(parsed, 'json') ? `${JSON.stringify({ path, answers: values })}\n` : `wrote ${path}\n${next}`,
    );
    return ok(0);
  },
});

async function asked(): Promise<Result<readonly string[]>> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    const answers: string[] = [];
    for (const { ask, usual, problem } of QUESTIONS) {
      for (;;) {
        const typed = await lines.question(printable(`${ask} [${usual}]: `), { signal: ended.signal });
        const answer = typed.trim() === '' ? usual : typed.trim();
        const why = problem(answer);
        if (why === null) {
          answers.push(answer);
          break;
        }
        process.stderr.write(`${printable(why)}\n`);
      }
    }
    return ok(answers);
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    return fail('VALIDATION_FAILED', 'the questions were not answered; nothing was written');
  } finally {
    lines.close();
  }
}

function fileOf(answers: readonly string[]): string {
  const sections = new Map<string, string[]>();
  for (const [index, { key, ask, written }] of QUESTIONS.entries()) {
    const [section, name] = key.split('.') as [string, string];
    const lines = sections.get(section) ?? [];
    sections.set(section, [...lines, `# ${ask}.`, `${name} = ${written(answers[index]!)}`]);
  }
  const text = [...sections].map(([section, lines]) => [`[${section}]`, ...lines].join('\n'));
  return `${['schema_version = 2', ...text].join('\n\n')}\n`;
}
