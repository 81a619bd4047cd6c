import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDaemonHere } from '../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../support/daemon-process.js';
import { LOOK_ALIKE_FAMILIES, type LookAlikeNote, lookAlikeNotes } from '../support/look-alike-notes.js';
import { untilAnswer } from '../support/wait.js';
import { run } from './cli/cli-process.js';
import { McpProcess, textOf } from './mcp/mcp-process.js';

type Row = Record<string, unknown>;

const COUNT = 500;
/** A process each, so fewer of them go over the command line. */
const BY_COMMAND = 16;
const SLOW = 60;
const FAST_AT_ONCE = 16;

type Note = LookAlikeNote & { readonly namespace: string };

/** Stores some notes at once and answers what the surface answered; throws when one is refused. */
type Storing = (notes: readonly Note[]) => Promise<Row[]>;

let daemon: RunningDaemon;
let mcp: McpProcess;
let calls = 0;
before(async () => {
  daemon = await startDaemonHere(temporaryFolder('alike'), await freePort());
  mcp = new McpProcess({ home: daemon.home, args: ['--profile', 'full'] });
  await mcp.request('init', 'initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'alike', version: '1' },
  });
});
after(async () => {
  await mcp.end();
  await daemon.end('SIGTERM');
});

const overMcp: Storing = async (notes) => {
  const ids = notes.map((note) => {
    calls += 1;
    mcp.send({ id: calls, method: 'tools/call', params: { name: 'memory_store', arguments: note } });
    return calls;
  });
  const rows: Row[] = [];
  for (const id of ids) {
    const answer = await mcp.answer(id);
    assert.notEqual(answer.result?.['isError'], true, JSON.stringify(answer));
    rows.push(JSON.parse(textOf(answer)) as Row);
  }
  return rows;
};
const overHttp: Storing = (notes) =>
  Promise.all(
    notes.map(async (note) => {
      const response = await fetch(`${daemon.base}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alike' },
        body: JSON.stringify(note),
      });
      const body = (await response.json()) as Row;
      assert.equal(response.status, 201, JSON.stringify(body));
      return body;
    }),
  );
const byCommand: Storing = (notes) =>
  Promise.all(
    notes.map(async ({ title, content, namespace }) => {
      const args = ['store', '--title', title, '--content', content, '--namespace', namespace, '--json'];
      const { code, out, err } = await run(daemon.home, args);
      assert.equal(code, 0, err);
      return JSON.parse(out) as Row;
    }),
  );

const list = async (namespace: string): Promise<Row[]> => {
  const answer = await fetch(`${daemon.base}/memories?limit=1000&namespace=${namespace}`);
  return ((await answer.json()) as { memories: Row[] }).memories;
};

describe('look-alike notes', () => {
  for (const [surface, store, count] of [
    ['HTTP', overHttp, COUNT],
    ['MCP', overMcp, COUNT],
    ['the command line', byCommand, BY_COMMAND],
  ] as const) {
    for (const pace of ['slowly', 'fast'] as const) {
      it(`over ${surface}, stored ${pace}: none is refused, and all are flagged`, async () => {
        const namespace = `alike/${surface.replaceAll(' ', '-')}/${pace}`;
        const notes = lookAlikeNotes(Math.min(count, pace === 'slowly' ? SLOW : COUNT)).map((note) => ({
          ...note,
          namespace,
        }));
        const atOnce = pace === 'slowly' ? 1 : FAST_AT_ONCE;
        const answers: Row[] = [];
        for (let from = 0; from < notes.length; from += atOnce) {
          answers.push(...(await store(notes.slice(from, from + atOnce))));
        }
        assert.equal(new Set(answers.map(({ id }) => id)).size, notes.length);
        const rows = await untilAnswer(
          'every note is flagged',
          () => list(namespace),
          (all) => all.filter((row) => row['near_duplicates'] !== undefined).length >= notes.length,
          { withinMs: 60_000, everyMs: 200 },
        );
        assert.equal(rows.length, notes.length);
        const title = new Map(rows.map((row) => [row['id'], String(row['title'])]));
        for (const row of rows) {
          for (const near of row['near_duplicates'] as Row[]) {
            assert.equal(near['title'], title.get(near['id']), 'the flag names a row of the namespace');
          }
        }
        if (pace === 'slowly') {
          const told = answers.filter((answer) => answer['near_duplicates'] !== undefined).length;
          // A look that takes longer than its bound is left out, so on a busy machine not every answer has one.
          assert.ok(told > 0, `${told} of ${notes.length} answers name a near duplicate`);
        }
      });
    }
  }

  it('are not flagged across families', async () => {
    const rows = await list('alike/HTTP/slowly');
    const family = (row: Row) => String(row['title']).split(' ', 1)[0];
    const of = new Map(rows.map((row) => [row['id'], family(row)]));
    assert.equal(new Set(of.values()).size, LOOK_ALIKE_FAMILIES);
    for (const row of rows) {
      for (const near of row['near_duplicates'] as Row[]) assert.equal(of.get(near['id']), family(row));
    }
  });

  it('are counted by doctor, marked by list and named by get', async () => {
    const doctor = await run(daemon.home, ['doctor', '--json']);
    assert.match(doctor.out, /NEAR_DUPLICATES/);
    const listed = await run(daemon.home, ['list', '--namespace', 'alike/HTTP/slowly', '--limit', '5']);
    assert.match(listed.out, /5 of them nearly the same as another memory/);
    const [row] = await list('alike/HTTP/slowly');
    const got = await run(daemon.home, ['get', String(row!['id'])]);
    assert.match(got.out, /\nnearly the same\n {2}[0-9a-f-]{36} [01]/);
  });
});
