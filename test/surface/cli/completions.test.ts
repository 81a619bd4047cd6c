import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

type Shell = 'bash' | 'zsh' | 'fish';

const home = temporaryFolder('completions');
const scripts = new Map<Shell, string>();
const installed = (shell: Shell) => spawnSync(shell, ['-c', 'true']).status === 0;
const skip = (shell: Shell) => (installed(shell) ? false : `${shell} is not installed here`);

before(async () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const { code, out, err } = await run(home, ['completions', shell]);
    assert.deepEqual([code, err], [0, '']);
    writeFileSync(join(home, `mnemesh.${shell}`), out);
    scripts.set(shell, out);
  }
  mkdirSync(join(home, 'files', 'a folder'), { recursive: true });
  writeFileSync(join(home, 'files', 'one.jsonl'), '');
});

/** What bash offers for these words, the last of which is being typed. */
function bash(...words: string[]): string[] {
  const program = [
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mnemesh',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash reads this
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  const script = join(home, 'mnemesh.bash');
  const { stdout, stderr } = spawnSync('bash', ['-c', program, 'bash', script, 'mnemesh', ...words], {
    cwd: join(home, 'files'),
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

/** Lines and what fish offers for them. */
function fish(line: string): string[] {
  const program = `source ${join(home, 'mnemesh.fish')}; complete -C ${JSON.stringify(line)}`;
  const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', program], {
    cwd: join(home, 'files'),
    encoding: 'utf8',
    env: { ...process.env, HOME: home },
  });
  assert.equal(stderr, '');
  return stdout
    .split('\n')
    .map((row) => row.split('\t')[0] as string)
    .filter((row) => row !== '');
}

/**
 * What the script tells zsh's completion system for these words: commands with summaries, or specifications. The
 * system's own functions are replaced by ones that print.
 */
function zsh(...words: string[]): string[] {
  const program = [
    'compdef() { :; }',
    '_describe() { print -rl -- $commands; }',
    '_arguments() {',
    '  if [[ $1 != -C ]]; then print -rl -- "$@"; return; fi',
    '  shift words',
    '  if (( $#words > 1 )); then state=arguments; else state=command; fi',
    '}',
    'source $1; shift; words=("$@"); _mnemesh',
  ].join('\n');
  const script = join(home, 'mnemesh.zsh');
  const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', program, 'zsh', script, 'mnemesh', ...words], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

const holds = (offers: readonly string[], ...wanted: string[]) => {
  for (const word of wanted) assert.ok(offers.includes(word), `${word} in ${offers.join(' ')}`);
};

describe('completions for bash', { skip: skip('bash') }, () => {
  it('name commands and groups, also after flags and help', () => {
    holds(bash(''), 'store', 'recall', 'serve', 'campaign', 'help');
    assert.deepEqual(bash('promo'), ['promote']);
    assert.deepEqual(bash('--db', 'store', 'promo'), ['promote']);
    assert.deepEqual(bash('--db', '=', 'store', 'promo'), ['promote']);
    assert.deepEqual(bash('help', 'promo'), ['promote']);
    assert.deepEqual(bash('campaign', ''), ['validate']);
  });

  it('name flags, and values where they are few', () => {
    holds(bash('store', '--'), '--title', '--tier', '--json', '--db');
    assert.deepEqual(bash('store', '--tier', ''), ['short', 'mid', 'long']);
    assert.deepEqual(bash('store', '-t', 'm'), ['mid']);
    assert.deepEqual(bash('store', '--tier', '=', 'l'), ['long']);
    assert.deepEqual(bash('store', '--tier', '='), ['short', 'mid', 'long']);
    assert.deepEqual(bash('store', '--title', ''), []);
    assert.deepEqual(bash('mcp', '--profile', ''), [
      ...['core', 'graph', 'admin', 'power', 'full'],
      ...['lifecycle', 'governance', 'meta', 'archive', 'other'],
    ]);
    assert.deepEqual(bash('completions', ''), ['bash', 'zsh', 'fish']);
    holds(bash('campaign', 'validate', '--de'), '--default-sku');
  });

  it('name files where a path is wanted', () => {
    assert.deepEqual(bash('campaign', 'validate', '').sort(), ['a folder', 'one.jsonl']);
    assert.deepEqual(bash('list', '--db', 'o'), ['one.jsonl']);
  });
});

describe('completions for fish', { skip: skip('fish') }, () => {
  it('name commands, flags, values and files', () => {
    holds(fish('mnemesh '), 'store', 'campaign');
    assert.deepEqual(fish('mnemesh --db store promo'), ['promote']);
    assert.deepEqual(fish('mnemesh campaign '), ['validate']);
    holds(fish('mnemesh store --'), '--title', '--tier', '--json');
    assert.deepEqual(fish('mnemesh store --tier ').sort(), ['long', 'mid', 'short']);
    holds(fish('mnemesh campaign validate '), 'one.jsonl');
  });
});

describe('completions for zsh', { skip: skip('zsh') }, () => {
  it('are a script that zsh reads', () => {
    const { status, stderr } = spawnSync('zsh', ['-n', join(home, 'mnemesh.zsh')], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
  });

  it('name commands, flags, values and files', () => {
    assert.ok(zsh('').some((offer) => offer.startsWith('recall:')));
    assert.deepEqual(zsh('campaign', ''), ['validate:Check the per-turn log records of a test campaign.']);
    const store = zsh('store', '');
    assert.ok(
      store.some((spec) => /^--tier=\[.*\]:.*:\(short mid long\)$/.test(spec)),
      store.join('\n'),
    );
    assert.ok(store.some((spec) => /^-t\[/.test(spec)));
    assert.ok(store.some((spec) => /^--db=\[.*\]:path:_files$/.test(spec)));
    assert.ok(zsh('campaign', 'validate', '').includes(':file:_files'));
  });
});

describe('completions', () => {
  it('know every command in all three shells', async () => {
    const { out } = await run(home, ['help', '--all']);
    const names = [...out.matchAll(/^ {2}([a-z][a-z -]*?) {2,}/gm)].map((match) => match[1] as string);
    assert.ok(names.length > 100);
    for (const name of names) {
      const last = name.split(' ').at(-1) as string;
      for (const [shell, script] of scripts) assert.ok(script.includes(last), `${name} for ${shell}`);
    }
  });

  it('are one JSON document when asked for, and refused for another shell', async () => {
    const { out } = await run(home, ['completions', 'fish', '--json']);
    assert.deepEqual(JSON.parse(out), { shell: 'fish', script: scripts.get('fish') });
    const { code, err } = await run(home, ['completions', 'tcsh']);
    assert.equal(code, 2);
    assert.match(err, /"tcsh" is not one of bash, zsh, fish/);
  });
});
