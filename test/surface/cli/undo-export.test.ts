import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  cleanEnvironment,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { journalsOf } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

const at = (day: number) => `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
const row = (n: number, more: Row = {}) => ({
  ...{ id: `id-${n}`, title: `title ${n}`, content: `text ${n}`, tier: 'long', version: 3 },
  ...{ created_at: at(1), updated_at: at(2), ...more },
});
const link = (from: number, to: number) => ({
  ...{ source_id: `id-${from}`, target_id: `id-${to}`, relation: 'related_to', created_at: at(1) },
});

function node() {
  const home = temporaryFolder('undo-export');
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(home, [...args, '--json']);
    return { code, json: JSON.parse(out === '' ? err : out) as Row };
  };
  const file = (name: string, document: Row) => {
    writeFileSync(join(home, name), JSON.stringify(document));
    return join(home, name);
  };
  const rows = async () =>
    ((await command('list', '--limit', '1000')).json['memories'] as Row[])
      .map(({ id, content }) => `${String(id)} ${String(content)}`)
      .sort();
  const linksOf = async (id: string) => (await command('get', id)).json['links'] as Row[];
  return { home, command, file, rows, linksOf };
}

describe('an import of an export', { timeout: 240_000 }, () => {
  it('says before what it would make, change and leave, and can be taken back', async () => {
    const { home, command, file, rows, linksOf } = node();
    await command('import', file('first.json', { memories: [row(1), row(2), row(3)], links: [link(2, 3)] }));
    const before = await rows();
    const next = file('next.json', {
      memories: [
        row(1, { content: 'a later text', tags: ['new'], updated_at: at(3) }),
        row(2),
        row(3, { content: 'an earlier text', updated_at: at(1) }),
        row(4),
        row(5, { title: 'title 2' }),
      ],
      links: [link(1, 2), link(2, 3), link(1, 4)],
    });
    const dry = await command('import', next, '--dry-run');
    assert.deepEqual(
      ['memories', 'links', 'created', 'updated', 'unchanged', 'kept', 'failed'].map(
        (name) => dry.json[name],
      ),
      [5, 3, 1, 1, 1, 1, 1],
    );
    assert.deepEqual([dry.code, dry.json['kept_ids']], [1, ['id-3']]);
    assert.match(String(dry.json['errors']), /^memories\[4\]: memory id-2 holds the title/);
    const text = await run(home, ['import', next, '--dry-run']);
    assert.equal(
      text.out,
      'would import 2 memories of an export of 5 memories and 3 links; 1 of them here with an earlier text, 1 unchanged, 1 kept as they are here, 1 would belong to the importing agent, 1 refused\n',
    );
    assert.deepEqual(await rows(), before);
    assert.equal(((await command('import', '--runs')).json['runs'] as Row[]).length, 1);

    const done = await command('import', next);
    assert.deepEqual([done.json['imported'], done.json['unchanged'], done.json['links']], [3, 1, 3]);
    assert.deepEqual(await rows(), ['id-1 a later text', 'id-2 text 2', 'id-3 text 3', 'id-4 text 4']);
    const name = String(done.json['run']);
    const look = await command('import', '--undo', name, '--dry-run');
    assert.deepEqual([look.json['removed'], look.json['restored'], look.json['left']], [1, 1, 0]);
    const back = await command('import', '--undo', name);
    assert.deepEqual([back.json['removed'], back.json['restored'], back.json['links']], [1, 1, 1]);
    assert.deepEqual(await rows(), before);
    assert.deepEqual((await linksOf('id-1')).length, 0);
    assert.deepEqual((await linksOf('id-2')).length, 1);
    // The run is known as taken back, and the file can be imported again, as another run.
    const again = await command('import', next);
    assert.notEqual(again.json['run'], name);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });

  it('leaves what was changed since, here or by a later run, and records', async () => {
    const { command, file, rows } = node();
    const standard = { kind: 'standard', id: 'team', namespace: 'team', standard_id: null };
    const records = [{ ...standard, parent_namespace: 'root', set_by: 'ai:ada', updated_at: at(1) }];
    const first = await command(
      ...['import', '--trust-source', file('a.json', { memories: [row(1), row(2), row(3)], records })],
    );
    await command('update', 'id-1', '--content', 'mine');
    const second = await command(
      ...['import', file('b.json', { memories: [row(2, { content: 'theirs', updated_at: at(5) })] })],
    );
    const early = await command('import', '--undo', String(first.json['run']), '--dry-run');
    assert.deepEqual([early.json['removed'], early.json['left']], [1, 2]);
    const undone = await command('import', '--undo', String(first.json['run']));
    assert.deepEqual(
      ['removed', 'restored', 'left', 'records_left'].map((name) => undone.json[name]),
      [1, 0, 2, 1],
    );
    const reasons = String(undone.json['reasons']);
    assert.match(reasons, /"title 1" stays: it was changed since/);
    assert.match(reasons, new RegExp(`"title 2" stays: import ${String(second.json['run'])} wrote it since`));
    assert.deepEqual(await rows(), ['id-1 mine', 'id-2 theirs']);
    // What a run deleted and another one brought again belongs to the other one.
    await command('delete', 'id-2');
    const third = await command('import', file('c.json', { memories: [row(2)] }));
    const late = await command('import', '--undo', String(first.json['run']));
    assert.deepEqual([late.json['removed'], late.json['gone'], late.json['left']], [0, 1, 2]);
    const last = await command('import', '--undo', String(third.json['run']));
    assert.deepEqual([last.json['removed'], await rows()], [1, ['id-1 mine']]);
  });

  it('goes back behind a run that was taken back', async () => {
    const { command, file, rows } = node();
    const first = await command('import', file('a.json', { memories: [row(1), row(2)] }));
    const later = row(1, { content: 'later', updated_at: at(5) });
    const second = await command('import', file('b.json', { memories: [later] }));
    await command('import', '--undo', String(second.json['run']));
    assert.deepEqual(await rows(), ['id-1 text 1', 'id-2 text 2']);
    const undone = await command('import', '--undo', String(first.json['run']));
    assert.deepEqual([undone.json['removed'], undone.json['left'], await rows()], [2, 0, []]);
    const named = row(7, { id: 'other', title: 'title 2', content: 'merged', updated_at: at(6) });
    await command('import', file('c.json', { memories: [row(2)] }));
    const merged = await command('import', file('d.json', { memories: [named] }), '--on-conflict', 'merge');
    assert.deepEqual(await rows(), ['id-2 merged']);
    const back = await command('import', '--undo', String(merged.json['run']));
    assert.deepEqual([back.json['restored'], await rows()], [1, ['id-2 text 2']]);
  });

  it('is taken back only by who sees every row, also through a daemon', async () => {
    const { home, command, file, rows } = node();
    const daemon = await startDaemonProcess(home, await freePort());
    const done = await command('import', file('a.json', { memories: [row(1), row(2)], links: [link(1, 2)] }));
    const name = String(done.json['run']);
    const bound = await run(home, ['import', '--undo', name, '--json'], { env: { SVC_AGENT_ID: 'ai:bob' } });
    assert.equal((JSON.parse(bound.err) as Row)['code'], 'ADMIN_REQUIRED');
    const undone = await command('import', '--undo', name);
    assert.deepEqual([undone.json['removed'], await rows()], [2, []]);
    await daemon.end('SIGTERM');
  });

  it('goes on after a kill in the middle, and goes back as one run', async () => {
    const { home, command, file } = node();
    const memories = Array.from({ length: 6000 }, (_, n) => row(n));
    const big = file('big.json', { memories });
    const child = spawn(process.execPath, [MAIN, 'import', big], { env: cleanEnvironment(home) });
    const closed = once(child, 'close');
    await until('the import has made some calls', () => {
      const journals = journalsOf(home);
      const [journal] = journals === null ? [] : readdirSync(journals);
      return (
        journal !== undefined && readFileSync(join(journals!, journal), 'utf8').split('"plan"').length > 2
      );
    });
    child.kill('SIGKILL');
    await closed;
    const total = async () => (await command('stats')).json['total'] as number;
    const before = await total();
    assert.ok(before > 0 && before < 6000, `${before} were imported`);
    const again = await command('import', big);
    assert.deepEqual([again.json['imported'], await total()], [6000, 6000]);
    const runs = (await command('import', '--runs')).json['runs'] as Row[];
    assert.deepEqual([runs.length, runs[0]!['run']], [1, again.json['run']]);
    const undone = await command('import', '--undo', String(again.json['run']));
    assert.deepEqual([undone.json['removed'], undone.json['left'], await total()], [6000, 0, 0]);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });
});
