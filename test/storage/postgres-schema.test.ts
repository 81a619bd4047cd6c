import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import { storeContract } from '../contract/store-contract.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { inlineStoreOnServer } from '../support/inline-store.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import { run } from '../surface/cli/cli-process.js';

/** What the role of a daemon needs, as docs/postgres.md has it. */
const GRANTS = /<<'SQL'\n(GRANT USAGE[\s\S]*?)^SQL$/m;

describe('schema-init', { skip: withoutServer }, () => {
  let server: PostgresServer;
  const home = temporaryFolder('schema-init');
  before(async () => {
    server = await PostgresServer.start();
    await server.ask('postgres', 'CREATE ROLE mnemesh LOGIN');
  });
  after(() => server.stop());

  const nameOf = (url: string) => url.slice(url.lastIndexOf('/') + 1);
  const asRole = (url: string) => url.replace('//postgres@', '//mnemesh@');
  const init = async (url: string, ...more: string[]) => {
    const done = await run(home, ['schema-init', '--store-url', url, '--json', ...more]);
    const text = done.code === 0 ? done.out : done.err;
    return { ...done, answer: JSON.parse(text) as Record<string, unknown> & { readonly tables: string[] } };
  };

  it('makes what is missing, and says what is there', async () => {
    const url = await server.database();
    const first = await init(url);
    assert.equal(first.code, 0, first.err);
    const { answer } = first;
    assert.deepEqual(
      [answer['url'], answer['kind'], answer['changed'], answer['schema_version'], answer['embedding_dim']],
      [url, 'postgres', true, 55, 384],
    );
    for (const table of ['memories', 'operations', 'signed_events', 'records', 'jobs'])
      assert.ok(answer.tables.includes(table), table);
    assert.ok((answer['indices'] as string[]).includes('memories_fts_terms'));
    assert.ok((answer['functions'] as string[]).includes('json_member'));
    assert.deepEqual(answer['views'], ['memories_fts_docsize']);
    const second = await init(url);
    assert.deepEqual(second.answer, { ...answer, changed: false });
    await server.ask(
      nameOf(url),
      'DROP INDEX memories_fts_terms; ALTER TABLE jobs DROP COLUMN error; COMMENT ON TABLE schema_version IS NULL',
    );
    const third = await init(url);
    assert.deepEqual(third.answer, answer, 'an index and a column come back');
  });

  it('is safe when several run at once', async () => {
    const url = await server.database();
    const all = await Promise.all([init(url), init(url), init(url)]);
    assert.deepEqual(
      all.map(({ code }) => code),
      [0, 0, 0],
      all.map(({ err }) => err).join('\n'),
    );
    assert.equal(all.filter(({ answer }) => answer['changed'] === true).length, 1);
  });

  it('needs an address, and refuses other dimensions than the vectors have', async () => {
    const without = await run(home, ['schema-init', '--json']);
    assert.equal((JSON.parse(without.err) as { code: string }).code, 'VALIDATION_FAILED');
    const url = await server.database();
    await init(url);
    await server.ask(
      nameOf(url),
      "INSERT INTO encoders VALUES ('searched', 'some', 768, '2026-01-01T00:00:00.000Z')",
    );
    assert.equal((await init(url)).answer['embedding_dim'], 768);
    const other = await init(url, '--embedding-dim', '384');
    assert.equal(other.answer['code'], 'CONFLICT');
    assert.match(String(other.answer['error']), /768 dimensions/);
  });

  it('says what a role that may not make tables needs', async () => {
    const url = asRole(await server.database());
    const refused = await init(url);
    assert.equal(refused.answer['code'], 'MIGRATION_REFUSED');
    assert.match(String(refused.answer['error']), /role mnemesh may not make the tables .* schema public/);
  });

  it('uses the first schema of the search path', async () => {
    const url = await server.database();
    await server.ask(
      nameOf(url),
      `CREATE SCHEMA notes; ALTER DATABASE ${nameOf(url)} SET search_path = notes`,
    );
    assert.equal((await init(url)).answer['changed'], true);
    const db = new PostgresConnection({ url, statementTimeoutMs: 1000, readOnly: true });
    const schemas = db
      .prepare("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'memories'")
      .pluck();
    assert.deepEqual(schemas.all(), ['notes']);
    db.close();
  });

  it('keeps the password of an address for itself', async () => {
    const url = (await server.database()).replace('//postgres@', '//postgres:s3cret@');
    const file = join(home, 'address');
    writeFileSync(file, `${url}\n`, { mode: 0o600 });
    const env = { SVC_STORE_URL_FILE: file };
    for (const words of [
      ['schema-init'],
      ['schema-init', '--json'],
      ['config', 'show'],
      ['stats', '--json'],
    ]) {
      const done = await run(home, words, { env });
      assert.equal(done.code, 0, done.err);
      assert.doesNotMatch(done.out + done.err, /s3cret/);
    }
    const gone = url.replace(/:\d+\//, ':1/');
    const refused = await run(home, ['stats', '--store-url', gone]);
    assert.match(refused.err, /cannot be reached/);
    assert.doesNotMatch(refused.out + refused.err, /s3cret/);
  });

  const grants =
    GRANTS.exec(readFileSync(new URL('../../../docs/postgres.md', import.meta.url), 'utf8'))?.[1] ?? '';

  storeContract('PostgreSQL, as a role that only has the rights of docs/postgres.md', async () => {
    const owned = await server.database();
    assert.equal((await init(owned)).code, 0);
    await server.ask(nameOf(owned), grants);
    return inlineStoreOnServer(asRole(owned));
  });
});
