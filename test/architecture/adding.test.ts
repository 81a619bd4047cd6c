import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import type { Reply } from '../support/governed-daemon.js';
import { until } from '../support/wait.js';
import { SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

const FOLDERS = ['protocol', 'storage', 'actors', 'node', 'cli'];

interface Block {
  readonly path: string;
  /** The text after which the block goes, or which it replaces; null for a file of its own. */
  readonly at: { readonly how: 'after' | 'instead of'; readonly text: string } | null;
  readonly code: string;
}

type Row = Record<string, unknown>;
type Pins = { readonly pins: { memory_id: string; note: string; pinned_by: string }[]; unpinned: string[] };

const INITIALIZE = {
  ...{ protocolVersion: '2025-06-18', capabilities: {} },
  clientInfo: { name: 'a test', version: '1' },
};

/** The blocks of the page. The first line of each says where it belongs. */
function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```ts\n\/\/ (\S+?)(?:, (after|instead of) "(.*)")?\n([\s\S]*?)^```$/gm)].map(
    ([, path, how, text, code]) => ({
      path: path!,
      at: how === undefined ? null : { how: how as 'after' | 'instead of', text: text! },
      code: code!,
    }),
  );
}

/** Puts a block into a source tree, its imports to the imports. */
function place(root: string, { path, at, code }: Block): void {
  const file = join(root, path);
  if (at === null) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code, { flag: 'wx' });
    return;
  }
  const source = readFileSync(file, 'utf8');
  const [first, second, ...more] = source.split(at.text);
  assert.ok(second !== undefined && more.length === 0, `${path} must hold ${at.text} once`);
  const lines = code.trimEnd().split('\n');
  const isImport = (line: string) => line.startsWith('import ');
  const added = lines.filter((line) => !isImport(line)).join('\n');
  const changed = at.how === 'after' ? `${first}${at.text}\n${added}${second}` : `${first}${added}${second}`;
  writeFileSync(file, `${lines.filter(isImport).join('\n')}\n${changed}`);
}

describe('docs/adding.md', { timeout: 120_000 }, () => {
  const root = temporaryFolder('adding');
  const blocks = blocksOf(readFileSync('docs/adding.md', 'utf8'));

  before(() => {
    for (const folder of FOLDERS) cpSync(folder, join(root, folder), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json']) cpSync(file, join(root, file));
    symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
    for (const block of blocks) place(root, block);
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const compiled = spawnSync(process.execPath, [compiler, '--outDir', 'dist'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(compiled.stdout, '', 'the examples compile');
    assert.equal(compiled.status, 0);
    cpSync('dist/console', join(root, 'dist/console'), { recursive: true });
  });

  const run = (home: string, ...words: string[]) =>
    execFileSync(process.execPath, [join(root, 'dist/cli/main.js'), ...words], {
      env: cleanEnvironment(home),
      encoding: 'utf8',
    });

  it('has a block for each thing that can be added', () => {
    assert.deepEqual(
      [blocks.filter(({ at }) => at === null).length, blocks.filter(({ at }) => at !== null).length],
      [6, 10],
    );
  });

  it('adds a pin that is written, listed, exported and imported', () => {
    const [one, two] = [temporaryFolder('adding-one'), temporaryFolder('adding-two')];
    const words = ['--namespace', 'team', '--title', 'Runbook', '--content', 'Restart the node.', '--json'];
    const { id } = JSON.parse(run(one, 'store', ...words)) as { id: string };
    run(one, 'pin', id, '--note', 'read this first');
    const pins = (home: string) =>
      JSON.parse(run(home, 'pins', 'team', '--json')) as { pins: object[]; unpinned: string[] };
    const [pin] = pins(one).pins as { memory_id: string; note: string }[];
    assert.deepEqual([pin!.memory_id, pin!.note], [id, 'read this first']);
    run(one, 'unpin', id);
    assert.deepEqual([pins(one).pins.length, pins(one).unpinned], [0, ['read this first']]);
    run(one, 'pin', id, '--note', 'read this first');
    const file = join(one, 'export.json');
    writeFileSync(file, run(one, 'export'));
    run(two, 'import', file);
    assert.deepEqual([pins(two).pins.length, pins(two).unpinned], [1, []], 'local rows are not exported');
  });

  describe('in a daemon', () => {
    const home = temporaryFolder('adding-daemon');
    const [ONE, TWO, LEAD] = ['ai:one', 'ai:two', 'ai:lead'];
    const main = join(root, 'dist/cli/main.js');
    let daemon: DaemonProcess;
    let receiver: WebhookReceiver;

    const start = async () => {
      const environment = { SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' };
      daemon = await startDaemonProcess(home, await freePort(), environment, [], () => undefined, main);
    };
    const call = async (agent: string, method: string, path: string, body?: object): Promise<Reply> => {
      const response = await fetch(`${daemon.base}${path}`, {
        method,
        headers: { 'content-type': 'application/json', 'x-agent-id': agent },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Row };
    };
    const done = async (...asked: Parameters<typeof call>): Promise<Row> => {
      const { status, body } = await call(...asked);
      assert.ok(status < 300 && status !== 202, `${asked.join(' ')}: ${status} ${JSON.stringify(body)}`);
      return body;
    };
    const stored = async (title: string, namespace = 'team', agent = ONE): Promise<string> =>
      String(
        (await done(agent, 'POST', '/memories', { namespace, title, content: `words of ${title}` }))['id'],
      );
    const pinsOf = (agent: string, namespace = 'team') =>
      done(agent, 'GET', `/pins?namespace=${encodeURIComponent(namespace)}`) as Promise<Pins>;

    before(async () => {
      receiver = await WebhookReceiver.open();
      await start();
      for (const agent of [ONE, TWO, LEAD])
        await done(agent, 'POST', '/agents', { agent_id: agent, agent_type: 'ai:test' });
    });
    after(async () => {
      await daemon.end('SIGTERM');
      await receiver.close();
    });

    it('works over HTTP, over MCP and at the command line', async () => {
      const [first, second, third] = [await stored('a'), await stored('b'), await stored('c')];
      const pinned = await done(ONE, 'POST', `/memories/${first}/pin`, { note: 'over HTTP' });
      assert.deepEqual(pinned, { memory_id: first, note: 'over HTTP', pinned_by: ONE });
      const options = { main, home, args: ['--profile', 'full'], env: { SVC_AGENT_ID: ONE } };
      const client = new McpProcess(options);
      await client.request(1, 'initialize', INITIALIZE);
      client.send({ method: 'notifications/initialized' });
      await client.call(2, 'memory_pin', { id: second, note: 'over MCP' });
      assert.match(textOf(await client.call(3, 'memory_pins', { namespace: 'team' })), /over MCP/);
      await client.end();
      run(home, 'pin', third, '--note', 'at the command line', '--agent-id', ONE);
      const { pins } = await pinsOf(TWO);
      assert.deepEqual(
        pins.map(({ note, pinned_by }) => [note, pinned_by]).sort(),
        ['at the command line', 'over HTTP', 'over MCP'].map((note) => [note, ONE]),
      );
      const long = await call(ONE, 'POST', `/memories/${first}/pin`, { note: 'x'.repeat(201) });
      assert.deepEqual([long.status, long.body['code']], [400, 'VALIDATION_FAILED']);
      assert.match(String(long.body['error']), /must be at most 200 characters/);
    });

    it('is written into the audit chain, with who did it', () => {
      const db = new Database(join(home, 'mnemesh.db'), { readonly: true });
      const rows = db.prepare(
        "SELECT agent_id, payload FROM signed_events WHERE event_type = 'memory_pin.set'",
      );
      const found = rows.all() as { agent_id: string; payload: string }[];
      db.close();
      assert.deepEqual(
        found.map(({ agent_id }) => agent_id),
        [ONE, ONE, ONE],
      );
      assert.ok(found.every(({ payload }) => Object.keys(JSON.parse(payload) as Row).join() === 'memory_id'));
    });

    it('shows the rows of a local kind only to whom they belong', async () => {
      const { pins } = await pinsOf(ONE);
      assert.equal(
        (await call(TWO, 'DELETE', `/memories/${pins[0]!.memory_id}/pin`)).body['code'],
        'FORBIDDEN',
      );
      for (const { memory_id } of pins) await done(ONE, 'DELETE', `/memories/${memory_id}/pin`);
      const seen = await Promise.all([ONE, TWO].map(async (agent) => (await pinsOf(agent)).unpinned.length));
      assert.deepEqual(seen, [3, 0]);
    });

    it('has its job done as the agent who took the pin away', async () => {
      const [unpinned] = (await done(ONE, 'GET', '/memories?namespace=team&limit=50'))['memories'] as Row[];
      const memory = async () =>
        (await done(ONE, 'GET', `/memories/${String(unpinned!['id'])}`))['memory'] as Row;
      await until(
        'the job tags it',
        async () => (await memory())['tags'] !== undefined && String((await memory())['tags']) === 'unpinned',
      );
    });

    it('is refused by a policy', async () => {
      const standard = { governance: { write: 'owner' } };
      await done(LEAD, 'POST', '/namespaces/led/standard', standard);
      const id = await stored('led', 'led', LEAD);
      const refused = await call(ONE, 'POST', `/memories/${id}/pin`, { note: 'n' });
      assert.deepEqual([refused.status, refused.body['code']], [403, 'GOVERNANCE_REFUSED']);
      assert.deepEqual((await pinsOf(LEAD, 'led')).pins, []);
      await done(LEAD, 'POST', `/memories/${id}/pin`, { note: 'its owner may' });
    });

    it('waits for an approval, is announced, and is executed as its requester', async () => {
      const id = await stored('asked', 'ask', TWO);
      await done(TWO, 'POST', '/namespaces/ask/standard', {
        governance: { write: 'approve', approver: 'human' },
      });
      const asked = {
        url: receiver.url,
        secret: SECRET,
        event_types: ['approval_requested', 'approval_decided'],
      };
      await done(ONE, 'POST', '/subscriptions', asked);
      const waits = await call(ONE, 'POST', `/memories/${id}/pin`, { note: 'please' });
      assert.deepEqual([waits.status, waits.body['action'], waits.body['memory_id']], [202, 'pin', id]);
      assert.deepEqual((await pinsOf(ONE, 'ask')).pins, []);
      const pendingId = String(waits.body['pending_id']);
      const { pending } = (await done(LEAD, 'GET', '/pending?status=pending')) as { pending: Row[] };
      assert.deepEqual(pending.find((action) => action['id'] === pendingId)?.['payload'], {
        id,
        note: 'please',
      });
      await done(LEAD, 'POST', `/pending/${pendingId}/approve`);
      const { pins } = await pinsOf(TWO, 'ask');
      assert.deepEqual(pins, [{ memory_id: id, note: 'please', pinned_by: ONE }]);
      await until('both events are announced', () => receiver.got.length >= 2);
      assert.deepEqual(
        receiver.got.map(({ body }) => [body.event, body['action_type']]),
        [
          ['approval_requested', 'pin'],
          ['approval_decided', 'pin'],
        ],
      );
    });

    it('does its duty when the daemon owns the database again', async () => {
      assert.equal((await pinsOf(ONE)).unpinned.length, 3);
      await daemon.end('SIGTERM');
      await start();
      await until('the duty forgets a note', async () => (await pinsOf(ONE)).unpinned.length === 2);
    });
  });
});
