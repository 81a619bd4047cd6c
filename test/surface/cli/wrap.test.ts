import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { unusableStore } from '../../support/test-store.js';
import { event, until } from '../../support/wait.js';
import { commandsIn, runAlone } from './cli-process.js';

const home = temporaryFolder('wrap');
const programs = temporaryFolder('wrap-programs');

/** A program that writes its arguments, a variable and a file that an argument names, and does what it is told. */
const AGENT = `#!${process.execPath}
const { readFileSync, statSync, writeFileSync } = require('node:fs');
const words = process.argv.slice(2);
const at = words.indexOf('--message-file');
const file = at === -1 ? null : words[at + 1];
const said = {
  words,
  variable: process.env.OLLAMA_SYSTEM ?? process.env.MY_TEXT ?? null,
  file: file === null ? null : { text: readFileSync(file, 'utf8'), mode: statSync(file).mode & 0o777 },
};
if (words.includes('wait')) {
  process.on('SIGTERM', () => { process.stdout.write('told to end'); process.exit(9); });
  process.on('SIGINT', () => { process.stdout.write('interrupted'); process.exit(8); });
  setInterval(() => undefined, 1000);
  process.stdout.write('waiting\\n');
} else if (words.includes('copy')) {
  process.stdin.pipe(process.stdout);
} else if (words.includes('die')) process.kill(process.pid, 'SIGKILL');
else {
  process.stdout.write(JSON.stringify(said));
  process.exitCode = words.includes('fail') ? 7 : 0;
}
`;

interface Said {
  readonly words: string[];
  readonly variable: string | null;
  readonly file: { readonly text: string; readonly mode: number } | null;
}

const agent = (name: string) => join(programs, name);

async function wrap(...args: string[]): Promise<Said> {
  const { code, out, err } = await runAlone(home, ['wrap', ...args]);
  assert.equal(code, 0, err);
  return JSON.parse(out) as Said;
}

before(async () => {
  for (const name of ['claude', 'codex', 'aider', 'ollama', 'other']) {
    writeFileSync(agent(name), AGENT);
    chmodSync(agent(name), 0o755);
  }
  const stored = await commandsIn(home)('store', '-T', 'ferry', '-c', 'It leaves at noon', '-n', 'harbour');
  assert.equal(stored.code, 0, stored.err);
});

describe('wrap', { timeout: 120_000 }, () => {
  it('puts the memories behind the flag that the agent has, before its own arguments', async () => {
    for (const [name, flag] of [
      ['claude', '--append-system-prompt'],
      ['codex', '--system'],
      ['other', '--system'],
    ]) {
      const { words } = await wrap(agent(name!), '-n', 'harbour', '--', '--continue', '-n', 'x y');
      assert.equal(words[0], flag);
      assert.match(
        words[1]!,
        /^You have a long-term memory[\s\S]*\n- \[mid\/[0-9a-f]{8}\] ferry \(ns=harbour/,
      );
      assert.deepEqual(words.slice(2), ['--continue', '-n', 'x y']);
    }
  });

  it('uses another flag, a variable or a private file', async () => {
    assert.equal((await wrap(agent('claude'), '--system-flag', '--told')).words[0], '--told');
    assert.match((await wrap(agent('ollama'))).variable!, /long-term memory/);
    const byVariable = await wrap(agent('other'), '--system-env', 'MY_TEXT', '--', 'go');
    assert.match(byVariable.variable!, /long-term memory/);
    assert.deepEqual(byVariable.words, ['go']);
    const { file } = await wrap(agent('aider'), '-n', 'harbour');
    assert.match(file!.text, /ferry/);
    assert.equal(file!.mode, 0o600);
    assert.equal(statSync(join(home, 'wrap')).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(join(home, 'wrap')), []);
    assert.match((await wrap(agent('other'), '--message-file-flag', '--message-file')).file!.text, /memory/);
  });

  it('only says that there is a memory where it holds nothing, and nothing where it is not wanted', async () => {
    const empty = temporaryFolder('wrap-empty');
    const said = JSON.parse((await runAlone(empty, ['wrap', agent('other')])).out) as Said;
    assert.match(said.words[1]!, /^You have a long-term memory[^\n]*$/);
    assert.deepEqual((await wrap(agent('other'), '--no-boot', '--', 'go')).words, ['go']);
    const off = await runAlone(home, ['wrap', agent('other'), '--', 'go'], {
      env: { SVC_BOOT_ENABLED: '0' },
    });
    assert.deepEqual((JSON.parse(off.out) as Said).words, ['go']);
  });

  it('starts the agent also where the memory cannot be read', async () => {
    const broken = temporaryFolder('wrap-broken');
    const env = unusableStore(broken);
    const { code, out } = await runAlone(broken, ['wrap', agent('other'), '--', 'go'], { env });
    assert.equal(code, 0);
    assert.deepEqual((JSON.parse(out) as Said).words.slice(2), ['go']);
  });

  it('ends with the code of the agent, or with 128 and its signal', async () => {
    const ends = async (...words: string[]) => (await runAlone(home, ['wrap', ...words])).code;
    assert.equal(await ends(agent('other'), '--', 'fail'), 7);
    assert.equal(await ends(agent('other'), '--', 'die'), 137);
    assert.equal(await ends(agent('missing')), 127);
    mkdirSync(agent('folder'));
    assert.equal(await ends(agent('folder')), 126);
  });

  it('passes its input on', async () => {
    const { out } = await runAlone(home, ['wrap', agent('other'), '--', 'copy'], { stdin: 'typed text' });
    assert.equal(out, 'typed text');
  });

  for (const [signal, said, code] of [
    ['SIGTERM', 'told to end', 9],
    ['SIGINT', 'interrupted', 8],
  ] as const) {
    it(`passes ${signal} on, and waits for the agent`, async () => {
      const child = spawn(process.execPath, [MAIN, 'wrap', agent('aider'), '--', 'wait'], {
        env: cleanEnvironment(home),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
      await until('the agent runs', () => out.includes('waiting'));
      child.kill(signal);
      const [ended] = await event('wrap ends', child, 'close', { withinMs: 30_000 });
      assert.equal(ended, code);
      assert.equal(out, `waiting\n${said}`);
      assert.deepEqual(readdirSync(join(home, 'wrap')), []);
    });
  }

  it('refuses two ways, a wrong name, and words that are no flags of its own', async () => {
    for (const [args, problem] of [
      [['--system-flag', '--a', '--system-env', 'B'], /--system-flag and --system-env contradict/],
      [['--system-env', 'A B'], /is not a name of a variable/],
      [['--continue'], /unknown flag --continue/],
      [['--limit', 'x'], /--limit must be a whole number/],
    ] as const) {
      const { code, err } = await runAlone(home, ['wrap', agent('other'), ...args]);
      assert.equal(code, 2);
      assert.match(err, problem);
    }
    assert.equal((await runAlone(home, ['wrap'])).code, 2);
  });

  it('is shown in its help with the arguments of the agent', async () => {
    const { out } = await commandsIn(home)('wrap', '--help');
    assert.match(out, /wrap <agent> \[options\] \[-- arguments of the agent\]/);
  });
});
