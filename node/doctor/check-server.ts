import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Settings } from '../config/settings.js';
import { databaseName } from '../config/store-url.js';
import { checkHome, checkSchema } from './check-home.js';
import type { ServerInspection } from './database-facts.js';
import { sizeText } from './paths.js';
import { type Section, SectionBuilder } from './report.js';

/** An answer that takes longer makes each store slow. */
const LATENCY_HIGH_MS = 20;
/** Of the connections that the server takes, this part. */
const CONNECTIONS_HIGH = 0.9;

const isLoopback = (url: string): boolean => /@?(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//.test(url);

/** Checks the database server and the database on it. */
export function checkServer(settings: Settings, inspection: ServerInspection): Section {
  const name = databaseName(settings);
  const section = new SectionBuilder('Storage').fact('home', settings.home).fact('database', name);
  checkHome(settings.home, section);
  if (!inspection.ok) {
    const fix = 'start the server, or correct the address (--store-url, SVC_STORE_URL_FILE)';
    return section.crit('DB_SERVER_UNUSABLE', inspection.problem, fix).done();
  }
  const { server, facts } = inspection;
  section
    .fact('server', `PostgreSQL ${server.version}`)
    .fact('role', server.role)
    .fact('replication', server.isReplica ? 'replica' : `primary with ${server.replicas} replicas`)
    .fact('TLS', server.tls ?? 'none')
    .fact('latency', `${server.latencyMs} ms`)
    .fact('connections', `${server.connections} of ${server.connectionsMax}`)
    .fact('size', sizeText(server.sizeBytes));
  for (const { name: extension, version, problem } of server.extensions)
    section.fact(`extension ${extension}`, version ?? problem);
  section.fact('graph engine', server.graph.engine);
  checkSetup(section, inspection, name);
  checkGraph(section, inspection);
  section.fact('schema version', facts.schemaVersion).fact('supported', SCHEMA_VERSION);
  const { content } = facts;
  if (content === null) return section.done();
  return section
    .fact('memories', content.memories)
    .fact('expired', content.expired)
    .fact('archived', content.archived)
    .fact('links', content.links)
    .done();
}

function checkGraph(section: SectionBuilder, { server, facts }: Extract<ServerInspection, { ok: true }>) {
  const { problem, edges } = server.graph;
  if (problem !== null)
    section.info('DB_GRAPH_UNUSABLE', `${problem}; walks work without it`, 'see docs/postgres-extensions.md');
  const links = facts.content?.links ?? null;
  if (edges !== null && links !== null && edges !== links)
    section.warn(
      'DB_GRAPH_DIFFERS',
      `the graph has ${edges} edges for ${links} links`,
      'run "mnemesh schema-init", which makes it again',
    );
}

function checkSetup(
  section: SectionBuilder,
  { server, facts }: Extract<ServerInspection, { ok: true }>,
  name: string,
) {
  if (server.isReplica)
    section.crit(
      'DB_SERVER_REPLICA',
      'the server is a replica and takes no writes',
      'name the primary in the address',
    );
  checkSchema(facts.schemaVersion, name, section);
  if (facts.schemaVersion === 0)
    section.info(
      'DB_ABSENT',
      'the database has no tables yet; "mnemesh schema-init" or the first start makes them',
    );
  if (server.tls === null && !isLoopback(name))
    section.warn(
      'DB_SERVER_PLAIN',
      'the connection to the server is not encrypted: who is on the way reads every memory',
      'add ?sslmode=verify-full&sslrootcert=<file of the authority> to the address',
    );
  if (server.isSuperuser)
    section.info(
      'DB_ROLE_SUPERUSER',
      `the role ${server.role} is a superuser`,
      'use a role with few rights (docs/postgres.md)',
    );
  if (server.latencyMs > LATENCY_HIGH_MS)
    section.warn(
      'DB_SERVER_FAR',
      `the server answers after ${server.latencyMs} ms`,
      'run the daemons nearer to it',
    );
  if (server.connections > server.connectionsMax * CONNECTIONS_HIGH)
    section.warn(
      'DB_CONNECTIONS_HIGH',
      `${server.connections} of ${server.connectionsMax} connections are in use`,
      'raise max_connections, or run fewer daemons and readers',
    );
  for (const { table, dead, live } of server.bloated)
    section.warn(
      'DB_TABLE_BLOATED',
      `the table ${table} has ${dead} dead rows beside ${live} live ones`,
      'see that autovacuum runs for this table',
    );
}
