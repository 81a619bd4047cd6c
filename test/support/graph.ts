import { join } from 'node:path';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import type { Connection } from '../../storage/sql/connection.js';
import { openTestDatabase } from './test-store.js';

const AT = '2026-01-01T00:00:00.000Z';

/** A database with the schema of the service, of a home or in memory, for rows that are inserted directly because they are many. */
export const graphDatabase = (home: string | null = null): Connection =>
  openTestDatabase({
    path: home === null ? ':memory:' : join(home, 'mnemesh.db'),
    // A server takes the key of one node alone.
    identity:
      home === null ? { peerId: 'peer-graph' } : loadMachineIdentity(join(home, 'keys'), systemRandom),
    nowMs: Date.parse(AT),
    crypto: systemCrypto,
    freshEpoch: 'graph',
    busyTimeoutMs: 1000,
    synchronous: 'OFF',
  });

/** So many rows go with one statement. */
const PAGE = 1000;

const pagesOf = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / PAGE) }, (_, page) =>
    all.slice(page * PAGE, (page + 1) * PAGE),
  );

/** Memories whose title is their id; with an owner they are private. */
export function addMemories(db: Connection, ids: readonly string[], owner: string | null = null): void {
  db.exec("INSERT INTO namespaces (name) VALUES ('global') ON CONFLICT DO NOTHING");
  const insert = db.prepare(
    `INSERT INTO memories (id, tier, namespace, title, content, created_at, updated_at, metadata, ns_id)
     SELECT value, 'long', 'global', value, 'a content', '${AT}', '${AT}', ?, ns_id
     FROM json_each(?) CROSS JOIN namespaces WHERE name = 'global'`,
  );
  const metadata = JSON.stringify(owner === null ? {} : { agent_id: owner, scope: 'private' });
  db.transaction(() => {
    for (const some of pagesOf(ids)) insert.run(metadata, JSON.stringify(some));
  })();
}

/** Links that hold since the first of January 2026 and one second more each. */
export function addLinks(
  db: Connection,
  links: readonly (readonly [source: string, target: string, relation: string])[],
): void {
  const insert = db.prepare(
    `INSERT INTO memory_links (source_id, target_id, relation, created_at, valid_from, observed_by)
     SELECT value ->> '$[0]', value ->> '$[1]', value ->> '$[2]', value ->> '$[3]', value ->> '$[3]', 'ai:writer'
     FROM json_each(?)`,
  );
  db.transaction(() => {
    const rows = links.map((link, index) => [...link, new Date(Date.parse(AT) + index * 1000).toISOString()]);
    for (const some of pagesOf(rows)) insert.run(JSON.stringify(some));
  })();
}
