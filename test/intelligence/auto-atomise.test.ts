import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type InlineNode, openInlineNode } from '../../node/runtime/inline-node.js';
import type { Connection } from '../../storage/sql/connection.js';
import {
  agent,
  type Fields,
  OPERATOR_CALLER,
  type Session,
  sessionOf,
} from '../coordination/coordination-node.js';
import { settingsFor } from '../node/runtime/support.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { ModelServer } from '../support/model-server.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';

const SENTENCES = ['The shop is deployed on Sundays.', 'Ann has the key.'];
const TEXT = `${SENTENCES.join(' ')} ${'Nobody deploys on other days without the lead. '.repeat(20)}`;

describe('a policy that splits memories', { timeout: 60_000 }, () => {
  let model: ModelServer;
  let node: InlineNode;
  let home: string;
  let ann: Session;
  let db: Connection;
  beforeEach(async () => {
    model = await ModelServer.start();
    model.says = JSON.stringify({ atoms: SENTENCES });
    home = temporaryFolder('auto-atomise');
    const llm = { llmBackend: 'local-native', llmBaseUrl: model.url, llmModel: 'scripted' } as const;
    node = await openInlineNode(settingsFor(home, { ...llm }), 'mcp');
    ann = sessionOf(node.services, agent('ai:ann'));
    db = openBeside({ home });
  });
  afterEach(async () => {
    db.close();
    await node.close();
    await model.close();
  });

  const policy = async (namespace: string, governance: Fields) => {
    const operator = sessionOf(node.services, OPERATOR_CALLER);
    const { id } = await operator.run('memory_store', { title: 'Rules', content: 'c', namespace });
    const standard = { namespace, id, governance: { write: 'any', ...governance } };
    await operator.run('memory_namespace_set_standard', standard);
  };
  const store = async (namespace: string, content = TEXT) =>
    String((await ann.run('memory_store', { title: `Note ${content.length}`, content, namespace }))['id']);
  const jobs = () => db.prepare("SELECT * FROM jobs WHERE type = 'auto_atomise'").all() as Fields[];
  const ended = async (state: string) => {
    await until(`the job is ${state}`, () => jobs()[0]?.['state'] === state, {
      seen: () => JSON.stringify(jobs()),
    });
    return JSON.parse(String(jobs()[0]!['result'])) as Fields;
  };

  it('has a model do it after the store, in the name of the author', async () => {
    await policy('team', { auto_atomise: true, auto_atomise_threshold_cl100k: 60 });
    const id = await store('team/deploys');
    const { atom_ids: ids } = await ended('done');
    assert.equal((ids as string[]).length, 2);
    for (const [position, atom] of (ids as string[]).entries()) {
      const memory = (await ann.run('memory_get', { id: atom }))['memory'] as Fields;
      const { agent_id, atom_source_id } = memory['metadata'] as Fields;
      assert.deepEqual([memory['content'], agent_id, atom_source_id], [SENTENCES[position], 'ai:ann', id]);
    }
    assert.equal(jobs().length, 1, 'an atom is not split');
  });

  it('tries again as often as the policy says', async () => {
    await policy('team', {
      ...{ auto_atomise: true, auto_atomise_threshold_cl100k: 60, auto_atomise_max_retries: 0 },
    });
    model.says = 'no list of atoms';
    await store('team');
    await ended('failed');
    assert.deepEqual([jobs()[0]!['attempts'], jobs()[0]!['error_code']], [1, 'LLM_FAILED']);
  });

  it('leaves what is short, and what lies elsewhere', async () => {
    await policy('team', { auto_atomise_mode: 'deferred', auto_atomise_threshold_cl100k: 300 });
    await store('other');
    await store('team', 'x'.repeat(200));
    assert.deepEqual(jobs(), []);
    await store('team');
    assert.match(String((await ended('done'))['skipped']), /^the memory has \d+ tokens$/);
    assert.equal(model.asked.length, 0);
  });

  it('does nothing where it is off, and where it says off', async () => {
    await policy('team', { auto_atomise: true, auto_atomise_mode: 'off', auto_atomise_threshold_cl100k: 60 });
    await store('team');
    assert.deepEqual(jobs(), []);
  });
});
