import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { run } from './cli-process.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const home = temporaryFolder('completions-shells');
const place = join(home, 'place');
const isHere = (program: string) => spawnSync(program, ['--version']).status === 0;
const skip = (shell: Shell) => {
  const missing = [shell, 'script'].find((program) => !isHere(program));
  return missing === undefined ? false : `${missing} is not installed here (a Debian package)`;
};

/** How each shell starts on a terminal without its user's configuration. */
const STARTS: Readonly<Record<Shell, string>> = {
  bash: 'bash --norc --noprofile -i',
  zsh: 'zsh -f -i',
  fish: 'fish --no-config -i',
};

/** What is typed first: the script is taken as the help of the command says, and the program prints its words. */
const SETUPS: Readonly<Record<Shell, readonly string[]>> = {
  bash: [
    "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'",
    'source ./mnemesh.bash',
    'mnemesh() { printf "<%s>" "$@"; echo; }',
  ],
  zsh: [
    'unset zle_bracketed_paste; setopt nobeep; fpath=(./functions $fpath)',
    'autoload -Uz compinit && compinit -D -u',
    'mnemesh() { printf "<%s>" "$@"; echo; }',
  ],
  fish: ['source ./mnemesh.fish', 'function mnemesh; printf "<%s>" $argv; echo; end'],
};

before(async () => {
  mkdirSync(join(place, 'functions'), { recursive: true });
  mkdirSync(join(place, 'files'));
  writeFileSync(join(place, 'files', 'one.jsonl'), '');
  for (const shell of SHELLS) {
    const { code, out } = await run(home, ['completions', shell]);
    assert.equal(code, 0);
    writeFileSync(join(place, shell === 'zsh' ? 'functions/_mnemesh' : `mnemesh.${shell}`), out);
  }
});

/** The words that the program gets when each line is typed on a terminal, `\t` for the key that completes. */
async function completed(shell: Shell, lines: readonly string[]): Promise<string[]> {
  const child = spawn('script', ['-qefc', STARTS[shell], '/dev/null'], {
    cwd: place,
    env: { ...process.env, HOME: home, TERM: 'dumb', PS1: '$ ', LC_ALL: 'C.UTF-8' },
  });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text;
  });
  const typed = async (keys: string, mark: string) => {
    child.stdin.write(keys);
    await until(`${shell} prints ${mark}`, () => seen.includes(mark), { withinMs: 30_000, seen: () => seen });
  };
  try {
    for (const [index, line] of SETUPS[shell].entries())
      await typed(`${line}; echo rea''dy-${index}\r`, `ready-${index}`);
    const words: string[] = [];
    for (const line of lines) {
      const from = seen.length;
      // The end of the line shows that the keys before it were taken.
      for (const keys of line.split(/(?<=\t)/)) {
        child.stdin.write(keys);
        if (keys.endsWith('\t')) await settled(() => seen);
      }
      child.stdin.write('\r');
      await until(`${shell} runs ${JSON.stringify(line)}`, () => /<[^>]*>\r?\n/.test(seen.slice(from)), {
        withinMs: 30_000,
        seen: () => seen.slice(from),
      });
      words.push(/((?:<[^<>]*>)+)\r?\n/.exec(seen.slice(from))![1]!);
    }
    return words;
  } finally {
    child.kill('SIGKILL');
  }
}

/** Waits until nothing new was printed for a while. */
async function settled(seen: () => string): Promise<void> {
  let last = seen();
  let since = Date.now();
  await until(
    'the shell has completed',
    () => {
      if (seen() !== last) {
        last = seen();
        since = Date.now();
      }
      return Date.now() - since > 700;
    },
    { withinMs: 30_000 },
  );
}

const CASES: readonly (readonly [typed: string, words: string])[] = [
  ['mnemesh promo\t', '<promote>'],
  ['mnemesh archive pu\t', '<archive><purge>'],
  ['mnemesh --db x promo\t', '<--db><x><promote>'],
  ['mnemesh mesh conf\t', '<mesh><conflicts>'],
  ['mnemesh store --priori\t', '<store><--priority'],
  ['mnemesh store --tier m\t', '<store><--tier><mid>'],
  ['mnemesh list --db files/o\t', '<list><--db><files/one.jsonl>'],
  ['mnemesh completions z\t', '<completions><zsh>'],
  ['mnemesh help promo\t', '<help><promote>'],
  ['mnemesh help --al\t', '<help><--all>'],
];

describe('completions on a terminal', () => {
  for (const shell of SHELLS) {
    it(`of ${shell}`, { skip: skip(shell) }, async () => {
      const words = await completed(
        shell,
        CASES.map(([typed]) => typed),
      );
      const other = CASES.map(([typed, wanted], index) => ({ typed, wanted, got: words[index]! }));
      assert.deepEqual(
        other.filter(({ wanted, got }) => !got.startsWith(wanted)),
        [],
      );
    });
  }
});
