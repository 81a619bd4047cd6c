import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { McpProcess, textOf } from '../mcp/mcp-process.js';
import { commandsIn } from './cli-process.js';

type Fields = Readonly<Record<string, unknown>>;
const SCRIPT = '/usr/bin/script';

describe('board', () => {
  let daemon: DaemonProcess;
  let ann: McpProcess;
  let calls = 0;
  let mnemesh: ReturnType<typeof commandsIn>;
  const ids: Record<string, string> = {};

  const tool = async (name: string, input: Fields): Promise<Fields> => {
    calls += 1;
    const answer = await ann.call(calls, name, input);
    assert.notEqual(answer.result?.['isError'], true, JSON.stringify(answer));
    return JSON.parse(textOf(answer)) as Fields;
  };
  const create = async (title: string, more: Fields = {}) => {
    const wanted = { namespace: 'team/app', kind: 'build', title, ...more };
    ids[title] = String((await tool('memory_action_create', wanted))['id']);
  };
  const move = (title: string, ...states: string[]) =>
    states.reduce<Promise<unknown>>(
      (before, to) => before.then(() => tool('memory_action_transition', { id: ids[title], to })),
      Promise.resolve(),
    );

  before(async () => {
    daemon = await startDaemonProcess(temporaryFolder('board'), await freePort());
    mnemesh = commandsIn(daemon.home);
    ann = new McpProcess({
      ...{ home: daemon.home, args: ['--profile', 'full'], env: { SVC_AGENT_ID: 'ai:ann' } },
    });
    await ann.request('i', 'initialize', {
      ...{ protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    });
    await create('compile', { priority: 7 });
    await create('deploy');
    await create('elsewhere', { namespace: 'other' });
    await create('old');
    const edge = { from_action: ids['deploy'], to_action: ids['compile'], edge_type: 'requires' };
    await tool('memory_action_add_edge', edge);
    await tool('memory_lease_acquire', { action_id: ids['compile'], holder: 'ai:ann', ttl_secs: 90 });
    await move('compile', 'claimed', 'in_progress');
    await move('old', 'claimed', 'in_progress', 'done');
    const sent = { namespace: 'team/app', subject: 'please look', to_agent: 'ai:ben' };
    await tool('memory_signal_send', sent);
    await tool('memory_checkpoint_create', { namespace: 'team/app', title: 'ship it?' });
  });
  after(async () => {
    await ann.end();
    await daemon.end('SIGTERM');
  });

  it('prints the work of a namespace once where there is no terminal', async () => {
    const { code, out, err } = await mnemesh('board', 'team/app');
    assert.equal(code, 0, err);
    assert.match(out, /^team\/app: 2 open actions, 1 open signal, 1 open checkpoint\n/);
    const id = (title: string) => ids[title]!;
    assert.match(out, /\nin progress: 1\nID +PRIO +TITLE +CLAIMED BY +LEASE\n/);
    assert.match(out, new RegExp(`\n${id('compile')} +7 +compile +ai:ann +(90|[78]\\d) s\n`));
    assert.match(
      out,
      new RegExp(
        `\npending: 1\n.*WAITS FOR\n${id('deploy')} .*${id('compile').slice(0, 8)} \\(in_progress\\)`,
      ),
    );
    assert.match(out, new RegExp(`\ndone: 1\n.*\n${id('old')} `));
    assert.match(out, /\nopen signals: 1\n.*\n.* notify +ai:ann +ai:ben +please look\n/);
    assert.match(out, /\nopen checkpoints: 1\n.*\n.* approval +ship it\? +ai:ann\n/);
    assert.ok(!out.includes('elsewhere'));
  });

  it('prints all namespaces, and JSON for programs', async () => {
    const { out } = await mnemesh('board', '--once');
    assert.match(out, /^all namespaces: 3 open actions, 1 open signal, 1 open checkpoint\n/);
    assert.match(out, /\n[0-9a-f-]{36} +0 +other +elsewhere\n/);
    const board = JSON.parse((await mnemesh('board', '--json')).out) as Record<string, Fields[]>;
    assert.deepEqual(Object.keys(board), ['at', 'actions', 'signals', 'checkpoints', 'more']);
    const [compile] = board['actions']!.filter(({ id }) => id === ids['compile']);
    const { holder, action_id } = compile!['lease'] as Fields;
    assert.deepEqual([holder, action_id], ['ai:ann', ids['compile']]);
    const [deploy] = board['actions']!.filter(({ id }) => id === ids['deploy']);
    const waits = { id: ids['compile'], edge_type: 'requires', state: 'in_progress', failed: false };
    assert.deepEqual(deploy!['blocked_by'], [waits]);
  });

  it('refuses an interval that is none, and a namespace that is none', async () => {
    for (const words of [['--interval', '0'], ['--interval', 'x'], ['team//app']]) {
      const { code, err } = await mnemesh('board', ...words);
      assert.equal(code, 2, err);
      assert.match(err, words.length === 2 ? /--interval must be a number of seconds/ : /namespace/);
    }
  });

  it('follows the work on a terminal until q', { skip: !existsSync(SCRIPT) }, async () => {
    const command = `stty cols 100 rows 40; exec ${process.execPath} ${MAIN} board team/app --interval 0.2`;
    const child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], {
      env: { ...cleanEnvironment(daemon.home), TERM: 'dumb' },
    });
    let out = '';
    let code: number | null | undefined;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.on('exit', (ended) => {
      code = ended;
    });
    const seen = () => out;
    await until('the board is drawn', () => out.includes('2 open actions'), { seen });
    await create('later');
    await until('what comes is drawn', () => /3 open actions.*later/s.test(out), { seen });
    assert.match(out, /q quit/);
    child.stdin.write('q');
    await until('it ends', () => code !== undefined, { seen });
    assert.equal(code, 0);
    assert.ok(out.includes('\u001b[?1049l'));
  });
});
