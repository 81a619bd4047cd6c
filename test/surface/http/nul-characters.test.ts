import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const NUL = 'a\0b';
const IN_PATH = 'a%00b';

/** Requests with U+0000 wherever a text is taken. PostgreSQL has no such character. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: Record<string, unknown>])[] = [
  ['POST', '/memories', { title: NUL, content: 'in the title' }],
  ['POST', '/memories', { title: 'in the content', content: NUL }],
  ['POST', '/memories', { title: 'in a tag', content: 'text', tags: [NUL] }],
  ['POST', '/memories', { title: 'in the namespace', content: 'text', namespace: NUL }],
  [
    'POST',
    '/memories',
    { title: 'in a value', content: 'text', metadata: { value: NUL, deep: [{ more: NUL }] } },
  ],
  ['POST', '/memories', { title: 'in a member', content: 'text', metadata: { [NUL]: 'value' } }],
  ['POST', '/memories', { title: 'in the source', content: 'text', source_uri: `doc:${NUL}` }],
  ['POST', '/memories/bulk', { memories: [{ title: `bulk ${NUL}`, content: NUL }] }],
  ['GET', `/memories/${IN_PATH}`],
  ['GET', `/memories?namespace=${IN_PATH}`],
  ['GET', `/memories?tags=${IN_PATH}`],
  ['GET', `/memories?agent_id=${IN_PATH}`],
  ['GET', `/recall?q=${IN_PATH}`],
  ['GET', `/recall?q=%00`],
  ['GET', `/recall?q=text&namespace=${IN_PATH}`],
  ['GET', `/search?q=${IN_PATH}`],
  ['GET', `/search?q=%00`],
  ['POST', '/forget', { pattern: NUL, dry_run: true }],
  ['POST', '/agents', { agent_id: `ai:${NUL}`, agent_type: 'ai:test' }],
  ['POST', '/notify', { target_agent_id: 'ai:bob', title: NUL, payload: NUL }],
  ['POST', `/namespaces/${IN_PATH}/standard`, { governance: { write: 'approve' } }],
  ['POST', '/links', { source_id: NUL, target_id: NUL, relation: NUL }],
  ['POST', '/entities', { canonical_name: NUL, namespace: 'team', aliases: [NUL] }],
  ['GET', `/entities/by_alias?alias=${IN_PATH}`],
  ['POST', '/check_duplicate', { title: NUL, content: NUL }],
  ['GET', '/memories?limit=100'],
  ['GET', '/export'],
];

describe('U+0000 in a text', { skip: withoutServer }, () => {
  let server: PostgresServer;
  const nodes: HttpNode[] = [];
  before(async () => {
    server = await PostgresServer.start();
    const admin = { adminAgentIds: ['human:admin'], adminHeaderTrust: true };
    nodes.push(
      await openHttpNode(admin),
      await openHttpNode({ ...admin, storeUrl: await server.database() }),
    );
  });
  after(async () => {
    for (const node of nodes) await node.close();
    await server.stop();
  });

  it('is answered on a server as in a file, whatever was sent', async () => {
    const all = await Promise.all(nodes.map(answersOf));
    const [file, onServer] = all as [string[], string[]];
    assert.deepEqual(onServer, file);
    assert.ok(file.some((answer) => / 201 /.test(answer)) && file.some((answer) => / 400 /.test(answer)));
    assert.ok(!file.some((answer) => / 5\d\d /.test(answer)), file.join('\n'));
  });
});

/** The answers of a node, with a sign for each id, instant and hash. */
async function answersOf(node: HttpNode): Promise<string[]> {
  const answers: string[] = [];
  for (const [method, path, body] of REQUESTS) {
    const { status, text } = await node.send(method, `/api/v1${path}`, body, { 'x-agent-id': 'human:admin' });
    const plain = text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, '<at>')
      .replaceAll(/\b\d{13}-\d+[^"]*/g, '<stamp>')
      .replaceAll(/[0-9a-f]{64}/g, '<hash>')
      .replaceAll(/peer-[0-9a-f]{16}/g, '<peer>');
    answers.push(`${method} ${path} ${status} ${plain}`);
  }
  return answers;
}
