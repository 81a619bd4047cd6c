// Runs alone: its nodes must answer in time.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '../../support/daemon-process.js';
import { event, until } from '../../support/wait.js';
import { run } from '../../surface/cli/cli-process.js';

const PROJECT = fileURLToPath(new URL('../../../../', import.meta.url));
const FORMED_WITHIN_MS = 90_000;
const READ_WITHIN_MS = 1000;
const EQUAL_WITHIN_MS = 5000;

interface Answer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

/** What `npm run mesh` runs, with its lines read and typed as somebody at a terminal would. */
describe('three nodes of `npm run mesh`', () => {
  let script: ChildProcess;
  let output = '';
  let folder = '';
  const apis: string[] = [];

  const poll = (what: string, withinMs: number, holds: () => boolean | Promise<boolean>) =>
    until(what, holds, { withinMs, seen: () => output });
  const ended = () => event('the script ends', script, 'exit', { withinMs: 60_000, seen: () => output });
  /** Types a line and waits for a line of status that says what it made. */
  const type = async (line: string, then: RegExp) => {
    const from = output.length;
    script.stdin!.write(`${line}\n`);
    await poll(line, 30_000, () => then.test(output.slice(from)));
  };
  const store = async (title: string): Promise<Answer> => {
    const answer = await fetch(`${apis[0]}/api/v1/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title, content: `${title}, written at node 1` }),
    });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  };
  const titles = async (api: string): Promise<readonly string[]> => {
    const listed = await fetch(`${api}/api/v1/memories?limit=50`);
    const { memories } = (await listed.json()) as { memories: { title: string }[] };
    return memories.map(({ title }) => title).sort();
  };
  const equalRoots = async (number: number) =>
    (await run(join(folder, `node-${number}`), ['mesh', 'verify', '--json'])).code === 0;

  before(async () => {
    script = spawn(process.execPath, ['cli/dev/mesh.mjs'], {
      cwd: PROJECT,
      env: cleanEnvironment(''),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    script.stderr!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await poll('the mesh', FORMED_WITHIN_MS, () =>
      /node 1 up, 2\/2 peers \| node 2 up, 2\/2 peers \| node 3 up, 2\/2 peers/.test(output),
    );
    folder = / nodes in (\S+);/.exec(output)![1]!;
    for (const [, api] of output.matchAll(/^node \d: (http\S+) for agents/gm)) apis.push(api!);
  });
  // It ends its nodes itself.
  after(async () => {
    if (script.exitCode !== null) return;
    const gone = ended();
    script.kill('SIGINT');
    await gone;
  });

  it('write to each other, go on without one, say so without two, and are equal when all are back', async () => {
    const first = await store('first');
    assert.deepEqual([first.status, Number(first.body['quorum_acks']) >= 2], [201, true]);
    await poll('read at node 3', READ_WITHIN_MS, async () => (await titles(apis[2]!)).includes('first'));

    await type('kill 2', /node 2 down/);
    const without = await store('without node 2');
    assert.deepEqual([without.status, without.body['quorum_acks']], [201, 2]);

    await type('kill 3', /node 2 down \| node 3 down/);
    const alone = await store('alone');
    const { quorum_met, acks, needed, durability } = alone.body;
    assert.deepEqual([alone.status, quorum_met, acks, needed, durability], [202, false, 1, 2, 'local']);

    script.stdin!.write('start 2\n');
    await type('start 3', /node 2 up, .* \| node 3 up/);
    await poll('equal roots', EQUAL_WITHIN_MS, async () =>
      (await Promise.all([1, 2, 3].map(equalRoots))).every((equal) => equal),
    );
    for (const api of apis) assert.deepEqual(await titles(api), ['alone', 'first', 'without node 2']);
  });

  it('take no other words', async () => {
    for (const line of ['start 4', 'kill', 'rm -rf 1', 'start 0'])
      await type(line, /type kill N, stop N or start N, with N from 1 to 3/);
    await type('start 1', /node 1 is up already/);
  });

  it('end, and leave nothing behind', async () => {
    const gone = ended();
    script.kill('SIGINT');
    assert.equal((await gone)[0], 0, output);
    assert.equal(existsSync(folder), false);
  });
});
