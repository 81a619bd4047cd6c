import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { RecordImage } from '../../../protocol/kinds/record.js';
import type { Link } from '../../../protocol/links/link.js';
import type { Standard } from '../../../protocol/memory/standard-kind.js';
import { KINDS } from '../../../protocol/release.js';
import { aMemory, linking, OPERATOR, storing } from '../../support/memories.js';
import { aRule } from '../../support/rules.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** What travels in exports beside known memories and links: records of other kinds, and members of later releases. */

type Json = Record<string, unknown>;
const admin = { 'x-agent-id': 'ai:admin' };
const DATE = '2026-03-01T00:00:00.000Z';

let opened: HttpNode[] = [];
afterEach(async () => {
  for (const node of opened) await node.close();
  opened = [];
});
async function open(): Promise<HttpNode> {
  const node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
  opened.push(node);
  return node;
}

async function exported(node: HttpNode, query = ''): Promise<Json> {
  const { status, json, text } = await node.send('GET', `/api/v1/export${query}`, undefined, admin);
  assert.equal(status, 200, text);
  return json!;
}
async function imported(node: HttpNode, body: Json): Promise<Json> {
  const { status, json, text } = await node.send('POST', '/api/v1/import', { memories: [], ...body }, admin);
  assert.equal(status, 200, text);
  return json!;
}
const rowsOf = ({ exported_at: _, ...rows }: Json) => rows;

const setting = (namespace: string, standardId: string | null, parent: string | null = null) =>
  ({ kind: 'set-standard', namespace, standardId, parent, viewer: OPERATOR }) as const;

async function run(node: HttpNode, ...commands: Parameters<HttpNode['services']['store']['execute']>[0][]) {
  for (const command of commands) {
    const done = await node.services.store.execute(command);
    assert.ok(done.ok, done.ok ? '' : done.error.message);
  }
}

async function standards(node: HttpNode, ...ids: string[]): Promise<readonly Standard[]> {
  const read = await node.services.store.query({ kind: 'read-records', of: 'standard', ids });
  assert.ok(read.ok);
  return read.value.records.map(({ image }) => image as Standard);
}

/** A standard as an export has it. */
const record = (more: Json = {}): Json => ({
  kind: 'standard',
  id: 'team',
  namespace: 'team',
  standard_id: null,
  parent_namespace: 'root',
  set_by: 'ai:eve',
  updated_at: DATE,
  ...more,
});

/** A record of every exported kind, as it is in a store; a new kind needs a line here. */
const SAMPLES: Readonly<Record<string, Omit<RecordImage, 'kind'>>> = {
  standard: {
    id: 'team',
    namespace: 'team',
    image: {
      namespace: 'team',
      standard_id: null,
      parent_namespace: 'root',
      set_by: 'ai:setter',
      governance: { write: 'owner' },
      operator_set: null,
      updated_at: DATE,
      rest: { kind: 'of a later release', id: 7 },
    },
  },
  alias: {
    id: 'm1|ada',
    namespace: 'team',
    image: {
      memory_id: 'm1',
      namespace: 'team',
      alias: 'Ada',
      folded: 'ada',
      digest: null,
      added_by: 'ai:setter',
      added_at: DATE,
      rest: {},
    },
  },
  remembered: {
    id: 'store|ai:coder|team',
    namespace: 'team',
    image: {
      namespace: 'team',
      action_type: 'store',
      agent_id: 'ai:coder',
      gate: '',
      approver: {},
      decision: 'approve',
      lasts: 'forever',
      session: '',
      decided_by: 'ai:lead',
      decided_at: DATE,
      rest: { later: 7 },
    },
  },
  receipt: {
    id: 'm1',
    namespace: '_messages/ai:reader',
    image: { memory_id: 'm1', reader: 'ai:reader', read_at: DATE, updated_at: DATE, rest: { later: 7 } },
  },
  skill: {
    id: 'k1',
    namespace: 'team',
    image: {
      ...{ skill_id: 'k1', namespace: 'team', name: 'deploy', description: 'how', license: null },
      ...{ compatibility: 'any', allowed_tools: ['Read'], metadata: { version: 2, deep: { a: [1] } } },
      ...{ body_sha256: 'ab', content_id: 'team|ab', pieces: 1, digest: 'ab', agent_id: 'ai:setter' },
      ...{ created_at: DATE, updated_at: DATE, superseded_by: 'k2', head_of: null },
      ...{ signature: null, public_key: null, rest: { later: 7 } },
    },
  },
  skill_content: {
    id: `team|${'ab'.repeat(32)}`,
    namespace: 'team',
    image: {
      ...{ namespace: 'team', sha256: 'ab'.repeat(32), data: 'qrpg', size: 3, agent_id: 'ai:setter' },
      rest: { later: 7 },
    },
  },
  skill_resource: {
    id: 'k1|0|scripts/run.sh',
    namespace: 'team',
    image: {
      ...{ skill_id: 'k1', namespace: 'team', path: 'scripts/run.sh', piece: 0, pieces: 1 },
      ...{ resource_kind: 'script', sha256: 'ab'.repeat(32), size: 3, content_id: 'team|ab' },
      ...{ agent_id: 'ai:setter', rest: { later: 7 } },
    },
  },
  rule: {
    id: 'R1',
    namespace: '_mesh',
    image: aRule('R1', { created_by: 'ai:setter', updated_at: DATE, rest: { later: 7 } }),
  },
};

describe('records in exports', () => {
  it('come back the same, of every exported kind, with members of later releases', async () => {
    const exportable = KINDS.all.filter(({ exported, table }) => exported && typeof table !== 'string');
    assert.ok(exportable.length > 0);
    for (const kind of exportable) {
      const sample = SAMPLES[kind.name];
      assert.ok(sample !== undefined, `there is no sample of kind "${kind.name}"`);
      const [from, to] = [await open(), await open()];
      const original: RecordImage = { kind: kind.name, ...sample };
      await run(from, { kind: 'import-record', record: original, revive: true });
      const document = await exported(from);
      const [first] = document['records'] as Json[];
      assert.deepEqual(
        [first!['kind'], first!['id'], first!['namespace']],
        [kind.name, sample.id, sample.namespace],
      );
      const answer = await imported(to, { ...document, trust_source: true });
      assert.deepEqual([answer['records'], answer['errors']], [1, []]);
      const read = await to.services.store.query({ kind: 'read-records', of: kind.name, ids: [sample.id] });
      assert.ok(read.ok);
      assert.deepEqual(read.value.records, [original]);
      assert.deepEqual(rowsOf(await exported(to)), rowsOf(document));
      const before = await to.counts();
      await imported(to, { ...document, trust_source: true });
      assert.deepEqual(await to.counts(), before, 'the second import wrote nothing');
    }
  });

  it('are not there on a node without records, and need not be in a document', async () => {
    const node = await open();
    await run(node, storing({ title: 'one' }));
    const document = await exported(node);
    assert.deepEqual(Object.keys(document), ['memories', 'links', 'count', 'exported_at']);
    assert.equal('records' in (await imported(node, document)), false);
    await run(node, setting('team', null, 'root'), { kind: 'clear-standard', namespace: 'team' });
    assert.equal('records' in (await exported(node)), false);
  });

  it('follow the last memory in pages, each once', async () => {
    const node = await open();
    await run(node, storing({ title: 'a' }), storing({ title: 'b' }), storing({ title: 'c' }));
    const namespaces = ['n0', 'n1', 'n2', 'n3', 'n4'];
    await run(node, ...namespaces.map((namespace) => setting(namespace, null, 'root')));
    const pages: Json[] = [];
    let cursor = '';
    do {
      const page = await exported(node, `?limit=2${cursor}`);
      pages.push(page);
      assert.ok(pages.length < 10, 'there is no end of pages');
      cursor = page['next_cursor'] === undefined ? '' : `&cursor=${page['next_cursor']}`;
    } while (cursor !== '');
    const ids = pages.map((page) => ((page['records'] ?? []) as Json[]).map(({ id }) => id));
    assert.deepEqual(ids, [[], ['n0', 'n1'], ['n2', 'n3'], ['n4']]);
    assert.deepEqual(
      pages.map((page) => page['count']),
      [2, 1, 0, 0],
    );
    const other = await open();
    for (const page of pages)
      assert.deepEqual((await imported(other, { ...page, trust_source: true }))['errors'], []);
    assert.equal((await standards(other, ...namespaces)).length, 5);
  });

  it('that do not fit into one answer are asked for in pages', async () => {
    const node = await open();
    const { store } = node.services;
    const all = Array.from({ length: 10_001 }, (_, n) => store.execute(setting(`n${n}`, null, 'root')));
    await Promise.all(all);
    const { json } = await node.send('GET', '/api/v1/export', undefined, admin);
    assert.equal(json?.['code'], 'EXPORT_PAGING_REQUIRED');
    const bad = await node.send(
      'GET',
      `/api/v1/export?cursor=${cursorOf(['records', 1, 'x'])}`,
      undefined,
      admin,
    );
    assert.equal(bad.status, 400);
    const last = await exported(node, `?cursor=${cursorOf(['records', 'standard', 'n9998'])}`);
    assert.deepEqual(
      (last['records'] as Json[]).map(({ id }) => id),
      ['n9999'],
    );
  });
});

const cursorOf = (place: unknown[]) => Buffer.from(JSON.stringify(place)).toString('base64url');

describe('an imported record', () => {
  it('belongs to the caller unless the source is trusted, and never to the service', async () => {
    const alias = (added_by: string | null) => ({
      ...{ kind: 'alias', id: 'm1|ada', namespace: 'team', memory_id: 'm1', alias: 'Ada', folded: 'ada' },
      ...{ added_by, added_at: DATE },
    });
    for (const [trust_source, added_by, expected] of [
      [false, 'ai:eve', 'ai:admin'],
      [true, 'ai:eve', 'ai:eve'],
      [true, 'system', 'ai:admin'],
      [true, null, null],
    ] as const) {
      const node = await open();
      const body = { records: [alias(added_by)], trust_source };
      assert.equal((await imported(node, body))['records'], 1);
      const [stored] = (await exported(node))['records'] as Json[];
      assert.equal(stored?.['added_by'], expected);
    }
  });

  it('changes one that is here only with a later date, and keeps what the file does not know', async () => {
    const node = await open();
    const first = record({ rest: { zeta: 1 } });
    await imported(node, { records: [first], trust_source: true });
    const before = await node.counts();
    for (const changed of [{ parent_namespace: 'other' }, { updated_at: '2026-02-01T00:00:00.000Z' }]) {
      await imported(node, {
        records: [record({ parent_namespace: 'older', ...changed })],
        trust_source: true,
      });
    }
    assert.deepEqual(await node.counts(), before);
    const later = record({ parent_namespace: 'later', updated_at: '2026-03-02T00:00:00.000Z' });
    assert.equal((await imported(node, { records: [later], trust_source: true }))['records'], 1);
    const [now] = await standards(node, 'team');
    assert.deepEqual([now?.parent_namespace, now?.rest], ['later', { zeta: 1 }]);
    assert.equal((await node.counts()).operations, before.operations + 1);
  });

  it('that was cleared comes back, after its removal', async () => {
    const node = await open();
    await imported(node, { records: [record()], trust_source: true });
    await run(node, { kind: 'clear-standard', namespace: 'team' });
    assert.deepEqual(await standards(node, 'team'), []);
    await imported(node, { records: [record()], trust_source: true });
    assert.equal((await standards(node, 'team')).length, 1);
    const versions = await node.services.store.query({
      ...{ kind: 'read-operations', have: {}, origins: null, limit: 10, bytesMax: 1e6 },
    });
    assert.ok(versions.ok);
    const last = versions.value.operations.at(-1)!;
    assert.deepEqual([last.kind, last.seen[last.origin]], ['standard.put', last.seq - 1]);
  });

  it('names the row that its memory became part of', async () => {
    const node = await open();
    const here = storing({ title: 'rules' });
    await run(node, here);
    const memories = [{ id: 'from-there', title: 'rules', content: 'newer' }];
    const records = [record({ standard_id: 'from-there' })];
    assert.deepEqual(
      (await imported(node, { memories, records, on_conflict: 'merge', trust_source: true }))['errors'],
      [],
    );
    assert.equal((await standards(node, 'team'))[0]?.standard_id, here.memory.id);
  });

  it('that cannot be is refused with its place, and costs the others nothing', async () => {
    const node = await open();
    const { peerId } = node.services;
    const wrong: readonly (readonly [unknown, RegExp])[] = [
      [7, /must be a JSON object/],
      [{}, /kind is required/],
      [record({ id: 1 }), /id: must be text/],
      [record({ kind: 'ballot' }), /knows no kind "ballot".*the release that exported it/],
      [record({ kind: 'memory' }), /"memory" is not imported as a record/],
      [record({ kind: 'adoption', id: `${peerId}/x/1`, namespace: '_mesh' }), /"adoption" is not imported/],
      [record({ id: 'other' }), /^records\[\d+\]: id: must be "team"/],
      [record({ id: 'a//b', namespace: 'a//b' }), /namespace/],
      [record({ parent_namespace: 7 }), /cannot hold this parent_namespace/],
      [record({ updated_at: 'tomorrow' }), /updated_at: must be an instant/],
      [record({ updated_at: '2026-03-01T00:00:00Z' }), /updated_at/],
      [record({ set_by: 'no agent' }), /set_by/],
      [record({ rest: [] }), /rest: must be a JSON object/],
      [record({ more: 'x'.repeat(1_100_000) }), /bytes/],
    ];
    const good = record({ id: 'good', namespace: 'good' });
    const answer = await imported(node, {
      records: [...wrong.map(([raw]) => raw), good],
      trust_source: true,
    });
    const errors = answer['errors'] as string[];
    assert.deepEqual([answer['records'], errors.length], [1, wrong.length]);
    for (const [index, [, message]] of wrong.entries()) {
      assert.match(errors[index]!, message);
      assert.match(errors[index]!, new RegExp(`^records\\[${index}\\]: `));
    }
    const many = Array.from({ length: 1001 }, (_, n) => record({ id: `n${n}`, namespace: `n${n}` }));
    const refused = await node.send('POST', '/api/v1/import', { memories: [], records: many }, admin);
    assert.deepEqual([refused.status, refused.json?.['fields']], [400, ['records']]);
    const other = { 'x-agent-id': 'ai:bob' };
    const denied = await node.send('POST', '/api/v1/import', { memories: [], records: [good] }, other);
    assert.equal(denied.json?.['code'], 'ADMIN_REQUIRED');
  });
});

describe('members of later releases', () => {
  const mood = { mood: 'calm', deep: { list: [1, 'two', null] } };

  it('of memories and links come back the same', async () => {
    const [from, to] = [await open(), await open()];
    const [a, b] = [aMemory({ title: 'a', rest: mood }), aMemory({ title: 'b' })];
    const { link } = linking(a.id, b.id);
    await run(
      from,
      { kind: 'import-memory', memory: a, archive: true },
      { kind: 'import-memory', memory: b, archive: true },
      { kind: 'import-link', link: { ...link, rest: { weight: 0.5 } } },
    );
    const document = await exported(from);
    const [first, second] = document['memories'] as Json[];
    const withRest = first!['id'] === a.id ? first! : second!;
    assert.deepEqual(withRest['rest'], mood);
    assert.equal((document['memories'] as Json[]).filter((row) => 'rest' in row).length, 1);
    assert.deepEqual((document['links'] as Json[])[0]!['rest'], { weight: 0.5 });
    assert.deepEqual((await imported(to, { ...document, trust_source: true }))['errors'], []);
    assert.deepEqual(rowsOf(await exported(to)), rowsOf(document));
    const links = await to.services.store.query({
      ...{ kind: 'export-links', viewer: OPERATOR, now: DATE, after: null, until: null, limit: 5 },
    });
    assert.ok(links.ok);
    assert.deepEqual(
      links.value.links.map((each: Link) => each.rest),
      [{ weight: 0.5 }],
    );
    const before = await to.counts();
    const again = await imported(to, { ...document, trust_source: true });
    assert.deepEqual([again['unchanged'], await to.counts()], [2, before]);
  });

  it('follow the text into a row that is here, and take no member that this release sets itself', async () => {
    const node = await open();
    const here = aMemory({ title: 'one', rest: { mood: 'old', kept: true } });
    await run(node, { kind: 'import-memory', memory: here, archive: true });
    const row = { title: 'one', content: 'new' };
    const forged = { mood: 'new', created_hlc: '9', edited: '9', priority: 9 };
    assert.deepEqual(
      (await imported(node, { memories: [{ ...row, rest: forged }], on_conflict: 'merge' }))['errors'],
      [],
    );
    const [stored] = (await exported(node))['memories'] as Json[];
    assert.deepEqual(stored!['rest'], { mood: 'new', kept: true });
    // A member that a release has learned since stands among the others.
    assert.equal(stored!['priority'], 9);
    const read = await node.services.store.query({
      ...{ kind: 'get-memory', id: here.id, viewer: OPERATOR, now: DATE },
    });
    assert.ok(read.ok && read.value.memory.edited !== '9' && read.value.memory.created_hlc !== '9');
  });

  it('are members of `rest` only, and within the limits of metadata', async () => {
    const node = await open();
    const rows = [
      { title: 'a', content: 'c', mood: 'calm' },
      { title: 'b', content: 'c', rest: 7 },
      { title: 'c', content: 'c', rest: { big: 'x'.repeat(70_000) } },
    ];
    const errors = (await imported(node, { memories: rows }))['errors'] as string[];
    assert.match(errors[0]!, /unknown field: mood/);
    assert.match(errors[1]!, /rest: must be a JSON object/);
    assert.match(errors[2]!, /rest: must be at most 65536 bytes/);
  });
});
