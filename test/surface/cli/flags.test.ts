import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { before, describe, it } from 'node:test';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { event } from '../../support/wait.js';
import { commandsIn, run } from './cli-process.js';

const home = temporaryFolder('cli-flags');
const cli = commandsIn(home);
type Row = Record<string, unknown>;
const json = async (...args: string[]) => {
  const { code, out, err } = await cli(...args, '--json');
  assert.equal(code, 0, err);
  return JSON.parse(out) as Row;
};

describe('flags of the command table', () => {
  let id: string;
  before(async () => {
    const flags = ['--tags', 'b,a', '--entity-id', 'ent-1', '--citations'];
    const citations = '[{"uri":"doc:a","accessed_at":"2020-01-01T00:00:00Z"}]';
    const stored = await json('store', '-T', 'ferry', '-c', 'noon', ...flags, citations);
    id = String(stored['id']);
  });

  it('store --entity-id says which entity a memory is about', async () => {
    assert.equal(((await json('get', id))['memory'] as Row)['entity_id'], 'ent-1');
    const blank = await cli('store', '-T', 'other', '-c', 'x', '--entity-id', ' ');
    assert.deepEqual([blank.code, /--entity-id: must not be blank/.test(blank.err)], [2, true]);
  });

  it('undo-edit names what the edit changed and nothing else', async () => {
    await json('update', id, '--priority', '9');
    assert.deepEqual((await json('undo-edit', id, '--dry-run'))['changed'], ['priority']);
    assert.deepEqual((await json('undo-edit', id))['changed'], ['priority']);
  });

  it('recall --tier keyword leaves the embedder alone', async () => {
    // This embedder cannot be reached, so asking it shows in `meta`.
    const env = { SVC_EMBED_BACKEND: 'builtin' };
    for (const flag of ['--tier', '-T', '--feature-tier']) {
      const { code, out, err } = await run(home, ['recall', 'ferry', flag, 'keyword', '--json'], { env });
      assert.equal(code, 0, err);
      const { mode, meta } = JSON.parse(out) as { mode: string; meta: Row };
      assert.deepEqual([mode, meta['semantic']], ['keyword', 'disabled']);
    }
    const asked = await run(home, ['recall', 'ferry', '--tier', 'semantic', '--json'], { env });
    assert.notEqual((JSON.parse(asked.out) as { meta: Row }).meta['semantic'], 'disabled');
    assert.equal((await cli('recall', 'ferry', '--tier', 'long')).code, 2);
  });

  it('verify-signed-events-chain --format prints text or JSON, and failures follow it', async () => {
    const asked = await cli('verify-signed-events-chain', '--format', 'json');
    assert.equal((JSON.parse(asked.out) as Row)['chain_holds'], true);
    assert.match(
      (await cli('verify-signed-events-chain', '--format', 'text')).out,
      /^the audit chain is valid/,
    );
    assert.equal((await cli('verify-signed-events-chain', '--format', 'toon')).code, 2);
    for (const words of [['--format', 'json'], ['--format=json']]) {
      const refused = await cli('verify-signed-events-chain', '--since', '-1', ...words);
      assert.equal((JSON.parse(refused.err) as Row)['code'], 'VALIDATION_FAILED');
    }
  });

  it('refuses a wrong word for a switch or a format as the other surfaces do', async () => {
    for (const [words, message] of [
      [['recall', 'x', '--has-citations=maybe'], 'has_citations: must be true or false'],
      [['search', 'x', '--format=xml'], 'format: must be one of json, toon, toon_compact'],
    ] as const) {
      const { code, err } = await cli(...words, '--json');
      const { fields: _, ...failure } = JSON.parse(err) as Row;
      assert.deepEqual([code, failure], [2, { error: message, code: 'VALIDATION_FAILED' }]);
    }
    assert.match((await cli('recall', 'x', '--json=maybe')).err, /--json takes only true or false/);
  });

  it('help names the other names of a flag, and does not give one name two meanings', async () => {
    const { out } = await cli('agents', 'bind-key', '--help');
    assert.match(out, /--agent-id <text> .*also\s+--id/);
    assert.doesNotMatch(out, /Agent that a write is stamped with/);
    assert.match((await cli('recall', '--help')).out, /also --kind\b/);
  });

  it('serve --shutdown-grace-secs bounds how long a shutdown waits', async () => {
    const args = [MAIN, 'serve', '--port', '0', '--json', '--shutdown-grace-secs', '0'];
    const child = spawn(process.execPath, args, { env: cleanEnvironment(temporaryFolder('grace')) });
    const [line] = (await event('serve says where', child.stdout.setEncoding('utf8'), 'data')) as [string];
    const { port } = JSON.parse(line) as { port: number };
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    await event('the connection opens', client, 'connect');
    const head =
      'POST /api/v1/memories HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n';
    client.write(head);
    // The request is under way, and stays so.
    await event('the upload may go on', client, 'data');
    client.write('{');
    const askedMs = performance.now();
    child.kill('SIGTERM');
    const [code] = await event('serve ends', child, 'exit');
    client.destroy();
    assert.equal(code, 0);
    assert.ok(performance.now() - askedMs < 15_000);
    for (const word of ['x', '-1', '1.5', '99999']) {
      const wrong = await cli('serve', '--port', '0', '--shutdown-grace-secs', word);
      assert.deepEqual([wrong.code, /--shutdown-grace-secs/.test(wrong.err)], [2, true], word);
    }
  });
});
