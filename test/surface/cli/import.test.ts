import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PROJECT } from '../../architecture/source-files.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { journalsOf } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

const FIXTURES = join(PROJECT, 'fixtures/import');

/** A home of its own, with a copy of a fixture that a test may change. */
function node(fixture?: string) {
  const home = temporaryFolder('import');
  const source = join(home, 'source', fixture ?? '');
  mkdirSync(join(home, 'source'), { recursive: true });
  if (fixture !== undefined) cpSync(join(FIXTURES, fixture), source, { recursive: true });
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(home, [...args, '--json']);
    return { code, json: JSON.parse(out === '' ? err : out) as Row };
  };
  const imports = (...args: string[]) => command('import', source, ...args);
  const rows = async (namespace: string) => {
    const { json } = await command('list', '--namespace', namespace, '--limit', '1000');
    return (json['memories'] as Row[]).sort((left, right) =>
      String(left['title']) < String(right['title']) ? -1 : 1,
    );
  };
  return { home, source, command, imports, rows };
}

const counts = ({ json }: { readonly json: Row }) =>
  ['imported', 'updated', 'unchanged', 'kept', 'left_out', 'links'].map((name) => json[name]);
const claimsOf = ({ metadata }: Row) => (metadata as Row)['import_claims'] as Row;
const titles = (rows: readonly Row[]) => rows.map(({ title }) => title);

describe('import of other sources', { timeout: 240_000 }, () => {
  it('takes a folder of notes, with their titles, tags and links, once', async () => {
    const { home, imports, rows, command } = node('notes');
    const dry = await imports('--dry-run');
    assert.deepEqual([dry.code, ...counts(dry)], [0, 3, 0, 0, 0, 0, 2]);
    assert.deepEqual((await command('import', '--runs')).json, { runs: [], count: 0 });
    const first = await imports();
    assert.deepEqual([first.code, ...counts(first)], [0, 3, 0, 0, 0, 0, 2]);
    assert.equal(first.json['loose_links'], 1);
    const stored = await rows('import/markdown');
    assert.deepEqual(titles(stored), ['Deploy window', 'Rollback', 'shopping']);
    const [deploy] = stored;
    assert.deepEqual(
      [deploy!['tags'], deploy!['tier'], deploy!['source']],
      [['ops', 'release'], 'long', 'import'],
    );
    assert.match(String(deploy!['content']), /^# Another heading\n\nSundays/);
    const { import_claims, import_from, agent_id } = deploy!['metadata'] as Row;
    assert.deepEqual(import_claims, { created: '2024-01-02', author: 'mallory' });
    assert.equal(import_from, 'projects/deploy.md');
    assert.notEqual(agent_id, 'mallory');
    const again = await imports();
    assert.deepEqual(counts(again), [0, 0, 3, 0, 0, 0]);
    assert.equal(again.json['run'], undefined);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });

  it('makes namespaces of folders where that is asked', async () => {
    const { imports, rows } = node('notes');
    await imports('--folders', '--namespace', 'mine');
    assert.deepEqual(titles(await rows('mine')), ['Rollback', 'shopping']);
    assert.deepEqual(titles(await rows('mine/projects')), ['Deploy window']);
  });

  it('follows a source that changed, and leaves what was changed here', async () => {
    const { source, imports, rows, command } = node('notes');
    await imports();
    const before = await rows('import/markdown');
    const shopping = before.find(({ title }) => title === 'shopping')!;
    await command('update', String(shopping['id']), '--content', 'Only milk');
    writeFileSync(join(source, 'shopping.md'), 'Milk, bread and two kettles\n');
    appendFileSync(join(source, 'rollback.md'), 'Call Ada.\n');
    writeFileSync(join(source, 'new.md'), '# New\n\nA new note.\n');
    const next = await imports();
    assert.deepEqual(counts(next), [1, 1, 1, 1, 0, 0]);
    const after = await rows('import/markdown');
    const contentOf = (title: string) => after.find((row) => row['title'] === title)!['content'];
    assert.equal(contentOf('shopping'), 'Only milk');
    assert.match(String(contentOf('Rollback')), /Call Ada\.$/);
    assert.deepEqual(counts(await imports()), [0, 0, 3, 1, 0, 0]);
  });

  it('takes a table and lines, and says which rows have no text', async () => {
    const table = node('table.csv');
    const first = await table.imports('--namespace', 'sea');
    assert.deepEqual([first.code, ...counts(first)], [1, 2, 0, 0, 0, 1, 0]);
    assert.deepEqual(first.json['problems'], ['table.csv: line 6 has no text: left out']);
    const [quoted, tide] = await table.rows('sea');
    assert.equal(quoted!['content'], 'A quote "inside" and a ; too');
    assert.deepEqual(
      [tide!['title'], tide!['content'], tide!['tags']],
      ['Tide table', 'High water at 06:10\nand at 18:35', ['sea', 'harbour']],
    );
    assert.deepEqual((tide!['metadata'] as Row)['import_claims'], { owner: 'ada' });
    const lines = node('rows.jsonl');
    const second = await lines.imports('--folders');
    assert.deepEqual([second.code, ...counts(second)], [1, 2, 0, 0, 0, 2, 0]);
    const [onCall] = await lines.rows('import/jsonl/team/ops');
    assert.deepEqual([onCall!['title'], onCall!['kind']], ['On call', 'decision']);
    assert.deepEqual(counts(await lines.imports('--folders')), [0, 0, 2, 0, 2, 0]);
  });

  it('takes what mem0 answers', async () => {
    const { imports, rows } = node('mem0.json');
    assert.deepEqual(counts(await imports()), [3, 0, 0, 0, 0, 0]);
    const [, deploys] = await rows('import/mem0');
    const stored = await rows('import/mem0');
    assert.equal(deploys!['title'], 'Invoices go out on the first working day of a month.');
    const seats = stored.find(({ title }) => title === 'Ada prefers window seats on trains')!;
    assert.deepEqual(seats['tags'], ['travel']);
    const claims = (seats['metadata'] as Row)['import_claims'] as Row;
    assert.deepEqual([claims['user_id'], claims['created_at']], ['ada', '2026-11-26T18:11:15.846217+00:00']);
    assert.deepEqual(counts(await imports()), [0, 0, 3, 0, 0, 0]);
  });

  it('takes the file of the knowledge graph server as entities and links', async () => {
    const { imports, rows, command, source } = node('memory.json');
    assert.deepEqual(counts(await imports()), [3, 0, 0, 0, 0, 2]);
    const [ada] = await rows('import/knowledge-graph');
    assert.deepEqual([ada!['title'], ada!['kind'], ada!['tags']], ['Ada', 'entity', ['person']]);
    assert.equal(
      ada!['content'],
      'Ada (person)\n- Runs the harbour office\n- Speaks English and Portuguese\n- Prefers mail to phone calls\n- works_at Harbour office',
    );
    const { json } = await command('get', String(ada!['id']));
    assert.equal((json['links'] as Row[]).length, 1);
    assert.deepEqual(counts(await imports()), [0, 0, 3, 0, 0, 0]);
    // The answer of read_graph is another form of the same.
    const lines = readFileSync(source, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    const graph = {
      entities: lines.filter(({ type }) => type === 'entity'),
      relations: lines.filter(({ type }) => type === 'relation'),
    };
    writeFileSync(source, JSON.stringify(graph, null, 2));
    assert.deepEqual(counts(await imports()), [0, 0, 3, 0, 0, 0]);
  });

  it('takes notes of basic-memory with their relations', async () => {
    const { imports, rows, command } = node('basic-memory');
    const first = await imports();
    assert.equal(first.json['format'], 'basic-memory');
    assert.deepEqual([...counts(first), first.json['loose_links']], [2, 0, 0, 0, 0, 1, 1]);
    const [coffee] = await rows('import/basic-memory');
    assert.deepEqual([coffee!['title'], coffee!['tags']], ['Coffee brewing methods', ['coffee', 'brewing']]);
    const { json } = await command('get', String(coffee!['id']));
    assert.equal((json['links'] as Row[])[0]!['relation'], 'depends_on');
    assert.deepEqual(counts(await imports()), [0, 0, 2, 0, 0, 0]);
  });

  it('takes agent files and passages of Letta', async () => {
    const file = node('letta.af');
    assert.deepEqual(counts(await file.imports()), [2, 0, 0, 0, 0, 0]);
    const [human, persona] = await file.rows('import/letta');
    assert.deepEqual([human!['title'], persona!['title']], ['planner: human', 'planner: persona']);
    assert.equal(human!['content'], 'Ada runs the harbour office.');
    assert.deepEqual(claimsOf(human!), {
      ...{ agent: 'planner', id: 'block-0', limit: 20000, description: 'About the person' },
    });
    assert.equal(claimsOf(persona!)['read_only'], true);
    const quoted = node('letta-quoted.af');
    assert.deepEqual(counts(await quoted.imports()), [1, 0, 0, 0, 0, 0]);
    const [notes] = await quoted.rows('import/letta');
    assert.deepEqual(
      [notes!['title'], notes!['content']],
      ['scribe: notes', 'The lighthouse is painted in May.'],
    );
    const first = node('letta-first.af');
    assert.deepEqual(counts(await first.imports()), [2, 0, 0, 0, 0, 0]);
    const blocks = await first.rows('import/letta');
    assert.deepEqual(titles(blocks), ['poet: human', 'poet: persona']);
    const { created_at, updated_at } = claimsOf(blocks[0]!);
    assert.deepEqual([created_at, updated_at], ['2025-03-31T23:17:55', '2025-04-02T09:00:00']);
    const passages = node('letta-passages.json');
    assert.deepEqual(counts(await passages.imports()), [2, 0, 0, 0, 0, 0]);
    const [, pier] = await passages.rows('import/letta');
    assert.deepEqual(pier!['tags'], ['weather']);
    assert.equal(JSON.stringify(pier).includes('embedding_config'), false);
    assert.deepEqual(Object.keys(claimsOf(pier!)).sort(), [
      ...['archive_id', 'created_at', 'created_by_id', 'id', 'organization_id', 'updated_at'],
    ]);
  });

  it('takes the blocks of two Letta agents of one name, and says what it leaves out', async () => {
    const { source, imports, rows } = node('letta.af');
    const file = JSON.parse(readFileSync(source, 'utf8')) as { agents: Row[]; blocks: Row[]; files: Row[] };
    file.agents.push({ ...file.agents[0], id: 'agent-1', block_ids: ['block-3'] });
    file.blocks.push({ ...file.blocks[0], id: 'block-3', value: 'Bo runs the lighthouse.' });
    file.files.push({ id: 'file-0', file_name: 'tides.txt', content: 'High water at six' });
    writeFileSync(source, JSON.stringify(file));
    const done = await imports();
    assert.deepEqual([done.code, ...counts(done)], [0, 3, 0, 0, 0, 0, 0]);
    assert.match(String(done.json['notices']), /its files are left out \(1\)/);
    assert.equal((await rows('import/letta')).length, 3);
    assert.deepEqual(counts(await imports()), [0, 0, 3, 0, 0, 0]);
    const passages = node('letta-passages.json');
    const list = JSON.parse(readFileSync(passages.source, 'utf8')) as Row[];
    list[1]!['is_deleted'] = true;
    writeFileSync(passages.source, JSON.stringify(list));
    const kept = await passages.imports();
    assert.deepEqual([kept.code, ...counts(kept)], [1, 1, 0, 0, 0, 1, 0]);
    assert.match(String(kept.json['problems']), /passage 2 is deleted/);
  });

  it('takes back what a run made, and leaves what was changed since', async () => {
    const { home, source, imports, rows, command } = node('notes');
    const first = await imports();
    const run = String(first.json['run']);
    const [deploy] = await rows('import/markdown');
    await command('update', String(deploy!['id']), '--priority', '9');
    const dry = await command('import', '--undo', run, '--dry-run');
    assert.deepEqual([dry.json['removed'], dry.json['left']], [2, 1]);
    assert.equal((await rows('import/markdown')).length, 3);
    const undone = await command('import', '--undo', run);
    assert.deepEqual([undone.code, undone.json['removed'], undone.json['left']], [0, 2, 1]);
    assert.match(String((undone.json['reasons'] as string[])[0]), /"Deploy window" stays: it was changed/);
    assert.deepEqual(titles(await rows('import/markdown')), ['Deploy window']);
    const runs = (await command('import', '--runs')).json['runs'] as Row[];
    assert.deepEqual([runs.length, runs[0]!['run'], runs[0]!['format']], [1, run, 'markdown']);
    assert.notEqual(runs[0]!['undone_at'], null);
    // What was taken back comes again, as a version after its deletion, and can be taken back again.
    const again = await imports();
    assert.deepEqual(counts(again), [2, 0, 1, 0, 0, 0]);
    const { json } = await command('get', String(deploy!['id']));
    assert.equal((json['links'] as Row[]).length, 2);
    appendFileSync(join(source, 'rollback.md'), 'Call Ada.\n');
    const changed = await imports();
    assert.deepEqual(counts(changed), [0, 1, 2, 0, 0, 0]);
    const early = await command('import', '--undo', String(again.json['run']));
    assert.deepEqual([early.json['removed'], early.json['left']], [1, 1]);
    const back = await command('import', '--undo', String(changed.json['run']));
    assert.deepEqual([back.json['removed'], back.json['restored']], [0, 1]);
    const rollback = (await rows('import/markdown')).find(({ title }) => title === 'Rollback')!;
    assert.equal(String(rollback['content']).includes('Call Ada'), false);
    const rest = await command('import', '--undo', String(again.json['run']));
    assert.deepEqual([rest.json['removed'], rest.json['left']], [1, 0]);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
    const unknown = await command('import', '--undo', '../../etc/passwd');
    assert.deepEqual([unknown.code, unknown.json['code']], [1, 'NOT_FOUND']);
  });

  it('goes on with a run that did not end', async () => {
    const { home, imports, rows } = node('notes');
    const first = await imports();
    const journals = journalsOf(home)!;
    const [file] = readdirSync(journals);
    const journal = join(journals, file!);
    const lines = readFileSync(journal, 'utf8').split('\n');
    // As if it was killed while it wrote its last line.
    writeFileSync(journal, `${lines.filter((line) => !line.includes('ended_at')).join('\n')}{"rows":["uri`);
    await run(home, ['delete', String((await rows('import/markdown'))[0]!['id'])]);
    const again = await imports();
    assert.equal(again.json['run'], first.json['run']);
    assert.deepEqual(counts(again).slice(0, 3), [1, 0, 2]);
  });

  it('is complete after a kill in the middle and another call, and goes back as one run', async () => {
    const { home, source, command } = node();
    const file = join(source, 'rows.jsonl');
    const lines = Array.from({ length: 3000 }, (_, n) => JSON.stringify({ id: n, text: `fact ${n}` }));
    writeFileSync(file, lines.join('\n'));
    const env = { SVC_MAX_MEMORIES_PER_DAY: '10000' };
    const child = spawn(process.execPath, [MAIN, 'import', file], { env: cleanEnvironment(home, env) });
    const closed = once(child, 'close');
    await until('the import has stored some batches', () => {
      const journals = journalsOf(home);
      const [journal] = journals === null ? [] : readdirSync(journals);
      return (
        journal !== undefined && readFileSync(join(journals!, journal), 'utf8').split('"rows"').length > 4
      );
    });
    child.kill('SIGKILL');
    await closed;
    const stats = async () => (await command('stats')).json['total'] as number;
    const before = await stats();
    assert.ok(before > 0 && before < 3000, `${before} were stored`);
    const again = await run(home, ['import', file, '--json'], { env });
    const done = JSON.parse(again.out) as Row;
    assert.equal(Number(done['imported']) + Number(done['unchanged']), 3000);
    assert.equal(await stats(), 3000);
    const runs = (await command('import', '--runs')).json['runs'] as Row[];
    assert.deepEqual([runs.length, runs[0]!['run']], [1, done['run']]);
    const undone = await command('import', '--undo', String(done['run']));
    assert.deepEqual([undone.json['removed'], undone.json['left']], [3000, 0]);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });

  it('says what to do when the quota of a day ends it', async () => {
    const { home } = node();
    const env = { SVC_MAX_MEMORIES_PER_DAY: '2' };
    const dry = async () => {
      const { code, out } = await run(home, ['import', join(FIXTURES, 'notes'), '--dry-run', '--json'], {
        env,
      });
      const json = JSON.parse(out) as Row;
      return [code, json['imported'], String(json['notices'] ?? '')] as const;
    };
    const would =
      /^the quota of the day would stop this: it takes (\d) of (\d) new .* import\/markdown .*raised$/;
    const before = await dry();
    assert.deepEqual(before.slice(0, 2), [0, 3]);
    assert.deepEqual(would.exec(before[2])?.slice(1), ['2', '3'], before[2]);
    const ended = await run(home, ['import', join(FIXTURES, 'notes')], { env });
    assert.equal(ended.code, 1);
    assert.match(ended.err, /the same call imports the rest .* SVC_MAX_MEMORIES_PER_DAY .*; imported 2 mem/);
    const after = await dry();
    assert.deepEqual(would.exec(after[2])?.slice(1), ['0', '1'], after[2]);
    const full = { env: { SVC_MAX_STORAGE_BYTES: '10' } };
    const stored = await run(home, ['import', join(FIXTURES, 'notes')], full);
    assert.match(stored.err, /hit storage_bytes .* or after SVC_MAX_STORAGE_BYTES was raised; imported 0/);
    const rest = await run(home, ['import', join(FIXTURES, 'notes'), '--json']);
    assert.deepEqual(counts({ json: JSON.parse(rest.out) as Row }).slice(0, 3), [1, 0, 2]);
  });

  it('takes standard input, a note with a front matter that is no YAML, and nothing that links lead to', async () => {
    const { home, source, imports } = node('notes');
    const text = readFileSync(join(FIXTURES, 'table.csv'), 'utf8');
    const piped = await run(home, ['import', '--json', '--dry-run'], { stdin: text });
    assert.equal((JSON.parse(piped.out) as Row)['format'], 'csv');
    for (const nothing of ['', '\n\n']) {
      const empty = await run(home, ['import'], { stdin: nothing });
      assert.deepEqual([empty.code, empty.out], [2, '']);
      assert.match(empty.err, /^error: standard input is empty: nothing was imported\n/);
    }
    writeFileSync(join(source, 'odd.md'), '---\ntitle: [odd: yaml\n---\nThe body\n');
    writeFileSync(join(source, 'binary.md'), Buffer.from([0, 1, 255]));
    symlinkSync('/etc', join(source, 'link'));
    const done = await imports('--dry-run');
    assert.deepEqual([done.code, ...counts(done)], [1, 4, 0, 0, 0, 1, 2]);
    assert.deepEqual(done.json['problems'], ['binary.md: is not valid UTF-8']);
    assert.match(String(done.json['notices']), /link: is a link that leads out.*odd\.md: its front matter/);
  });

  it('takes no part of a table that it would damage', async () => {
    const { home, rows } = node();
    const file = join(home, 'table.csv');
    const take = async (table: string | Buffer) => {
      writeFileSync(file, table);
      const { code, out } = await run(home, ['import', file, '--json']);
      return { code, json: JSON.parse(out) as Row };
    };
    const damaged = await take(Buffer.from('content\ncaf\u00e9\n', 'latin1'));
    assert.deepEqual([damaged.code, ...counts(damaged).slice(0, 1)], [1, 0]);
    assert.deepEqual(damaged.json['problems'], ['table.csv: is no table: it is not valid UTF-8']);
    const torn = await take('content,owner,owner\nHigh water, and low,ada,bob\nTide,ada,bob\nEbb\n');
    assert.deepEqual([torn.code, ...counts(torn).slice(0, 1)], [1, 2]);
    assert.match(String(torn.json['problems']), /line 2 has 1 more value than the header has columns/);
    const [ebb, tide] = await rows('import/csv');
    assert.equal(ebb!['content'], 'Ebb');
    assert.deepEqual(claimsOf(tide!), { owner: 'ada', owner_2: 'bob' });
  });

  it('finds the format where the first row is long, in a file and in a pipe', async () => {
    const { home } = node();
    const [long, short] = [{ content: 'long '.repeat(30_000) }, { content: 'short' }];
    for (const [name, text] of [
      ['jsonl', `${JSON.stringify(long)}\n${JSON.stringify(short)}\n`],
      ['jsonl', JSON.stringify([long, short])],
      ['mem0', JSON.stringify({ results: [{ id: '1', hash: 'x', memory: long.content }] })],
    ] as const) {
      const file = join(home, 'rows.json');
      writeFileSync(file, text);
      const dry = ['--dry-run', '--json'];
      const whole = await run(home, ['import', file, ...dry]);
      const piped = await run(home, ['import', ...dry], { stdin: text });
      for (const { code, out, err } of [whole, piped]) {
        assert.equal(code, 0, err);
        assert.equal((JSON.parse(out) as Row)['format'], name);
      }
    }
  });

  it('lets no row of a pipe replace that of another one', async () => {
    const { home, rows } = node();
    const pipe = async (content: string) => {
      const stdin = `${JSON.stringify({ id: 1, content })}\n`;
      return JSON.parse((await run(home, ['import', '--json'], { stdin })).out) as Row;
    };
    assert.deepEqual(counts({ json: await pipe('tides') }).slice(0, 3), [1, 0, 0]);
    assert.deepEqual(counts({ json: await pipe('invoices') }).slice(0, 3), [1, 0, 0]);
    assert.deepEqual(counts({ json: await pipe('tides') }).slice(0, 3), [0, 0, 1]);
    assert.deepEqual(titles(await rows('import/jsonl')), ['invoices', 'tides']);
  });

  it('makes one memory of each row in two imports at the same time', async () => {
    const { home, source, rows } = node();
    const file = join(source, 'rows.jsonl');
    const lines = Array.from({ length: 300 }, (_, n) => JSON.stringify({ id: n, text: `fact ${n}` }));
    writeFileSync(file, lines.join('\n'));
    const both = await Promise.all([1, 2].map(() => run(home, ['import', file, '--json'])));
    assert.deepEqual(
      both.map(({ code }) => code),
      [0, 0],
      both.map(({ err }) => err).join(''),
    );
    assert.equal((await rows('import/jsonl')).length, 300);
  });

  it('keeps a long text in parts', async () => {
    const { source, imports, rows } = node('notes');
    const paragraph = `${'word '.repeat(200)}\n\n`;
    writeFileSync(join(source, 'long.md'), `# Long\n\n${paragraph.repeat(150)}`);
    assert.deepEqual(counts(await imports()).slice(0, 2), [6, 0]);
    const parts = (await rows('import/markdown')).filter(({ title }) => String(title).startsWith('Long'));
    assert.deepEqual(titles(parts), ['Long (part 1 of 3)', 'Long (part 2 of 3)', 'Long (part 3 of 3)']);
    const words = parts.map(({ content }) => String(content).match(/word/g)!.length);
    assert.equal(words[0]! + words[1]! + words[2]!, 30_000);
    assert.deepEqual(counts(await imports()).slice(0, 3), [0, 0, 6]);
  });

  it('names what it takes where it knows no format, and flags that do not fit', async () => {
    const { home, source, command } = node();
    const file = join(source, 'riddle.txt');
    writeFileSync(file, 'What is this?');
    const unknown = await command('import', file);
    assert.equal(unknown.json['code'], 'MALFORMED_BODY');
    assert.match(String(unknown.json['error']), /Markdown.*CSV.*mem0.*knowledge graph.*Letta/);
    assert.equal((await command('import', source)).json['code'], 'INVALID_ARGUMENT');
    const forced = await command('import', join(FIXTURES, 'notes'), '--format', 'mem0');
    assert.deepEqual([forced.code, ...counts(forced).slice(0, 1)], [1, 0]);
    const wrong = await command('import', join(FIXTURES, 'table.csv'), '--trust-source');
    assert.deepEqual(wrong.json['fields'], ['trust_source']);
    const reserved = await command('import', join(FIXTURES, 'notes'), '--namespace', '_agents');
    assert.deepEqual(reserved.json['fields'], ['namespace']);
    const own = join(home, 'own.json');
    writeFileSync(own, JSON.stringify({ memories: [{ title: 'a', content: 'b' }] }));
    const dry = await command('import', own, '--dry-run');
    assert.deepEqual(dry.json, {
      ...{ dry_run: true, memories: 1, links: 0, records: 0 },
      ...{ created: 1, updated: 0, unchanged: 0, kept: 0, trusted_source: false, failed: 0, errors: [] },
    });
    const misplaced = await command('import', own, '--namespace', 'x');
    assert.deepEqual(misplaced.json['fields'], ['namespace']);
  });

  it('imports for one agent only what that agent may write, and shows it to no other run', async () => {
    const { home } = node();
    const as = (agent: string) => ({ env: { SVC_AGENT_ID: agent } });
    const file = join(FIXTURES, 'mem0.json');
    const alice = await run(home, ['import', file, '--json'], as('ai:alice'));
    assert.equal(alice.code, 0, alice.err);
    const bob = await run(home, ['import', file, '--json'], as('ai:bob'));
    assert.equal((JSON.parse(bob.out) as Row)['imported'], 3);
    const name = String((JSON.parse(alice.out) as Row)['run']);
    const foreign = await run(home, ['import', '--undo', name, '--json'], as('ai:bob'));
    assert.equal((JSON.parse(foreign.out) as Row)['removed'], 0);
    const own = await run(home, ['import', '--undo', name, '--json'], as('ai:alice'));
    assert.equal((JSON.parse(own.out) as Row)['removed'], 3);
  });
});
