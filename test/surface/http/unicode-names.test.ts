import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemCrypto } from '../../../node/seams.js';
import { openAs } from '../../../node/threads/open-database.js';
import { Writer } from '../../../storage/sql/writer.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { storing, UNLIMITED } from '../../support/memories.js';
import { agentKey, signedStoreBody } from '../../support/signing.js';
import { testPlace } from '../../support/test-store.js';
import { run } from '../cli/cli-process.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const COMPOSED = 'M\u00fcller';
const DECOMPOSED = 'Mu\u0308ller';
const ADMIN = { 'x-agent-id': 'ai:admin' };

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
});
after(() => node.close());

const store = (body: object, headers: Record<string, string> = ADMIN) =>
  node.send('POST', '/api/v1/memories', body, headers);
const titles = async (query: Record<string, string>) => {
  const answer = await node.send('GET', `/api/v1/memories?${new URLSearchParams(query)}`, undefined, ADMIN);
  assert.equal(answer.status, 200, JSON.stringify(answer.json));
  return (answer.json!['memories'] as { title: string }[]).map(({ title }) => title);
};

describe('names that look alike', () => {
  it('are one namespace, one title and one tag, however they are composed', async () => {
    const first = await store({
      namespace: DECOMPOSED,
      title: `a ${DECOMPOSED}`,
      content: 'x',
      tags: [DECOMPOSED],
    });
    assert.equal(first.status, 201, JSON.stringify(first.json));
    assert.equal(first.json!['namespace'], COMPOSED);
    assert.equal(first.json!['title'], `a ${COMPOSED}`);
    for (const name of [COMPOSED, DECOMPOSED]) {
      assert.deepEqual(await titles({ namespace: name }), [`a ${COMPOSED}`]);
      assert.deepEqual(await titles({ namespace: `${name}/**` }), [`a ${COMPOSED}`]);
      assert.deepEqual(await titles({ tags: name }), [`a ${COMPOSED}`]);
    }
    const again = await store({ namespace: COMPOSED, title: `a ${COMPOSED}`, content: 'y' });
    assert.equal(again.status, 409);
  });

  it('are one namespace for its standard', async () => {
    const memory = await store({ namespace: COMPOSED, title: 'how we work', content: 'with care' });
    const id = memory.json!['id'];
    const path = (name: string) => `/api/v1/namespaces/${encodeURIComponent(name)}/standard`;
    const set = await node.send('POST', path(DECOMPOSED), { id }, ADMIN);
    assert.ok(set.status < 300, JSON.stringify(set.json));
    const found = await node.send('GET', path(COMPOSED), undefined, ADMIN);
    assert.equal(found.json!['standard_id'], id, JSON.stringify(found.json));
  });

  it('are refused under a signature of the other form, and not rewritten', async () => {
    const key = agentKey('ai:signer');
    await node.send(
      'POST',
      '/api/v1/agents',
      { agent_id: 'ai:signer', agent_type: 'ai:coder' },
      {
        'x-agent-id': 'ai:signer',
      },
    );
    await node.send('PUT', '/api/v1/agents/ai:signer/pubkey', { pubkey_b64: key.publicKeyText }, ADMIN);
    const signed = (title: string) =>
      store(signedStoreBody(key, { title, content: 'signed' }, new Date().toISOString()), {
        'x-agent-id': 'ai:signer',
      });
    const other = await signed(`signed ${DECOMPOSED}`);
    assert.equal(other.json!['code'], 'ATTESTATION_FAILED', JSON.stringify(other.json));
    const fits = await signed(`signed ${COMPOSED}`);
    assert.equal(fits.status, 201, JSON.stringify(fits.json));
  });
});

describe('characters that leave no mark', () => {
  it('are refused in a namespace', async () => {
    for (const hidden of [
      '\u200b',
      '\u200d',
      '\u2060',
      '\ufeff',
      '\u00ad',
      '\u202e',
      '\u3164',
      '\u{e0041}',
    ]) {
      const answer = await store({ namespace: `te${hidden}am`, title: 't', content: 'c' });
      assert.equal(answer.json!['code'], 'VALIDATION_FAILED', escape(hidden));
    }
  });

  it('are no text of a title, a content, a tag or an alias, and may stand within one', async () => {
    const hidden = '\u200b\u2060 \u3164';
    const blank = [
      { title: hidden, content: 'c' },
      { title: 't', content: hidden },
      { title: 't', content: 'c', tags: [hidden] },
    ];
    for (const body of blank) assert.equal((await store(body)).json!['code'], 'VALIDATION_FAILED');
    const entity = { canonical_name: hidden, namespace: 'team' };
    assert.equal((await node.send('POST', '/api/v1/entities', entity, ADMIN)).status, 400);
    assert.equal((await store({ title: 'family \u{1f468}\u200d\u{1f469}', content: 'c' })).status, 201);
  });
});

it('reads rows of an earlier release whose names are not composed', async () => {
  const home = temporaryFolder('older-names');
  const options = { busyTimeoutMs: 100 };
  assert.equal((await run(home, ['store', '-T', 'first', '-c', 'makes the key'])).code, 0);
  const key = (await run(home, ['doctor', '--json'])).out;
  const db = openAs(
    testPlace(join(home, 'mnemesh.db')),
    /"peer-[0-9a-f]{16}"/.exec(key)![0].slice(1, -1),
    options,
  );
  const reportBug = (error: unknown) => {
    throw error;
  };
  const writer = new Writer({ db, crypto: systemCrypto, reportBug, signer: null, policy: UNLIMITED });
  const id = '11111111-1111-4111-8111-111111111111';
  const command = storing({ id, title: DECOMPOSED, namespace: DECOMPOSED, content: 'older' });
  assert.equal(writer.run([{ command, nowMs: Date.now() }])[0]!.ok, true);
  db.close();
  const answer = async (...words: string[]) => {
    const { code, out, err } = await run(home, [...words, '--json']);
    assert.equal(code, 0, err);
    return out;
  };
  assert.match(await answer('get', id), /older/);
  assert.match(await answer('list'), /older/);
});
