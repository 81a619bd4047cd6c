import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { z } from 'zod';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { MCP_ANSWER_BYTES_MAX } from '../../../protocol/base/mcp-limits.js';
import { McpSession } from './mcp-session.js';

type Json = Record<string, unknown>;

/** Text of which one row is more than half of what an answer holds, in more bytes than characters. */
const LONG = 'é'.repeat(30_000);

describe('a list over MCP', () => {
  let server: McpSession;
  let id = 1;
  before(async () => {
    server = new McpSession({ profile: 'full', env: { SVC_AGENT_ID: 'ai:reader' } });
    await server.request(id, 'initialize', {});
  });
  after(() => server.end());

  async function call(name: string, args: Json): Promise<{ value: Json; text: string; hint: string }> {
    id += 1;
    const { result, error } = await server.call(id, name, args);
    assert.equal(error, undefined, JSON.stringify(error));
    const [first, hint] = result!['content'] as { text: string }[];
    assert.equal(result!['isError'], undefined, first!.text);
    const value = first!.text.startsWith('{') ? (JSON.parse(first!.text) as Json) : {};
    assert.ok(Buffer.byteLength(first!.text) <= MCP_ANSWER_BYTES_MAX, `${name}: ${first!.text.length}`);
    return { value, text: first!.text, hint: hint?.text ?? '' };
  }

  it('of messages ends early, and says how many there are', async () => {
    for (let n = 0; n < 5; n += 1) {
      await call('memory_notify', { target_agent_id: 'ai:reader', title: `letter ${n}`, payload: LONG });
    }
    const { value, hint } = await call('memory_inbox', {});
    assert.deepEqual(
      [(value['messages'] as Json[]).length, value['count'], value['truncated']],
      [1, 1, true],
    );
    assert.match(hint, /at most 96 KiB: this one has 1 of 5 messages; ask for fewer rows/);
    const short = await call('memory_inbox', { limit: 1 });
    assert.deepEqual([short.value['truncated'], short.hint], [undefined, '']);
  });

  it('with an offset leads to every row, once', async () => {
    const titles: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      const content = n === 3 ? LONG : `${n} ${'word '.repeat(3000)}`;
      await call('memory_store', { namespace: 'offsets', title: `row ${n}`, content });
    }
    let offset: number | undefined = 0;
    let pages = 0;
    while (offset !== undefined) {
      const asked: Json = { namespace: 'offsets', limit: 7, offset, format: 'json' };
      const { value, hint } = await call('memory_list', asked);
      titles.push(...(value['memories'] as Json[]).map(({ title }) => String(title)));
      offset = value['next_offset'] as number | undefined;
      if (offset !== undefined) assert.match(hint, new RegExp(`go on with offset ${offset}\\.`));
      pages += 1;
    }
    assert.ok(pages > 1);
    assert.deepEqual(
      titles.sort(),
      [0, 1, 2, 3, 4, 5, 6].map((n) => `row ${n}`),
    );
  });

  it('with a cursor leads to every row, once, and says no offset behind one', async () => {
    const titles: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const asked: Json = { namespace: 'offsets', limit: 7, format: 'json' };
      const { value, hint } = await call('memory_list', cursor === undefined ? asked : { ...asked, cursor });
      titles.push(...(value['memories'] as Json[]).map(({ title }) => String(title)));
      if (cursor !== undefined) assert.equal(value['next_offset'], undefined);
      if (cursor !== undefined && value['truncated'] === true)
        assert.match(hint, /go on with its "next_cursor"\./);
      cursor = value['next_cursor'] as string | undefined;
      pages += 1;
    } while (cursor !== undefined);
    assert.ok(pages > 2);
    assert.deepEqual(
      titles.sort(),
      [0, 1, 2, 3, 4, 5, 6].map((n) => `row ${n}`),
    );
  });

  it('of the archive leads to every row, once', async () => {
    await call('memory_forget', { namespace: 'offsets' });
    const titles: string[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const { value } = await call('memory_archive_list', { namespace: 'offsets', offset });
      titles.push(...(value['archived'] as Json[]).map(({ title }) => String(title)));
      offset = value['next_offset'] as number | undefined;
    }
    assert.equal(new Set(titles).size, 7);
    assert.equal(titles.length, 7);
  });

  it('with the mark of a page leads to every row, once', async () => {
    for (let n = 0; n < 6; n += 1) {
      const payload = { text: LONG.slice(0, 10_000 + 4000 * n) };
      await call('memory_action_create', {
        namespace: 'marks',
        kind: 'build',
        title: `action ${n}`,
        payload,
      });
    }
    const titles: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const { value, hint } = await call('memory_action_list', { namespace: 'marks', limit: 6, after });
      titles.push(...(value['actions'] as Json[]).map(({ title }) => String(title)));
      after = value['next'] as string | undefined;
      if (after !== undefined) assert.match(hint, /go on with its "next"/);
      pages += 1;
    } while (after !== undefined);
    assert.ok(pages > 1);
    assert.deepEqual(
      titles.sort(),
      [0, 1, 2, 3, 4, 5].map((n) => `action ${n}`),
    );
  });

  it('in TOON says so in its first line', async () => {
    for (let n = 0; n < 4; n += 1) {
      await call('memory_store', { namespace: 'rows', title: `long ${n}`, content: `${n} ${LONG}` });
    }
    const asked = { namespace: 'rows', context: 'long', content: 'full', min_score: 0 };
    const { text } = await call('memory_recall', asked);
    assert.match(text.split('\n')[0]!, /^count:1\|.*truncated:true/);
    const { text: list } = await call('memory_list', { namespace: 'rows' });
    assert.match(list, /^count:4\n/);
  });

  it('is declared to end early wherever a tool answers one', () => {
    const listed = (schema: z.ZodType): boolean => {
      let inner = schema as unknown as { def: { type: string; innerType?: unknown; element?: unknown } };
      while (inner.def.innerType !== undefined) inner = inner.def.innerType as typeof inner;
      return inner.def.type === 'array';
    };
    const answersRows = ({ input, output, effect, mcp }: (typeof OPERATIONS)[number]): boolean => {
      const members = (output as Partial<z.ZodObject>).shape ?? {};
      const counted = 'count' in members || 'limit' in input.shape;
      return (
        mcp !== undefined &&
        effect === 'read' &&
        counted &&
        Object.values(members).some((m) => listed(m as never))
      );
    };
    const lists = OPERATIONS.filter(answersRows);
    assert.ok(lists.length > 25, String(lists.length));
    for (const { name, output } of lists) {
      assert.ok('truncated' in ((output as Partial<z.ZodObject>).shape ?? {}), name);
    }
  });
});
