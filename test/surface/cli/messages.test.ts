import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { event, until } from '../../support/wait.js';
import { McpProcess } from '../mcp/mcp-process.js';
import { run } from './cli-process.js';

const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
type Row = Record<string, unknown>;

describe('messages on one machine', { timeout: 120_000 }, () => {
  const home = temporaryFolder('messages');
  const servers: Record<string, McpProcess> = {};

  before(async () => {
    for (const agent of [ALICE, BOB, EVE]) {
      const env = { SVC_AGENT_ID: agent, SVC_REQUIRE_AGENT_ATTESTATION: '0' };
      const server = new McpProcess({ home, args: ['--profile', 'full'], env });
      servers[agent] = server;
      await server.request('init', 'initialize', {
        ...{ protocolVersion: '2025-06-18', capabilities: {} },
        clientInfo: { name: 'messages', version: '1' },
      });
    }
  });
  after(async () => {
    for (const server of Object.values(servers)) await server.end();
  });

  const cli = (agent: string | null, args: readonly string[], stdin = '') =>
    run(home, args, { stdin, env: agent === null ? {} : { SVC_AGENT_ID: agent } });
  let asked = 0;
  async function tool(agent: string, name: string, args: Row): Promise<{ ok: boolean; text: string }> {
    asked += 1;
    const { result } = await servers[agent]!.request(`q${asked}`, 'tools/call', { name, arguments: args });
    const [{ text }] = result!['content'] as [{ text: string }];
    return { ok: result!['isError'] !== true, text };
  }

  it('go from an agent of one process to an agent of another, as the same bytes on both surfaces', async () => {
    const body = { target_agent_id: BOB, title: 'Ready', payload: 'Please review' };
    const sent = await tool(ALICE, 'memory_notify', body);
    assert.ok(sent.ok, sent.text);
    assert.equal((JSON.parse(sent.text) as Row)['from'], ALICE);
    const piped = ['notify', '--target-agent-id', BOB, '--title', 'Log', '--payload', '-'];
    assert.match((await cli(ALICE, piped, 'a long log\n')).out, /^sent: \S+ to ai:bob\n$/);
    const { text } = await tool(BOB, 'memory_inbox', {});
    assert.equal((JSON.parse(text) as Row)['count'], 2);
    assert.equal((await cli(BOB, ['inbox', '--json'])).out, `${text}\n`);
    assert.match((await cli(BOB, ['inbox'])).out, /READ .*FROM .*\n {2}no .*ai:alice .*Log/);
    assert.equal((await cli(BOB, ['inbox-read', '--all'])).out, 'marked as read: 2 of ai:bob\n');
    assert.match((await cli(BOB, ['inbox', '--unread-only'])).out, /messages +none/);
  });

  it('are sent in no other name than that of the process', async () => {
    const body = { target_agent_id: 'ai:dave', title: 't', payload: 'p', agent_id: ALICE };
    const sent = await tool(EVE, 'memory_notify', body);
    const read = await tool(EVE, 'memory_inbox_read', { all: true, agent_id: BOB });
    for (const answer of [sent, read]) {
      assert.equal(answer.ok, false, answer.text);
      assert.match(answer.text, /may only act as ai:eve/);
    }
    const { ok, text } = await tool(EVE, 'memory_inbox', { agent_id: BOB });
    assert.equal(ok, false);
    assert.match(text, /FORBIDDEN/);
    const bound = await cli(EVE, [
      '--agent-id',
      BOB,
      'notify',
      '--target-agent-id',
      ALICE,
      '--title',
      't',
      '--payload',
      'p',
    ]);
    assert.equal(bound.code, 1, bound.out);
    assert.match(bound.err, /may only act as ai:eve/);
  });

  it('show to the operator, who names the agent', async () => {
    const { code, err } = await cli(null, ['inbox']);
    assert.equal(code, 2);
    assert.match(err, /--agent-id/);
    assert.match((await cli(null, ['inbox', '--of', BOB])).out, /count +2/);
    assert.match((await cli(null, ['inbox', '--agent-id', BOB])).out, /count +2/);
  });

  it('and copies are made with the flags of the reference', async () => {
    const stored = await tool(ALICE, 'memory_store', {
      title: 'plan',
      content: 'the plan',
      scope: 'private',
    });
    const id = String((JSON.parse(stored.text) as Row)['id']);
    const flags = ['--memory-id', id, '--target-agent', BOB];
    const shared = await cli(ALICE, ['share', ...flags, '--json']);
    assert.equal(shared.code, 0, shared.err);
    const again = await tool(ALICE, 'memory_share', { source_memory_id: id, target_agent_id: BOB });
    assert.equal(shared.out, `${again.text}\n`);
    const copy = String((JSON.parse(again.text) as Row)['shared_memory_id']);
    assert.ok((await tool(BOB, 'memory_get', { id: copy })).ok);
    assert.equal((await tool(EVE, 'memory_get', { id: copy })).ok, false);
    assert.equal((await cli(EVE, ['share', ...flags])).code, 1);
  });

  it('are printed as they come, unread ones first, and are not marked by that', async () => {
    const notify = async (title: string) => {
      const body = { target_agent_id: 'ai:watched', title, payload: 'p' };
      return (JSON.parse((await tool(ALICE, 'memory_notify', body)).text) as Row)['id'];
    };
    const waits = [await notify('one'), await notify('two')];
    const child = spawn(process.execPath, [MAIN, 'inbox-watch', '--json'], {
      env: cleanEnvironment(home, { SVC_AGENT_ID: 'ai:watched' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    const ids = () =>
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as Row)['id']);
    await until('what waits is printed', () => ids().length === 2, { seen: () => out });
    const came = await notify('three');
    await until('what comes is printed', () => ids().length === 3, { seen: () => out });
    assert.deepEqual(ids(), [...waits, came]);
    const exit = event('the command ends', child, 'exit');
    child.kill('SIGINT');
    const [code] = (await exit) as [number];
    assert.equal(code, 0);
    assert.match((await cli('ai:watched', ['inbox', '--unread-only'])).out, /count +3/);
  });
});
