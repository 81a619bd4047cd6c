import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { JsonItems } from '../../../cli/json-items.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { run } from './cli-process.js';

const withoutDate = (text: string) => text.replace(/"exported_at":"[^"]*"/, '');

describe('export and import as commands', { timeout: 120_000 }, () => {
  it('carry 2,500 rows and their links from node to node, byte for byte, and again change nothing', async () => {
    const [one, two] = [temporaryFolder('export'), temporaryFolder('import')];
    const memories = Array.from({ length: 2500 }, (_, n) => ({
      id: `id-${n}`,
      title: `title ${n} "quoted" \\ { [ , 東京`,
      content: `text ${n}`,
      created_at: new Date(1_700_000_000_000 + n * 1000).toISOString(),
      metadata: { agent_id: 'ai:alice', n },
    }));
    const links = Array.from({ length: 1500 }, (_, n) => ({
      source_id: `id-${n}`,
      target_id: `id-${n + 1}`,
      relation: 'related_to',
      created_at: '2026-01-01T00:00:00.000Z',
    }));
    // Links may stand before the memories that they join.
    const first = await run(one, ['import', '--trust-source', '--json'], {
      stdin: JSON.stringify({ exported_at: 'x', links, memories }, null, 1),
    });
    assert.equal(first.code, 0, first.err);
    const counts = {
      imported: 2500,
      unchanged: 0,
      restamped: 0,
      kept: 0,
      links: 1500,
      trusted_source: true,
      failed: 0,
    };
    const { run: named, ...told } = JSON.parse(first.out) as Record<string, unknown>;
    assert.match(String(named), /^\d{8}-\d{6}-[0-9a-f]{4}$/);
    assert.deepEqual(told, { ...counts, errors: [] });
    const file = join(one, 'out.json');
    const exported = await run(one, ['export', '--out', file]);
    assert.match(exported.out, /^exported 2500 memories and 1500 links/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const unchanged of [0, 2500]) {
      const done = await run(two, ['import', file, '--trust-source', '--json']);
      const { run: name, ...said } = JSON.parse(done.out) as Record<string, unknown>;
      // A repeated import writes nothing, so it has no run.
      assert.equal(name === undefined, unchanged === 2500);
      assert.deepEqual(said, { ...counts, unchanged, errors: [] });
    }
    const out = (await run(two, ['export'])).out;
    assert.equal(withoutDate(out), withoutDate(readFileSync(file, 'utf8')));
    assert.deepEqual(auditLog(join(two, 'mnemesh.db')), []);
  });

  it('carry records, which may stand before the memories that they name, in calls of 1,000', async () => {
    const [one, two] = [temporaryFolder('export-records'), temporaryFolder('import-records')];
    const records = Array.from({ length: 1500 }, (_, n) => ({
      kind: 'standard',
      id: `space-${String(n).padStart(4, '0')}`,
      namespace: `space-${String(n).padStart(4, '0')}`,
      standard_id: n === 1499 ? 'rules' : null,
      parent_namespace: 'root',
      set_by: 'ai:alice',
      updated_at: '2026-01-01T00:00:00.000Z',
    }));
    await run(one, ['store', '--title', 'the rules', '--content', 'old']);
    const memories = [{ id: 'rules', title: 'the rules', content: 'new' }];
    const bad = { kind: 'riddle', id: 'x', namespace: 'x' };
    const first = await run(one, ['import', '--trust-source', '--on-conflict', 'merge', '--json'], {
      stdin: JSON.stringify({ records: [...records, bad], memories }),
    });
    const counts = JSON.parse(first.out) as Record<string, unknown>;
    assert.deepEqual([counts['imported'], counts['records'], counts['failed']], [1, 1500, 1]);
    assert.match((counts['errors'] as string[])[0]!, /^records\[1500\]: .*"riddle"/);
    const file = join(one, 'out.json');
    const exported = await run(one, ['export', '--out', file]);
    assert.match(exported.out, /^exported 1 memories, 0 links and 1500 records to /);
    const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, unknown>[]>;
    assert.deepEqual(Object.keys(document), ['memories', 'links', 'records', 'count', 'exported_at']);
    const last = document['records']!.at(-1)!;
    assert.equal(last['standard_id'], document['memories']![0]!['id'], 'the memory became part of another');
    assert.deepEqual(document['records']!.slice(0, -1), records.slice(0, -1));
    for (const unchanged of [0, 1]) {
      const done = await run(two, ['import', file, '--trust-source']);
      assert.equal(done.code, 0, done.err);
      const what = unchanged === 0 ? '1 memory' : '0 memories';
      const told = `imported ${what}, 0 links and 1500 records${unchanged === 0 ? '' : '; 1 unchanged'}\n`;
      const back = unchanged === 0 ? /^take it back with: mnemesh import --undo \S+\n$/ : /^$/;
      assert.equal(done.out.slice(0, told.length), told);
      assert.match(done.out.slice(told.length), back);
    }
    assert.equal(withoutDate((await run(two, ['export'])).out), withoutDate(readFileSync(file, 'utf8')));
    const only = await run(two, ['import'], { stdin: JSON.stringify({ records: records.slice(0, 1) }) });
    assert.equal(only.code, 0, only.err);
    assert.deepEqual(auditLog(join(two, 'mnemesh.db')), []);
  });

  it('leave no draft behind when the file cannot be written, and name what is wrong', async () => {
    const home = temporaryFolder('export-folder');
    await run(home, ['store', '--title', 't', '--content', 'c']);
    const folder = join(home, 'folder');
    mkdirSync(folder);
    for (const [expected, ...command] of [
      ['CONFIG_INVALID', 'export', '--out', folder],
      ['INVALID_ARGUMENT', 'import', folder],
    ] as const) {
      const done = await run(home, [...command, '--json']);
      assert.equal((JSON.parse(done.err) as { code: string }).code, expected, done.err);
    }
    assert.deepEqual(
      readdirSync(home).filter((name) => name.endsWith('.partial')),
      [],
    );
  });

  it('say that the records of agents are left out', async () => {
    const home = temporaryFolder('export-agents');
    await run(home, ['store', '--title', 'about the planner', '--content', 'It plans']);
    await run(home, ['agents', 'register', '--agent-id', 'ai:planner', '--agent-type', 'ai:generic']);
    const file = join(home, 'out.json');
    const toFile = await run(home, ['export', '--out', file]);
    assert.match(toFile.out, /^exported 1 memories .*; left out: the record of 1 agent, which register/);
    const json = await run(home, ['export', '--out', file, '--json']);
    assert.deepEqual((JSON.parse(json.out) as { left_out: unknown }).left_out, { agents: 1 });
    assert.match((await run(home, ['export'])).err, /^left out: the record of 1 agent/);
    assert.equal((await run(home, ['export', '--namespace', 'global'])).err, '');
  });

  it('refuse a document that has nothing to import', async () => {
    const home = temporaryFolder('import-other');
    for (const stdin of ['{}', '{"foo":[1]}', '{"memories":{"a":1}}']) {
      const done = await run(home, ['import', '--json'], { stdin });
      assert.equal(
        done.code === 0 ? done.out : (JSON.parse(done.err) as { code: string }).code,
        'MALFORMED_BODY',
      );
    }
    for (const stdin of ['[]', '{"memories":[]}', '{"links":[],"count":0}']) {
      assert.equal((await run(home, ['import'], { stdin })).code, 0, stdin);
    }
  });

  it('tell bad rows by their place, broken input, and an agent that does not see everything', async () => {
    const home = temporaryFolder('import-bad');
    const rows = [{ title: 'a', content: 'b' }, 7, { title: 'no content' }];
    const some = await run(home, ['import'], { stdin: JSON.stringify(rows) });
    assert.equal(some.code, 1);
    assert.match(
      some.out,
      /^imported 1 memory and 0 links; 1 now belong to the importing agent, 2 refused$/m,
    );
    assert.match(some.err, /memories\[1\]: must be a JSON object\nmemories\[2\]: content is required/);
    for (const stdin of [
      '',
      '{',
      '{"memories":[}',
      '[1,]',
      '[] []',
      '{"memories":[{}',
      '"x"',
      '{"memories":[{}],}',
    ]) {
      const broken = await run(home, ['import', '--json'], { stdin });
      assert.equal((JSON.parse(broken.err) as { code: string }).code, 'MALFORMED_BODY', stdin);
    }
    const bad = join(home, 'latin1.json');
    writeFileSync(bad, Buffer.from('[{"title":"\xe9","content":"x"}]', 'latin1'));
    assert.match((await run(home, ['import', bad])).err, /UTF-8/);
    for (const command of ['export', 'import']) {
      const bound = await run(home, [command, '--json'], { env: { SVC_AGENT_ID: 'ai:one' }, stdin: '[]' });
      assert.equal((JSON.parse(bound.err) as { code: string }).code, 'ADMIN_REQUIRED');
    }
  });
});

describe('a document that is taken apart', () => {
  it('gives the same items however it is cut', () => {
    const document =
      ' {"count": 2, "memories" : [ {"a":"]},\\""}, [1,{}], "x", -1 ] ,"odd":{"memories":[9]},"links":[]}\n';
    const expected = ['{"a":"]},\\""}', '[1,{}]', '"x"', '-1'];
    for (let size = 1; size <= document.length; size += 1) {
      const items = new JsonItems(['memories', 'links'], 100);
      const found: string[] = [];
      for (let at = 0; at < document.length; at += size) {
        const taken = items.take(document.slice(at, at + size));
        assert.ok(taken.ok, `pieces of ${size}`);
        found.push(...taken.value.map(({ text }) => text.trim()));
      }
      assert.deepEqual(found, expected);
      assert.ok(items.end().ok);
    }
  });

  it('holds no element beyond its limit', () => {
    const items = new JsonItems(['memories'], 100);
    assert.equal(items.take(`[{"a":"${'x'.repeat(200)}`).ok, false);
  });
});
