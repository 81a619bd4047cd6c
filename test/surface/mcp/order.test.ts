import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelServer } from '../../support/model-server.js';
import { modelSays } from './every-tool.js';
import { textOf } from './mcp-lines.js';
import { McpSession } from './mcp-session.js';

const DELAY_MS = 1500;

describe('the order of the calls of a session', () => {
  let model: ModelServer;
  let server: McpSession;
  before(async () => {
    model = await ModelServer.start('compatible');
    model.says = modelSays;
    server = new McpSession({ profile: 'full', env: { ...model.environment } });
    await server.request('init', 'initialize', { protocolVersion: '2025-11-25' });
    await server.call('first', 'memory_stats');
    model.delayMs = DELAY_MS;
  });
  after(async () => {
    await server.end();
    await model.close();
  });

  /** Sends calls together; answers come in the order of `answered`. */
  const together = async (calls: readonly (readonly [string, string, object])[]) => {
    const before = server.messages.length;
    const begun = performance.now();
    const tookMs: Record<string, number> = {};
    for (const [id, name, args] of calls)
      server.send({ id, method: 'tools/call', params: { name, arguments: args } });
    await Promise.all(
      calls.map(async ([id]) => {
        await server.answer(id);
        tookMs[id] = performance.now() - begun;
      }),
    );
    return { tookMs, order: server.messages.slice(before).map(({ id }) => id) };
  };

  it('lets no read wait for a read that asks a slow model', async (context) => {
    const { tookMs, order } = await together([
      ['slow', 'memory_expand_query', { query: 'deploy' }],
      ['list', 'memory_list', {}],
      ['store', 'memory_store', { title: 'a', content: 'b' }],
      ['recall', 'memory_recall', { context: 'b' }],
    ]);
    context.diagnostic(`with a model of ${DELAY_MS} ms: ${JSON.stringify(tookMs)}`);
    assert.deepEqual(order.slice(0, 3), ['list', 'store', 'recall'], 'the fast ones come first');
    assert.ok(tookMs['recall']! < DELAY_MS, `${tookMs['recall']} ms`);
    assert.match(textOf(await server.answer('recall')), /^count:1/, 'a read sees the writes before it');
  });

  it('keeps writes, and reads behind them, in their order', async () => {
    const store = (title: string) => ({ title, content: 'same', namespace: 'order', on_conflict: 'merge' });
    const stored = JSON.parse(textOf(await server.call('long', 'memory_store', { ...store('long') })));
    const { order } = await together([
      ['tag', 'memory_auto_tag', { id: stored.id }],
      ['one', 'memory_store', store('one')],
      ['read', 'memory_get', { id: stored.id }],
      ['two', 'memory_store', store('two')],
    ]);
    assert.ok(order.indexOf('tag') < order.indexOf('one'));
    assert.ok(order.indexOf('tag') < order.indexOf('read'));
    assert.ok(order.indexOf('one') < order.indexOf('two'));
    assert.deepEqual(JSON.parse(textOf(await server.answer('read'))).tags, ['deploy', 'sunday']);
  });

  it('goes on after a call that was cancelled', async () => {
    server.send({
      id: 'gone',
      method: 'tools/call',
      params: { name: 'memory_expand_query', arguments: { query: 'x' } },
    });
    server.send({ method: 'notifications/cancelled', params: { requestId: 'gone' } });
    const { result } = await server.call('next', 'memory_stats');
    assert.notEqual(result?.['isError'], true);
  });
});
