import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openSurfaces, type Surfaces } from '../surface/three-surfaces.js';
import { madeSecrets } from './made-secrets.js';

const SECRET = madeSecrets(9, 1).find(({ kind }) => kind === 'gitlab token')!.secret;

describe('a secret on HTTP, MCP and the command line', { timeout: 120_000 }, () => {
  let surfaces: Surfaces;
  before(async () => {
    surfaces = await openSurfaces();
  });
  after(() => surfaces.close());

  it('is taken out alike', async () => {
    const stored = await surfaces.run('memory_store', {
      title: 'the token',
      source: 'same',
      content: `it is ${SECRET}.`,
      metadata: { note: SECRET },
    });
    assert.ok(
      stored.every(({ ok }) => ok),
      JSON.stringify(stored),
    );
    const got = await surfaces.run('memory_get', { id: '#0' });
    assert.deepEqual(got[1], got[0]);
    assert.deepEqual(got[2], got[0]);
    assert.match(JSON.stringify(got[0]), /it is \[redacted:gitlab-token\]\./);
    assert.ok(!JSON.stringify([stored, got, surfaces.databases()]).includes(SECRET));
    const answered = stored.map((one) =>
      one.ok ? (one.value as Record<string, unknown>)['secrets_found'] : null,
    );
    assert.deepEqual(answered[0], [
      { field: 'content', kind: 'gitlab-token', outcome: 'redacted' },
      { field: 'metadata.note', kind: 'gitlab-token', outcome: 'redacted' },
    ]);
    assert.deepEqual(answered, [answered[0], answered[0], answered[0]]);
  });

  it('is refused alike where it cannot be taken out', async () => {
    const refused = await surfaces.run('memory_store', {
      title: 'a name',
      content: 'c',
      metadata: { [SECRET]: true },
    });
    const codes = refused.map((one) => (one.ok ? null : (one.error as Record<string, unknown>)['code']));
    assert.deepEqual(codes, ['SECRET_REFUSED', 'SECRET_REFUSED', 'SECRET_REFUSED']);
    assert.ok(!JSON.stringify(refused).includes(SECRET));
  });
});
