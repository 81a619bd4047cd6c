import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { untilAnswer } from '../support/wait.js';
import { type ConsoleMesh, type Fields, ROOT } from './console-mesh.js';

/** A text that does something wherever it is taken for markup, a template or an address. */
export const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}';
/** The same for names that hold no white space. */
export const HOSTILE_NAME = '"><svg/onload=alert(3)>';
/** The worst that an id of an agent may be. */
export const HOSTILE_AGENT = 'javascript:alert.4/@:';

export const HOSTILE_NAMESPACE = `evil/${HOSTILE_NAME.replace('/', '-')}`;

/** What the strange part of the seed says, and who says it where. */
export interface Strange {
  readonly text: string;
  readonly name: string;
  readonly namespace: string;
  readonly agent: string;
}

export const ALL_HOSTILE: Strange = {
  ...{ text: HOSTILE, name: HOSTILE_NAME, namespace: HOSTILE_NAMESPACE, agent: HOSTILE_AGENT },
};

export interface Seeded {
  /** Deploy window 0 to 39, each linked with an earlier one. */
  readonly windows: readonly string[];
  readonly hostile: string;
  /** A memory of which an edit lost. */
  readonly edited: string;
}

export const LOST_TEXT = 'written on the node that was cut off';
export const PRESENT_TEXT = 'written last, on a node of the majority';

/** Fills every view of a mesh of three, and part of each with hostile texts. */
export async function seed(mesh: ConsoleMesh, strange: Strange = ALL_HOSTILE): Promise<Seeded> {
  const windows: string[] = [];
  for (let n = 0; n < 40; n += 1)
    windows.push(await mesh.store(`Deploy window ${n}`, { tags: ['ops', 'deploy'] }));
  const link = (source_id: string, target_id: string, relation: string, agent = 'ai:alice') =>
    mesh.send('POST', '/links', { source_id, target_id, relation }, { agent });
  for (let n = 1; n < 40; n += 1) await link(windows[n]!, windows[n >> 1]!, 'related_to');
  const hostile = await mesh.store(
    `About ${strange.text}`,
    {
      content: strange.text,
      tags: [strange.name, 'ops'],
      namespace: strange.namespace,
      source_uri: `doc:${strange.name}`,
      metadata: { note: strange.text },
    },
    { agent: strange.agent },
  );
  await link(hostile, windows[1]!, 'contradicts', strange.agent);
  await mesh.send('PUT', `/memories/${windows[1]}`, { content: 'changed once' });
  await contradictingPair(mesh);
  const edited = await mesh.store('Edited on two nodes');
  await mesh.mesh.drain(60_000);
  await mesh.apart(2, async () => {
    await mesh.send('PUT', `/memories/${edited}`, { content: LOST_TEXT }, { node: 2 });
    await mesh.send('PUT', `/memories/${edited}`, { content: PRESENT_TEXT });
  });
  await coordination(mesh, strange);
  await governance(mesh, strange);
  await erased(mesh, strange);
  await screened(mesh, strange);
  return { windows, hostile, edited };
}

async function contradictingPair(mesh: ConsoleMesh): Promise<void> {
  const [right, wrong] = [
    await mesh.store('The office opens at eight', { namespace: 'facts' }),
    await mesh.store('The office opens at nine', { namespace: 'facts' }),
  ];
  await mesh.send('POST', '/links', { source_id: right, target_id: wrong, relation: 'contradicts' });
}

/** Actions with an edge and a lease, a checkpoint, a signal, and messages. */
async function coordination(mesh: ConsoleMesh, { text, agent }: Strange): Promise<void> {
  const action = (title: string): readonly [string, Fields] => [
    'memory_action_create',
    { namespace: 'team/alpha', kind: 'work', title },
  ];
  const [first, second] = await mesh.tools('ai:alice', [
    action('Write the release notes'),
    action(`Publish ${text}`),
    [
      'memory_checkpoint_create',
      { namespace: 'team/alpha', title: `Sign-off ${text}`, condition: { approvers: [agent] } },
    ],
  ]);
  await mesh.tools('ai:alice', [
    [
      'memory_action_add_edge',
      { from_action: second!['id'], to_action: first!['id'], edge_type: 'requires' },
    ],
    ['memory_lease_acquire', { action_id: first!['id'], holder: 'ai:alice', ttl_secs: 600 }],
  ]);
  await mesh.send('POST', '/signals', { namespace: 'team/alpha', subject: text });
  const message = { target_agent_id: ROOT, title: text, payload: text };
  await mesh.send('POST', '/notify', message, { agent });
}

/** A memory that is gone from all nodes, and a backup from before. */
async function erased(mesh: ConsoleMesh, { text, namespace, agent }: Strange): Promise<void> {
  const id = await mesh.store(`Erased: ${text}`, { namespace }, { agent });
  await mesh.node(0).must(['backup', '--to', join(mesh.node(0).home, 'backups')]);
  await mesh.send('DELETE', `/memories/${id}?erase=true`, undefined, { agent });
}

/** A token, and a secret that was taken out of a text. */
async function screened(mesh: ConsoleMesh, { text, agent, namespace }: Strange): Promise<void> {
  const token = { for_agent: agent, namespaces: ['team/**'], note: `the helper of ${text}` };
  await mesh.send('POST', '/tokens', token, { agent: ROOT });
  const secret = `gh${'p'}_${randomBytes(18).toString('hex')}`;
  await mesh.store(`Deploy job of ${text}`, { namespace, content: `it uses ${secret}` }, { agent });
}

/** Agents that decide, a policy, and rules. */
async function governance(mesh: ConsoleMesh, { text, agent: other, namespace }: Strange): Promise<void> {
  for (const agent of ['ai:lead', other])
    await mesh.send('POST', '/agents', { agent_id: agent, agent_type: 'ai:generic' }, { agent });
  const standard = { governance: { write: 'approve', approver: 'human' } };
  await mesh.send('POST', '/namespaces/gated/standard', standard, { agent: ROOT });
  const rule = (id: string, kind: string, matcher: Fields, more: readonly string[] = []) =>
    mesh
      .node(0)
      .must([
        ...['rules', 'add', '--id', id, '--kind', kind, '--matcher', JSON.stringify(matcher)],
        ...['--reason', text, ...more],
      ]);
  await rule('no-force', 'bash', { command_substring: 'push --force' });
  const inHostile = ['--namespace', namespace];
  await rule('nothing-for-long', 'custom', { kind: 'memory_write', tier: 'long' }, inHostile);
  await untilAnswer(
    'the conflict is listed',
    async () => (await mesh.send('GET', '/conflicts', undefined, { agent: ROOT }))['count'],
    (count) => count === 1,
    { withinMs: 30_000 },
  );
}
