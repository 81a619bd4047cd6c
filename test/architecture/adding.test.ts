import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import type { findCommand } from '../../cli/find-command.js';
import type { serveSession } from '../../cli/mcp-session.js';
import type { NATIVE_COMMANDS } from '../../cli/native-commands.js';
import type { Terminal } from '../../cli/terminal.js';
import type { loadSettings } from '../../node/config/load-settings.js';
import type { startDaemon } from '../../node/runtime/daemon.js';
import { startDaemonHere } from '../support/daemon-here.js';
import {
  cleanEnvironment,
  freePort,
  type RunningDaemon,
  temporaryFolder,
} from '../support/daemon-process.js';
import type { Reply } from '../support/governed-daemon.js';
import { until } from '../support/wait.js';
import { SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { textOf } from '../surface/mcp/mcp-lines.js';
import { McpSession } from '../surface/mcp/mcp-session.js';

const FOLDERS = ['protocol', 'storage', 'actors', 'node', 'cli'];

interface Block {
  readonly path: string;
  /** The text after which the block goes, or which it replaces; null for a file of its own. */
  readonly at: { readonly how: 'after' | 'instead of'; readonly text: string } | null;
  readonly code: string;
}

/** The program with what the page adds, which runs in this process: none of its modules is bundled, so a process of its own loads for a second. */
interface Program {
  readonly findCommand: typeof findCommand;
  readonly loadSettings: typeof loadSettings;
  readonly NATIVE_COMMANDS: typeof NATIVE_COMMANDS;
  readonly serveSession: typeof serveSession;
  readonly startDaemon: typeof startDaemon;
  readonly Terminal: typeof Terminal;
}

const MODULES = [
  'cli/find-command',
  'cli/mcp-session',
  'cli/native-commands',
  'cli/terminal',
  'node/config/load-settings',
  'node/runtime/daemon',
];

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

describe('docs/adding.md', () => {
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

  let loaded: Promise<Program> | null = null;
  const program = () => {
    loaded ??= Promise.all(
      MODULES.map((module) => import(pathToFileURL(join(root, 'dist', `${module}.js`)).href)),
    ).then((modules) => Object.assign({}, ...modules) as Program);
    return loaded;
  };

  /** Runs a command to its end; answers what it prints. */
  async function run(home: string, ...words: string[]): Promise<string> {
    const { findCommand, NATIVE_COMMANDS, Terminal } = await program();
    const own = process.env;
    process.env = cleanEnvironment(home);
    try {
      const route = await findCommand(words, NATIVE_COMMANDS);
      assert.ok(route.kind === 'command', words.join(' '));
      const [out, errors] = [new PassThrough(), new PassThrough()];
      const [said, complained] = [text(out), text(errors)];
      const ended = await route.command.run(route.words, new Terminal(out, errors));
      out.end();
      errors.end();
      assert.deepEqual([ended, await complained], [{ ok: true, value: 0 }, ''], words.join(' '));
      return await said;
    } finally {
      process.env = own;
    }
  }

  it('has a block for each thing that can be added', () => {
    assert.deepEqual(
      [blocks.filter(({ at }) => at === null).length, blocks.filter(({ at }) => at !== null).length],
      [6, 10],
    );
  });

  it('adds a pin that is written, listed, exported and imported', async () => {
    const [one, two] = [temporaryFolder('adding-one'), temporaryFolder('adding-two')];
    const words = ['--namespace', 'team', '--title', 'Runbook', '--content', 'Restart the node.', '--json'];
    const { id } = JSON.parse(await run(one, 'store', ...words)) as { id: string };
    await run(one, 'pin', id, '--note', 'read this first');
    const pins = async (home: string) =>
      JSON.parse(await run(home, 'pins', 'team', '--json')) as { pins: object[]; unpinned: string[] };
    const [pin] = (await pins(one)).pins as { memory_id: string; note: string }[];
    assert.deepEqual([pin!.memory_id, pin!.note], [id, 'read this first']);
    await run(one, 'unpin', id);
    const left = await pins(one);
    assert.deepEqual([left.pins.length, left.unpinned], [0, ['read this first']]);
    await run(one, 'pin', id, '--note', 'read this first');
    const file = join(one, 'export.json');
    writeFileSync(file, await run(one, 'export'));
    await run(two, 'import', file);
    const taken = await pins(two);
    assert.deepEqual([taken.pins.length, taken.unpinned], [1, []], 'local rows are not exported');
  });

  describe('in a daemon', () => {
    const home = temporaryFolder('adding-daemon');
    const [ONE, TWO, LEAD] = ['ai:one', 'ai:two', 'ai:lead'];
    let daemon: RunningDaemon;
    let receiver: WebhookReceiver;

    const start = async () => {
      const environment = { SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' };
      daemon = await startDaemonHere(home, await freePort(), environment, await program());
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
      const env = { SVC_AGENT_ID: ONE };
      const client = new McpSession({ home, profile: 'full', env, program: await program() });
      await client.request(1, 'initialize', INITIALIZE);
      client.send({ method: 'notifications/initialized' });
      await client.call(2, 'memory_pin', { id: second, note: 'over MCP' });
      assert.match(textOf(await client.call(3, 'memory_pins', { namespace: 'team' })), /over MCP/);
      await client.end();
      await run(home, 'pin', third, '--note', 'at the command line', '--agent-id', ONE);
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
