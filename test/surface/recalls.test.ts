import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { filesWith } from '../support/files-with.js';
import { rowsWith } from '../support/rows-with.js';
import { onPostgres, openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';
import { run } from './cli/cli-process.js';

type Body = Record<string, unknown>;
interface Recall extends Body {
  readonly recall_id: string;
  readonly query: string | null;
}

const ADMIN = { SVC_ADMIN_AGENT_IDS: 'ai:admin', SVC_ADMIN_HEADER_TRUST: '1', SVC_EMBED_BACKEND: 'none' };

describe('what recalls leave', { timeout: 120_000 }, () => {
  const home = temporaryFolder('recalls');
  let daemon: DaemonProcess;

  const call = async (method: string, path: string, body?: object, agent = 'ai:alice') => {
    const answer = await fetch(`${daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Body };
  };
  const made = async (path: string, body: object, agent?: string) => {
    const answer = await call('POST', path, body, agent);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const store = async (title: string, more: object = {}, agent?: string) =>
    String((await made('/memories', { title, content: `about ${title}`, ...more }, agent))['id']);
  const recall = async (context: string, more: object = {}, agent?: string) =>
    String((await made('/recall', { context, ...more }, agent))['recall_id']);
  const listed = async (query = '', agent?: string) => {
    const { status, body } = await call('GET', `/recalls${query}`, undefined, agent);
    assert.equal(status, 200, JSON.stringify(body));
    return body as Body & { recalls: Recall[]; figures: Body; memories?: Body[]; next_cursor?: string };
  };

  before(async () => {
    daemon = await startDaemonProcess(home, await freePort(), ADMIN);
  });
  after(() => daemon.end('SIGTERM'));

  it('is what was asked, how and where, what came, and what of it was used', async () => {
    const [harbour, ferry] = [await store('harbour ferry'), await store('ferry timetable')];
    const other = await store('something else', { namespace: 'notes' });
    const found = await recall('ferry timetable', { namespace: 'global', min_score: 0 });
    const none = await recall('zqunheard');
    await call('GET', `/memories/${ferry}`);
    await call('PUT', `/memories/${ferry}`, { priority: 8 });
    await made('/links', { source_id: other, target_id: harbour, relation: 'supersedes' });
    const cited = [{ uri: `uri:memory/${ferry}`, accessed_at: '2026-01-01T00:00:00Z' }];
    const led = await store('a conclusion', { citations: cited, namespace: 'notes' });
    await call('GET', `/memories/${ferry}`, undefined, 'ai:bob');

    const { recalls, figures, count } = await listed();
    assert.deepEqual(
      recalls.map(({ recall_id }) => recall_id),
      [none, found],
    );
    const { observed_at, took_ms, ...shown } = recalls[1]!;
    assert.ok(typeof observed_at === 'string' && Number.isInteger(took_ms));
    assert.deepEqual(shown, {
      ...{ recall_id: found, agent_id: 'ai:alice', query: 'ferry timetable', namespace: 'global' },
      ...{ mode: 'keyword', words_only: 'disabled', rows: 2, weak: false, used: 2, led_to: null },
      below_min_score: shown['below_min_score'],
    });
    assert.deepEqual([recalls[0]!['rows'], recalls[0]!['namespace'], recalls[0]!['used']], [0, null, 0]);
    assert.deepEqual(
      [count, figures['recalls'], figures['without_row'], figures['rows_per_answer'], figures['used_share']],
      [2, 2, 1, 2, 1],
    );
    assert.deepEqual((await call('GET', '/stats', undefined, 'ai:admin')).body['recalls'], figures);

    const { memories = [] } = await listed(`?recall_id=${found.slice(0, 8)}`);
    assert.deepEqual(
      memories.map(({ id, rank, title, uses }) => [id, rank, title, (uses as string[]).toSorted()]),
      [
        [ferry, 1, 'ferry timetable', ['cited', 'read', 'updated']],
        [harbour, 2, 'harbour ferry', ['superseded']],
      ],
    );
    assert.ok(led !== '');
    // The interface's own list of the same recall has no row for an answer without one.
    const { body } = await call('POST', '/memory_recall_observations', {});
    assert.deepEqual(
      (body['observations'] as Body[]).map(({ recall_id, memory_id }) => [recall_id, memory_id]),
      [
        [found, ferry],
        [found, harbour],
      ],
    );
  });

  it('is seen by its agent and by admins, without memories that they may not see', async () => {
    const own = await store('own ferry', { scope: 'private' });
    const asked = await recall('own ferry', { min_score: 0 });
    assert.deepEqual((await listed('', 'ai:bob')).recalls, []);
    assert.equal((await call('GET', `/recalls?recall_id=${asked}`, undefined, 'ai:bob')).status, 404);
    assert.equal((await call('GET', '/recalls?agent_id=ai:alice', undefined, 'ai:bob')).status, 403);
    const seen = await listed('?agent_id=ai:alice&limit=1', 'ai:admin');
    assert.deepEqual([seen.recalls[0]?.query, seen.count], ['own ferry', 1]);
    const ids = async (agent: string) =>
      ((await listed(`?recall_id=${asked}`, agent)).memories ?? []).map(({ id }) => id);
    assert.ok((await ids('ai:alice')).includes(own));
    assert.ok(!(await ids('ai:admin')).includes(own));
    await call('DELETE', `/memories/${own}`);
    assert.ok(!(await ids('ai:alice')).includes(own), 'it is gone');
  });

  it('comes page by page, and by what is asked for', async () => {
    for (let n = 0; n < 5; n += 1) await recall(`page ${n}`, { namespace: 'pages' }, 'ai:pages');
    const first = await listed('?limit=2', 'ai:pages');
    const second = await listed(`?limit=2&cursor=${first.next_cursor}`, 'ai:pages');
    const third = await listed(`?limit=2&cursor=${second.next_cursor}`, 'ai:pages');
    assert.deepEqual(
      [first, second, third].flatMap(({ recalls }) => recalls.map(({ query }) => query)),
      ['page 4', 'page 3', 'page 2', 'page 1', 'page 0'],
    );
    assert.equal(third.next_cursor, undefined);
    const other = await call(
      'GET',
      `/recalls?outcome=none&cursor=${first.next_cursor}`,
      undefined,
      'ai:pages',
    );
    assert.equal(other.status, 400, 'of another filter');
    for (const [query, count] of [
      ['outcome=none', 5],
      ['outcome=found', 0],
      ['used=true', 0],
      ['namespace=pages', 5],
      ['until=2020-01-01T00:00:00Z', 0],
    ] as const)
      assert.equal((await listed(`?${query}`, 'ai:pages')).count, count, query);
    assert.equal((await call('GET', '/recalls?outcome=some')).status, 400);
  });

  it('holds no secret, also where the query is cut', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    await recall(`what is ${secret} for`, {}, 'ai:keys');
    await recall(`${'long '.repeat(97)} ${secret}`, {}, 'ai:keys');
    const queries = (await listed('', 'ai:keys')).recalls.map(({ query }) => query!);
    assert.equal(queries[1], 'what is [redacted:github-token] for');
    assert.equal(queries[0]!.length, 500);
    const db = openBeside({ home });
    assert.deepEqual(rowsWith(db, secret.slice(0, 12)), []);
    db.close();
  });

  it('shows on the command line, as a table and with the rows of one', async () => {
    const env = { SVC_AGENT_ID: 'ai:alice' };
    const table = await run(home, ['recalls', '--outcome', 'found'], { env });
    assert.equal(table.code, 0, table.err);
    assert.match(table.out, /WHEN +QUERY +NAMESPACE/);
    assert.match(table.out, /ferry timetable/);
    assert.match(table.out, /used share +\d/);
    const [{ recall_id: id }] = (await listed('?outcome=found&namespace=global')).recalls as [Recall];
    const one = await run(home, ['recalls', id.slice(0, 8)], { env });
    assert.match(one.out, /RANK +SCORE +TITLE/);
    const missing = await run(home, ['recalls', '00000000'], { env });
    assert.deepEqual([missing.code, missing.out], [1, '']);
    // A person without the name of an agent sees all, and another process of the same person used the row.
    const asked = JSON.parse((await run(home, ['recall', 'harbour ferry', '--json'])).out) as Body;
    const [best] = asked['memories'] as Body[];
    await run(home, ['get', String(best!['id'])]);
    const all = JSON.parse((await run(home, ['recalls', '--json', '--limit', '1'])).out) as {
      recalls: Recall[];
    };
    assert.deepEqual([all.recalls[0]!.query, all.recalls[0]!['used']], ['harbour ferry', 1]);
  });

  it('counts in the metrics', async () => {
    const origin = daemon.base.slice(0, daemon.base.indexOf('/api/'));
    const figure = async (name: string) => {
      const text = await (await fetch(`${origin}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1] ?? Number.NaN,
      );
    };
    await until('the gauges were measured', async () => (await figure('svc_recall_rows_used_total')) >= 3);
    assert.ok((await figure('svc_recall_answers_total{rows="none"}')) >= 6);
    assert.ok((await figure('svc_recall_answers_total{rows="found"}')) >= 3);
    assert.ok((await figure('svc_recall_rows_total')) >= 5);
  });

  it('is in no backup and no export', async () => {
    const folder = temporaryFolder('recalls-out');
    const exported = await run(home, ['export']);
    assert.ok(exported.out.includes('ferry timetable') && !exported.out.includes('zqunheard'));
    if (onPostgres) return;
    assert.equal((await run(home, ['backup', '--to', folder])).code, 0);
    const file = readdirSync(folder).find((name) => name.endsWith('.db'))!;
    assert.deepEqual(filesWith(folder, 'zqunheard'), []);
    const db = openSqlite(join(folder, file), { readonly: true });
    assert.equal(db.prepare('SELECT count(*) FROM recall_observations').pluck().get(), 0);
    assert.ok(Number(db.prepare('SELECT count(*) FROM memories').pluck().get()) > 3);
    db.close();
    assert.ok(
      (await listed()).recalls.some(({ query }) => query === 'zqunheard'),
      'it stays here',
    );
  });
});

describe('a node without a trace', { timeout: 60_000 }, () => {
  it('keeps the rows of recalls and nothing of what was asked', async () => {
    const home = temporaryFolder('untraced');
    const env = { SVC_RECALL_TRACE: 'false', SVC_AGENT_ID: 'ai:a', SVC_EMBED_BACKEND: 'none' };
    const json = async (...words: string[]) => {
      const { code, out, err } = await run(home, [...words, '--json'], { env });
      assert.equal(code, 0, err);
      return JSON.parse(out) as Body;
    };
    const { id } = await json('store', 'zqtold', '--title', 'told');
    await json('recall', 'zqtold');
    await json('recall', 'zqunheard');
    await json('get', String(id));
    const { recalls, figures } = (await json('recalls')) as { recalls: Recall[]; figures: Body };
    assert.deepEqual(
      recalls.map(({ query, rows, used }) => [query, rows, used]),
      [[null, 1, null]],
    );
    assert.equal(figures['recalls'], 0);
    const { observations } = (await json('recall-observations')) as { observations: Body[] };
    assert.deepEqual(
      observations.map(({ memory_id }) => memory_id),
      [id],
    );
    const db = openBeside({ home });
    assert.deepEqual(rowsWith(db, 'zqunheard'), []);
    db.close();
  });
});
