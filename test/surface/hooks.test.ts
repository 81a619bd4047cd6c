import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { UNFIRED_EVENTS } from '../../protocol/hooks/events.js';
import { PROJECT } from '../architecture/source-files.js';
import { type DaemonProcess, freePort, startDaemonProcess } from '../support/daemon-process.js';
import { EventListener } from '../support/event-listener.js';
import { HookHome } from '../support/hooks.js';
import { until, untilAnswer } from '../support/wait.js';
import { run } from './cli/cli-process.js';
import { McpProcess, textOf } from './mcp/mcp-process.js';

type Row = Record<string, unknown>;

const ADMIN = 'human:admin';
// The node would take secrets out before hooks see them.
const ENV = { SVC_ADMIN_AGENT_IDS: ADMIN, SVC_ADMIN_HEADER_TRUST: '1', SVC_SECRETS: 'off' };

class Node {
  private constructor(readonly daemon: DaemonProcess) {}

  static async start(home: HookHome): Promise<Node> {
    return new Node(await startDaemonProcess(home.home, await freePort(), ENV));
  }

  async send(
    method: string,
    path: string,
    body?: Row,
    agent = ADMIN,
  ): Promise<{ status: number; body: Row }> {
    const response = await fetch(`${this.daemon.base}${path}`, {
      method,
      headers: { 'x-agent-id': agent, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Row };
  }

  store(title: string, more: Row = {}): Promise<{ status: number; body: Row }> {
    return this.send('POST', '/memories', { title, content: `about ${title}`, ...more });
  }

  async hooks(): Promise<Row[]> {
    return (await this.send('GET', '/hooks')).body['hooks'] as Row[];
  }

  async question(): Promise<Row> {
    const { body } = await untilAnswer(
      'a question is open',
      () => this.send('GET', '/hooks/questions'),
      ({ body: open }) => open['count'] === 1,
    );
    return (body['questions'] as Row[])[0]!;
  }

  end(): Promise<unknown> {
    return this.daemon.end('SIGTERM');
  }
}

/** Processes whose command line names a path. */
function processesOf(path: string): string[] {
  const found: string[] = [];
  for (const pid of readFolder('/proc')) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      if (line.includes(path)) found.push(`${pid} ${line}`);
    } catch {
      // It has ended.
    }
  }
  return found;
}

const readFolder = (path: string): string[] => readdirSync(path).filter((name) => /^\d+$/.test(name));

describe('hooks of a daemon', { timeout: 180_000 }, () => {
  it('fire for HTTP, MCP and the command line, with a daemon and without one', async () => {
    const home = new HookHome();
    const hook = home.noting();
    const told = home.noting();
    home.register(
      { event: 'pre_store', command: hook.command },
      { event: 'post_store', command: told.command },
    );
    const storeAll = async (word: string) => {
      const mcp = new McpProcess({ home: home.home });
      assert.match(textOf(await mcp.call(1, 'memory_store', { title: `mcp ${word}`, content: 'x' })), /mcp/);
      await mcp.end();
      const command = await run(home.home, ['store', '--title', `cli ${word}`, '--content', 'x']);
      assert.equal(command.code, 0, command.err);
    };
    await storeAll('without');
    const node = await Node.start(home);
    try {
      await storeAll('with');
      assert.equal((await node.store('http')).status, 201);
      const titles = (events: readonly { payload: Row }[]) => events.map(({ payload }) => payload['title']);
      const all = ['mcp without', 'cli without', 'mcp with', 'cli with', 'http'];
      assert.deepEqual(titles(hook.events()), all);
      await until('all stores are told', () => told.events().length === all.length);
      assert.deepEqual(titles(told.events()).toSorted(), all.toSorted());
      assert.equal(typeof told.events()[0]?.payload['created_at'], 'string');
    } finally {
      await node.end();
    }
  });

  it('ask the operator, who answers on the stream, on HTTP or on the command line', async () => {
    const home = new HookHome();
    const asking = JSON.stringify({
      ...{ action: 'ask_user', prompt: 'May it?', options: ['allow', 'deny'], default: 'deny' },
    });
    home.register({ event: 'pre_store', command: home.noting(asking).command });
    const node = await Node.start(home);
    const admin = await EventListener.open(node.daemon.base, ADMIN);
    const other = await EventListener.open(node.daemon.base, 'ai:other');
    try {
      const storing = node.store('asked', { namespace: 'team' });
      const [heard] = await admin.heard(1);
      assert.equal(heard?.event, 'hook_question');
      const { id, expires_at, ...said } = heard!.data;
      assert.deepEqual(said, {
        ...{ event: 'hook_question', hook_event: 'pre_store', namespace: 'team' },
        ...{ prompt: 'May it?', options: ['allow', 'deny'], default: 'deny' },
      });
      assert.equal(typeof expires_at, 'string');
      const listed = await node.question();
      assert.equal(listed['id'], id);
      const tenant = await node.send('GET', '/hooks/questions', undefined, 'ai:other');
      assert.equal(tenant.body['code'], 'ADMIN_REQUIRED');
      const wrong = await node.send('POST', `/hooks/questions/${id}`, { answer: 'perhaps' });
      assert.equal(wrong.body['code'], 'VALIDATION_FAILED');
      const tooShort = await node.send('POST', `/hooks/questions/${String(id).slice(0, 7)}`, {
        answer: 'allow',
      });
      assert.equal(tooShort.status, 404);
      const answered = await node.send('POST', `/hooks/questions/${String(id).slice(0, 8)}`, {
        answer: 'Allow',
      });
      assert.deepEqual([answered.status, answered.body['permitted']], [200, true]);
      assert.equal((await storing).status, 201);
      const again = await node.send('POST', `/hooks/questions/${id}`, { answer: 'allow' });
      assert.equal(again.body['code'], 'NOT_FOUND');

      const refused = node.store('refused');
      const { id: second } = await node.question();
      const bound = await run(home.home, ['hooks', 'questions', '--agent-id', 'ai:other', '--json']);
      assert.match(bound.err, /ADMIN_REQUIRED/);
      const command = await run(home.home, ['hooks', 'answer', String(second), 'deny']);
      assert.match(command.out, /denied/);
      const { status, body } = await refused;
      assert.deepEqual([status, body['code']], [403, 'HOOK_VETO']);
      assert.match(String(body['error']), /the operator denied it/);
      assert.equal(other.events.length, 0);
    } finally {
      admin.close();
      other.close();
      await node.end();
    }
  });

  it('get the default of their question when its time is over', async () => {
    const home = new HookHome();
    writeFileSync(join(home.home, 'config.toml'), '[hooks]\nask_timeout_ms = 300\n', { mode: 0o600 });
    const asking = (usual: string) =>
      home.noting(
        JSON.stringify({ action: 'ask_user', prompt: 'May it?', options: ['yes', 'no'], default: usual }),
      ).command;
    home.register(
      { event: 'pre_store', command: asking('yes'), namespace: 'open' },
      { event: 'pre_store', command: asking('no'), namespace: 'closed' },
    );
    const node = await Node.start(home);
    try {
      assert.equal((await node.store('a', { namespace: 'open' })).status, 201);
      const denied = await node.store('b', { namespace: 'closed' });
      assert.deepEqual([denied.status, denied.body['code']], [403, 'HOOK_VETO']);
      assert.match(String(denied.body['error']), /did not permit it in time/);
    } finally {
      await node.end();
    }
  });

  it('get it before their request ends, and when the node stops', async () => {
    const home = new HookHome();
    writeFileSync(join(home.home, 'config.toml'), 'request_timeout_secs = 3\n', { mode: 0o600 });
    const asking = { action: 'ask_user', prompt: 'May it?', options: ['yes', 'no'], default: 'yes' };
    home.register({ event: 'pre_store', command: home.noting(JSON.stringify(asking)).command });
    const node = await Node.start(home);
    try {
      assert.equal((await node.store('a')).status, 201);
      const waiting = node.store('b');
      await node.question();
      const ended = node.end();
      assert.equal((await waiting).status, 201);
      await ended;
    } finally {
      await node.end();
    }
  });

  it('are read again after a change of the file, at a hang-up, and never from an invalid file', async () => {
    const home = new HookHome();
    const deny = (reason: string) => home.noting(JSON.stringify({ action: 'deny', reason })).command;
    home.register({ event: 'pre_store', command: deny('first') });
    const node = await Node.start(home);
    const reason = async () => (await node.store('x')).body['reason'];
    try {
      assert.equal(await reason(), 'first');
      home.register({ event: 'pre_store', command: deny('second') });
      await untilAnswer('the changed file counts', reason, (said) => said === 'second', { withinMs: 8000 });
      home.write('[[hook]]\nevent = "pre_store"\n');
      node.daemon.child.kill('SIGHUP');
      await untilAnswer(
        'the problem is shown',
        async () => (await node.send('GET', '/hooks')).body['problem'],
        (problem) => /hook\[0\]\.command is missing/.test(String(problem)),
      );
      assert.equal(await reason(), 'second');
      const doctor = await run(home.home, ['doctor', '--hooks', '--json']);
      assert.match(doctor.out, /HOOKS_NOT_IN_FORCE/);
      home.register();
      node.daemon.child.kill('SIGHUP');
      await untilAnswer(
        'no hook is left',
        async () => (await node.hooks()).length,
        (count) => count === 0,
      );
      assert.equal((await node.store('after')).status, 201);
    } finally {
      await node.end();
    }
  });

  it('change under traffic, and lose no write that was acknowledged', async () => {
    const home = new HookHome();
    const crash = home.sh('kill -9 $$');
    const tags = (tag: string) =>
      home.noting(JSON.stringify({ action: 'modify', delta: { tags: [tag] } })).command;
    const [a, b] = [tags('a'), tags('b')];
    const registered = (command: string) =>
      home.register(
        { event: 'pre_store', command },
        { event: 'pre_store', command: crash, mode: 'daemon' },
        { event: 'post_store', command: crash },
      );
    registered(a);
    const node = await Node.start(home);
    try {
      let isOver = false;
      const stored: unknown[] = [];
      const write = async (writer: number) => {
        for (let n = 0; !isOver; n += 1) {
          const { status, body } = await node.store(`${writer}-${n}`);
          assert.equal(status, 201, JSON.stringify(body));
          stored.push(body['id']);
        }
      };
      const writers = [write(1), write(2), write(3)];
      for (const command of [b, a, b]) {
        const { length: before } = stored;
        registered(command);
        node.daemon.child.kill('SIGHUP');
        await until('more is stored', () => stored.length > before + 10);
      }
      isOver = true;
      await Promise.all(writers);
      const seen = new Set<unknown>();
      for (const id of stored) {
        const { body } = await node.send('GET', `/memories/${id}`);
        for (const tag of (body['memory'] as Row)['tags'] as string[]) seen.add(tag);
      }
      assert.deepEqual([...seen].toSorted(), ['a', 'b']);
      const last = await node.store('last');
      const { body } = await node.send('GET', `/memories/${last.body['id']}`);
      assert.deepEqual((body['memory'] as Row)['tags'], ['b']);
    } finally {
      await node.end();
    }
  });

  it('are read again at a hang-up by an MCP server that works by itself', async () => {
    const home = new HookHome();
    home.register({
      event: 'pre_store',
      command: home.noting('{"action":"deny","reason":"closed"}').command,
    });
    const mcp = new McpProcess({ home: home.home });
    const store = async (id: number) =>
      textOf(await mcp.call(id, 'memory_store', { title: `note ${id}`, content: 'x' }));
    assert.match(await store(1), /HOOK_VETO/);
    home.register();
    mcp.child.kill('SIGHUP');
    let id = 1;
    await untilAnswer(
      'the hook has gone',
      () => {
        id += 1;
        return store(id);
      },
      (said) => !said.includes('HOOK_VETO'),
    );
    assert.equal(await mcp.end(), 0);
  });

  it('that are there before a file that cannot be read leave writes refused and reads free', async () => {
    const home = new HookHome();
    home.write('[[hook]\n');
    const node = await Node.start(home);
    try {
      const { status, body } = await node.store('x');
      assert.deepEqual([status, body['code'], body['hook_code']], [403, 'HOOK_VETO', 503]);
      assert.equal((await node.send('GET', '/recall?context=x')).status, 200);
      home.register();
      await untilAnswer(
        'the corrected file counts',
        () => node.store('y'),
        ({ status: now }) => now === 201,
      );
    } finally {
      await node.end();
    }
  });

  it('count what they do, for metrics, the doctor and capabilities', async () => {
    const home = new HookHome();
    home.register(
      { event: 'pre_store', command: home.noting().command },
      { event: 'pre_store', command: home.sh('exit 1') },
    );
    const node = await Node.start(home);
    try {
      for (const title of ['a', 'b']) assert.equal((await node.store(title)).status, 201);
      const counted = (await node.hooks()).map((hook) => [hook['events_fired'], hook['events_dropped']]);
      assert.deepEqual(counted, [
        [2, 0],
        [2, 2],
      ]);
      const metrics = await (await fetch(`${node.daemon.base}/metrics`)).text();
      assert.match(metrics, /svc_hook_events_fired_total\{hook="0",event="pre_store"\} 2/);
      assert.match(metrics, /svc_hook_events_dropped_total\{hook="1",event="pre_store"\} 2/);
      assert.match(metrics, /svc_hook_mean_latency_us\{hook="0",[^}]*\} [1-9]/);
      const doctor = await run(home.home, ['doctor', '--hooks', '--json']);
      assert.match(doctor.out, /events_fired 2, events_dropped 2/);
      assert.match(doctor.out, /HOOK_FAILS/);
      const { body } = await node.send('GET', '/capabilities');
      const { registered_count, hook_events_count } = body['hooks'] as Row;
      // Of 28 events, those that this release fires.
      assert.deepEqual([registered_count, hook_events_count], [2, 28 - Object.keys(UNFIRED_EVENTS).length]);
    } finally {
      await node.end();
    }
  });

  it('leave no process behind, whether they hang, stay or are retired', {
    skip: process.platform !== 'linux',
  }, async () => {
    const home = new HookHome();
    const hanging = home.sh('sleep 300 & sleep 300');
    const staying = home.sh('sleep 300 & while read line; do echo; done');
    home.register(
      { event: 'pre_store', command: hanging, timeout_ms: 200 },
      { event: 'pre_store', command: staying, mode: 'daemon' },
    );
    const node = await Node.start(home);
    try {
      assert.equal((await node.store('x')).status, 201);
      await until('the hanging hook has ended', () => processesOf(hanging).length === 0);
      assert.equal(processesOf(staying).length, 1);
      home.register();
      node.daemon.child.kill('SIGHUP');
      await until('the retired hook has ended', () => processesOf(staying).length === 0);
      home.register({ event: 'pre_store', command: staying, mode: 'daemon' });
      node.daemon.child.kill('SIGHUP');
      await until('the hook stays again', () => processesOf(staying).length === 1);
    } finally {
      await node.end();
    }
    assert.deepEqual(processesOf(home.home), []);
  });
});

describe('hooks of events that nothing fires', { timeout: 60_000 }, () => {
  const home = new HookHome();
  const { command } = home.noting();

  it('are named by hooks check and by doctor, each with its reason', async () => {
    home.register(
      { event: 'pre_store', command },
      { event: 'on_index_eviction', command },
      { event: 'on_index_eviction', command },
      { event: 'on_index_eviction', command, enabled: false },
    );
    const checked = await run(home.home, ['hooks', 'check', '--json']);
    assert.equal(checked.code, 1, checked.err);
    const { valid, findings } = JSON.parse(checked.out) as { valid: boolean; findings: Row[] };
    assert.equal(valid, false);
    assert.deepEqual(
      findings.map(({ code, message }) => [
        code,
        /hook\[(\d)\].*(?:drops nothing for lack of room.*)$/.exec(String(message))?.[1],
      ]),
      [
        ['HOOK_NEVER_FIRES', '1'],
        ['HOOK_NEVER_FIRES', '2'],
      ],
    );
    const { out } = await run(home.home, ['doctor', '--hooks', '--json']);
    assert.match(out, /HOOK_NEVER_FIRES/);
  });

  it('are none where the file has only events that are fired', async () => {
    home.register({ event: 'pre_store', command }, { event: 'post_recall', command });
    const checked = await run(home.home, ['hooks', 'check']);
    assert.equal(checked.code, 0, checked.out);
  });

  it('do not make the node refuse the file, whose other hooks are in force', async () => {
    const heard = home.noting();
    home.register({ event: 'pre_store', command: heard.command }, { event: 'on_index_eviction', command });
    const { code, err } = await run(home.home, ['store', '--title', 'a', '--content', 'b']);
    assert.deepEqual([code, heard.events().length], [0, 1], err);
  });
});

describe('the hooks of docs/hooks.md', { timeout: 180_000 }, () => {
  let node: Node;
  before(async () => {
    const home = new HookHome();
    const fixtures = join(PROJECT, 'fixtures/hooks');
    mkdirSync(join(home.home, 'hooks'), { recursive: true });
    for (const name of ['refuse-secrets.mjs', 'tag-by-path.mjs', 'ask-before-delete.sh'])
      cpSync(join(fixtures, name), join(home.home, 'hooks', name));
    home.write(readFileSync(join(fixtures, 'hooks.toml'), 'utf8'));
    node = await Node.start(home);
    const checked = await run(home.home, ['hooks', 'check']);
    assert.equal(checked.code, 0, checked.out);
  });
  after(() => node.end());

  it('refuse secrets, also in a change', async () => {
    const secrets = ['AKIAABCDEFGHIJKLMNOP', '-----BEGIN PRIVATE KEY-----', 'password: hunter2hunter2'];
    for (const content of secrets) {
      const { status, body } = await node.store('secret', { content });
      assert.deepEqual([status, body['code']], [403, 'HOOK_VETO']);
      assert.match(String(body['reason']), /^it holds /);
    }
    const stored = await node.store('plain');
    assert.equal(stored.status, 201);
    const changed = await node.send('PUT', `/memories/${stored.body['id']}`, { content: secrets[0] });
    assert.equal(changed.body['code'], 'HOOK_VETO');
  });

  it('refuse secrets in metadata, messages and joined memories too', async () => {
    const [one, two] = [await node.store('half of it'), await node.store('the other half')];
    const ids = [one.body['id'], two.body['id']];
    const content = 'AWS_SECRET_ACCESS_KEY=abcdefghijkl';
    const answers = [
      await node.store('in metadata', { metadata: { password: 'hunter22x' } }),
      await node.send('POST', '/notify', { target_agent_id: 'ai:b', title: 'here', payload: content }),
      await node.send('POST', '/consolidate', { ids, title: 'joined', summary: content }),
    ];
    for (const { status, body } of answers) assert.deepEqual([status, body['code']], [403, 'HOOK_VETO']);
  });

  it('leave the tags of a memory whose change names none', async () => {
    const stored = await node.store('kept tags', { tags: ['own'] });
    const path = `/memories/${stored.body['id']}`;
    await node.send('PUT', path, { content: 'changed', namespace: 'team/alpha' });
    const { body } = await node.send('GET', path);
    assert.ok(((body['memory'] as Row)['tags'] as string[]).includes('own'));
  });

  it('add tags by namespace and text', async () => {
    const stored = await node.store('tagged', {
      ...{ content: 'see src/main.ts', namespace: 'team/alpha', tags: ['own'] },
    });
    const { body } = await node.send('GET', `/memories/${stored.body['id']}`);
    assert.deepEqual((body['memory'] as Row)['tags'], ['own', 'team', 'alpha', 'code']);
  });

  it('ask before a deletion', async () => {
    const { body } = await node.store('to be deleted');
    const path = `/memories/${body['id']}`;
    for (const [answer, status] of [
      ['no', 403],
      ['delete', 200],
    ] as const) {
      const deleting = node.send('DELETE', path);
      const question = await node.question();
      assert.equal(question['prompt'], `Delete the memory ${body['id']}?`);
      await node.send('POST', `/hooks/questions/${question['id']}`, { answer });
      assert.equal((await deleting).status, status);
    }
  });
});
