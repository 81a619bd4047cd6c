import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { event } from '../support/wait.js';

// Runs alone: it measures how long an installation takes on the whole machine.

const PROJECT = join(import.meta.dirname, '../../..');
const SILENCE_MAX_MS = 10_000;
/** On two cores, where SQLite is compiled. */
const READY_WITHIN_MS = 90_000;

const tarballs = temporaryFolder('tarballs');

/** Runs a command to its end; answers its code, its time, and the longest time without a line of it. */
async function timed(command: string, args: readonly string[], options: object) {
  const begun = performance.now();
  let last = begun;
  let silence = 0;
  let output = '';
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const heard = (text: Buffer) => {
    silence = Math.max(silence, performance.now() - last);
    last = performance.now();
    output += text;
  };
  child.stdout.on('data', heard);
  child.stderr.on('data', heard);
  const [code] = await event(`${command} ends`, child, 'close', { withinMs: 600_000 });
  return {
    code,
    ms: performance.now() - begun,
    silence: Math.max(silence, performance.now() - last),
    output,
  };
}

describe('the package', () => {
  it('is packed on a fresh clone, in time and never in silence', async (context) => {
    const clone = join(temporaryFolder('clone'), 'mnemesh');
    execFileSync('git', ['clone', '--quiet', PROJECT, clone]);
    const pack = ['pack', '--foreground-scripts', '--pack-destination', tarballs];
    const { code, ms, silence, output } = await timed('npm', pack, { cwd: clone });
    assert.equal(code, 0, output);
    context.diagnostic(
      `ready after ${Math.round(ms / 1000)} s, silent for at most ${Math.round(silence / 1000)} s`,
    );
    assert.ok(silence < SILENCE_MAX_MS, `silent for ${silence} ms\n${output}`);
    assert.ok(ms < READY_WITHIN_MS, `ready after ${ms} ms`);
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: clone,
        encoding: 'utf8',
      }),
    ) as [{ files: { path: string }[]; size: number }];
    const paths = packed.files.map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => /^dist\/test|\.map$|(?<!\.d)\.ts$/.test(path)),
      [],
    );
    assert.ok(paths.includes('dist/node/semantics/encoder/sentence-encoder.bin'));
    assert.ok(packed.size < 40_000_000, String(packed.size));
  });

  for (const major of [20, 22, 24]) {
    it(`works from an empty home with Node ${major}`, async (context) => {
      const folder = temporaryFolder(`node-${major}`);
      const tools = join(folder, 'tools');
      mkdirSync(tools);
      writeFileSync(join(tools, 'package.json'), '{}');
      const platform = `node-${process.platform}-${process.arch}@${major}`;
      execFileSync('npm', ['install', '--silent', platform], { cwd: tools });
      const nodeFolder = join(tools, 'node_modules', platform.replace(/@\d+$/, ''));
      const home = join(folder, 'home');
      mkdirSync(home);
      const env: NodeJS.ProcessEnv = {
        // What the machine needs to reach packages stays: without its certificates npm tries again for minutes.
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))),
        npm_config_userconfig: join(homedir(), '.npmrc'),
        HOME: home,
        PATH: `${join(nodeFolder, 'bin')}:${join(folder, 'g/bin')}:${process.env['PATH']}`,
        // Its headers, for where no binary can be fetched.
        npm_config_nodedir: nodeFolder,
      };
      const shell = (line: string) => spawnSync('sh', ['-c', line], { cwd: folder, env, encoding: 'utf8' });
      const [tarball] = readdirSync(tarballs);
      const installed = shell(`npm install --global --prefix ${folder}/g ${join(tarballs, tarball!)}`);
      assert.equal(installed.status, 0, installed.stderr);
      assert.match(shell('node --version').stdout, new RegExp(`^v${major}\\.`));
      assert.equal(shell('mnemesh --version').status, 0);
      const shown = shell('mnemesh install cursor --dry-run');
      assert.equal(shown.status, 0, shown.stderr);
      assert.match(shown.stdout, /would change .+mcp\.json[\s\S]+SVC_AGENT_ID/);

      const store = 'mnemesh store --title "Deploy window" --content "Sundays, 02:00 to 04:00 UTC"';
      const first = shell(store);
      if (first.status !== 0) {
        assert.equal(first.status, 78, first.stderr);
        const [, command] =
          /^error: the native part of SQLite [^\n]+\nrun: ([^\n]+)\n$/.exec(first.stderr) ?? [];
        context.diagnostic(first.stderr);
        const mended = shell(command!);
        assert.equal(mended.status, 0, mended.stderr);
        assert.equal(shell(store).status, 0);
      }
      assert.equal(first.stderr === '' || first.status === 78, true, first.stderr);
      const found = shell('mnemesh recall "when may we deploy?"');
      assert.match(found.stdout, /Deploy window/, found.stderr);

      const token = 'mnemesh token mint --for ai:helper --namespaces "team/**" > helper.token';
      const narrower = 'mnemesh token narrow file:helper.token --namespaces team/ops > ops.token';
      const held = shell(`umask 077 && ${token} && ${narrower} && mnemesh token verify file:ops.token`);
      assert.equal(held.status, 0, held.stderr);
      assert.match(held.stdout, /namespaces: team\/ops\n/);

      const client = new Client({ name: 'test', version: '1' });
      const program = { command: 'mnemesh', args: ['mcp'], env: env as Record<string, string> };
      await client.connect(new StdioClientTransport({ ...program, command: join(folder, 'g/bin/mnemesh') }));
      const call = async (name: string, args: Record<string, unknown>) =>
        JSON.stringify(await client.callTool({ name, arguments: args }));
      assert.match(await call('memory_store', { title: 'Lunch', content: 'At noon, in the yard' }), /Lunch/);
      assert.match(await call('memory_recall', { context: 'when is lunch?' }), /Lunch/);
      await client.close();
    });
  }
});
