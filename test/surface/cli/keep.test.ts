import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';
import { type Finished, run } from './cli-process.js';

const home = temporaryFolder('keep');
const mnemesh = (args: readonly string[], env: Record<string, string> = {}) => run(home, args, { env });
const ok = async (args: readonly string[], env: Record<string, string> = {}) => {
  const { code, out, err } = await mnemesh(args, env);
  assert.equal(code, 0, err);
  return out;
};
const json = async (args: readonly string[], env: Record<string, string> = {}) =>
  JSON.parse(await ok([...args, '--json'], env)) as Record<string, unknown>;
const titles = (rows: unknown) => (rows as { title: string }[]).map(({ title }) => title).sort();

describe('what a store says', () => {
  it('names the expiry, and nothing where there is none', async () => {
    const mid = await ok(['store', '-T', 'brief', '-c', 'x']);
    assert.match(mid, /^stored: \S+ \[mid\] \(ns=global\) expires \d{4}-\S+Z unless it is used\n$/);
    const long = await ok(['store', '-T', 'lasting', '-c', 'x', '--tier', 'long']);
    assert.match(long, /^stored: \S+ \[long\] \(ns=global\)\n$/);
    assert.equal(typeof (await json(['store', '-T', 'shown', '-c', 'x']))['expires_at'], 'string');
  });

  it('names a near duplicate, and "get" and "list" show it without a daemon', async () => {
    const text = 'The tide table of the harbour hangs beside the door of the office';
    const first = await json(['store', '-T', 'Tide table', '-c', text, '-n', 'tides']);
    const second = await ok(['store', '-T', 'Tide tables', '-c', `${text} 2`, '-n', 'tides']);
    assert.match(second, new RegExp(`; nearly the same as ${first['id']} "Tide table"\n$`));
    assert.match(await ok(['get', String(first['id'])]), /\nnearly the same\n {2}\S+ 0\.\d+ Tide tables\n$/);
    assert.match(
      await ok(['list', '-n', 'tides']),
      /\n2 memories\n2 of them nearly the same as another memory/,
    );
  });

  it('describes what merge does when a title is taken', async () => {
    await ok(['store', '-T', 'taken', '-c', 'one']);
    const { code, err } = await mnemesh(['store', '-T', 'taken', '-c', 'two']);
    assert.equal(code, 1);
    assert.match(
      err,
      /--on-conflict version keeps both; --on-conflict merge replaces the text of the stored memory/,
    );
  });

  it('of an expired memory can be listed until it is removed', async () => {
    const { id } = await json(['store', '-T', 'gone', '-c', 'x', '-n', 'past']);
    await ok(['update', String(id), '--expires-at', new Date(Date.now() + 1500).toISOString()]);
    await pause(1600);
    assert.deepEqual((await json(['list', '-n', 'past']))['memories'], []);
    assert.deepEqual(titles((await json(['list', '-n', 'past', '--include-expired']))['memories']), ['gone']);
  });
});

describe('--agent-id', () => {
  const HIDDEN = ['-n', 'own', '--scope', 'private'];
  before(async () => {
    await ok(['store', '-T', 'of ann', '-c', 'ferry', ...HIDDEN, '--agent-id', 'ann']);
    await ok(['store', '-T', 'of bob', '-c', 'ferry', ...HIDDEN], { SVC_AGENT_ID: 'bob' });
  });

  it('means what SVC_AGENT_ID means, for reads too', async () => {
    for (const agent of ['ann', 'bob']) {
      const env = { SVC_AGENT_ID: agent };
      for (const [args, rows] of [
        [['list', '-n', 'own'], 'memories'],
        [['search', 'ferry', '-n', 'own'], 'results'],
        [['recall', 'ferry', '-n', 'own'], 'memories'],
      ] as const) {
        assert.deepEqual(titles((await json([...args, '--agent-id', agent]))[rows]), [`of ${agent}`]);
        assert.deepEqual(titles((await json(args, env))[rows]), [`of ${agent}`]);
      }
    }
    assert.equal(((await json(['list', '-n', 'own']))['memories'] as unknown[]).length, 2, 'the operator');
  });

  it('reads, changes and deletes as that agent', async () => {
    const [row] = (await json(['list', '-n', 'own', '--agent-id', 'ann']))['memories'] as { id: string }[];
    for (const command of ['get', 'delete']) {
      const { code, err } = await mnemesh([command, row!.id, '--agent-id', 'bob', '--json']);
      assert.deepEqual([code, (JSON.parse(err) as { code: string }).code], [1, 'NOT_FOUND'], command);
    }
    const update = ['update', row!.id, '--priority', '7', '--agent-id'];
    assert.equal((await mnemesh([...update, 'bob'])).code, 1);
    assert.equal((await mnemesh([...update, 'ann'])).code, 0);
  });

  it('does not loosen what SVC_AGENT_ID binds, and --owner filters', async () => {
    const bound = { SVC_AGENT_ID: 'bob' };
    const listed = await json(['list', '-n', 'own', '--agent-id', 'ann'], bound);
    assert.deepEqual(titles(listed['memories']), ['of bob']);
    assert.deepEqual(titles((await json(['list', '-n', 'own', '--owner', 'ann']))['memories']), ['of ann']);
    assert.match(await ok(['list', '--help']), /--owner <text> +Only memories of this agent/);
  });
});

describe('a namespace with /** on the command line', () => {
  before(async () => {
    for (const namespace of ['crew/deck', 'crew/galley', 'shore']) {
      await ok(['store', '-T', `rota of ${namespace}`, '-c', 'who works when', '-n', namespace]);
    }
  });

  it('covers what is below, and an empty answer says where that is', async () => {
    assert.match(
      await ok(['list', '-n', 'crew']),
      /^no memories found in this namespace; there are some in crew\/deck, crew\/galley: write "\/\*\*" after/,
    );
    const all = ['rota of crew/deck', 'rota of crew/galley'];
    assert.deepEqual(titles((await json(['list', '-n', 'crew/**']))['memories']), all);
    assert.deepEqual(titles((await json(['recall', 'rota', '-n', 'crew/**']))['memories']), all);
    assert.deepEqual(titles((await json(['export', '-n', 'crew/**']))['memories']), all);
    assert.match(await ok(['forget', '-n', 'crew/**', '--dry-run']), /^would forget: 2\n$/);
  });
});

/** Runs a command on a terminal of its own and types an answer. */
function onTerminal(args: readonly string[], typed: string): Promise<Finished> {
  const words = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', words, '/dev/null'], { env: cleanEnvironment(home) });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    if (text.includes('[y/N]')) child.stdin.write(typed);
  });
  child.stdin.on('error', () => undefined);
  const closed = new Promise<Finished>((resolve) => {
    child.once('close', (code, signal) => resolve({ code: signal ?? code, out, err: '' }));
  });
  return within(`${args.join(' ')} ends`, closed, { withinMs: 60_000, seen: () => out });
}

describe('what removes for good or in numbers', { skip: !existsSync('/usr/bin/script') }, () => {
  const count = async (namespace: string) =>
    ((await json(['list', '-n', namespace]))['memories'] as unknown[]).length;
  const archived = async () => (await json(['archive', 'stats']))['archived_total'];

  it('asks on a terminal, and does nothing without a yes', async () => {
    for (const n of [1, 2]) await ok(['store', '-T', `scrap ${n}`, '-c', 'x', '-n', 'scrap']);
    for (const typed of ['n\n', '\n', '\u0004']) {
      const { code, out } = await onTerminal(['forget', '-n', 'scrap'], typed);
      assert.match(out, /Forget 2 memories\? \[y\/N\][\s\S]*nothing was changed/);
      assert.equal(code, 1);
      assert.equal(await count('scrap'), 2);
    }
    const { code, out } = await onTerminal(['forget', '-n', 'scrap'], 'y\n');
    assert.equal(code, 0, out);
    assert.equal(await count('scrap'), 0);
  });

  it('asks nothing with --yes, for a dry run, or when there is nothing to remove', async () => {
    const quiet = async (args: readonly string[]) => {
      const { code, out } = await onTerminal(args, 'n\n');
      assert.equal(code, 0, out);
      assert.doesNotMatch(out, /\[y\/N\]/);
    };
    await ok(['store', '-T', 'scrap 3', '-c', 'x', '-n', 'scrap']);
    await quiet(['forget', '-n', 'scrap', '--dry-run']);
    await quiet(['forget', '-n', 'nothing-here']);
    await quiet(['forget', '-n', 'scrap', '--yes']);
    assert.equal(await count('scrap'), 0);
    const before = await archived();
    assert.ok(Number(before) >= 3);
    const { code, out } = await onTerminal(['archive', 'purge'], 'n\n');
    assert.match(out, /from the archive for good\? \[y\/N\]/);
    assert.deepEqual([code, await archived()], [1, before]);
    await quiet(['archive', 'purge', '-y']);
    assert.equal(await archived(), 0);
  });

  it('asks nothing without a terminal, so scripts go on as before', async () => {
    await ok(['store', '-T', 'scrap 4', '-c', 'x', '-n', 'scrap']);
    assert.match(await ok(['forget', '-n', 'scrap']), /^forgot: 1/);
    assert.match(await ok(['archive', 'purge']), /^purged: \d+\n$/);
  });
});
