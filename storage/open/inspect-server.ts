import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { type Extension, extensionsOf } from '../postgres/extensions.js';
import { type GraphFacts, graphFacts } from '../postgres/graph-engine.js';
import { connect, refusalOf } from '../postgres/open-postgres.js';
import type { PostgresConnection } from '../postgres/postgres-connection.js';
import { PostgresError } from '../postgres/postgres-errors.js';
import { postgresSchemaVersion } from '../postgres/prepare-schema.js';
import { auditOf, contentOf, type DatabaseFacts } from '../sqlite/inspect/inspect-database.js';
import type { DatabasePlace } from './open.js';

/** What a server says about itself and about a database of it. */
export interface ServerFacts {
  readonly version: string;
  readonly role: string;
  /** False where the role may only read and write rows. */
  readonly isSuperuser: boolean;
  readonly extensions: readonly Extension[];
  readonly graph: GraphFacts;
  readonly latencyMs: number;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly isReplica: boolean;
  /** Replicas that stream from it, as far as the role may see them. */
  readonly replicas: number;
  /** The protocol of the connection; null where it is not encrypted. */
  readonly tls: string | null;
  readonly sizeBytes: number;
  /** Tables with many rows that were replaced, and no vacuum yet took away. */
  readonly bloated: readonly { readonly table: string; readonly dead: number; readonly live: number }[];
}

export type ServerInspection =
  | { readonly ok: true; readonly facts: DatabaseFacts; readonly server: ServerFacts }
  | { readonly ok: false; readonly problem: string };

export interface InspectOptions {
  readonly now: string;
  readonly crypto: Crypto;
  /** The machine's key; null when it has no key. */
  readonly ownKey: Uint8Array | null;
  readonly monotonicMs: () => number;
}

/** Inspects a database on a server; changes nothing. */
export function inspectServer(
  place: Extract<DatabasePlace, { engine: 'postgres' }>,
  options: InspectOptions,
): ServerInspection {
  try {
    const db = connect({ ...place, readOnly: true }, () => {});
    try {
      return { ok: true, server: serverFacts(db, options), facts: factsOf(db, place.auditHeadPath, options) };
    } finally {
      db.close();
    }
  } catch (error) {
    const refused = error instanceof PostgresError ? refusalOf(error) : error;
    if (!(refused instanceof StartRefusedError)) throw error;
    return { ok: false, problem: refused.message };
  }
}

/** The schema version of a database on a server; 0 where it has no tables yet. Throws StartRefusedError. */
export function serverSchemaVersion(place: Extract<DatabasePlace, { engine: 'postgres' }>): number {
  const db = connect({ ...place, readOnly: true }, () => {});
  try {
    return postgresSchemaVersion(db);
  } catch (error) {
    throw error instanceof PostgresError ? refusalOf(error) : error;
  } finally {
    db.close();
  }
}

function factsOf(
  db: PostgresConnection,
  headPath: string,
  { now, crypto, ownKey }: InspectOptions,
): DatabaseFacts {
  const schemaVersion = postgresSchemaVersion(db);
  const hasLog =
    schemaVersion === SCHEMA_VERSION && db.prepare('SELECT 1 FROM log_state').get() !== undefined;
  const content = hasLog ? contentOf(db, now, crypto) : null;
  const audit = hasLog ? auditOf(db, headPath, crypto, ownKey) : null;
  return { schemaVersion, damage: [], content, audit };
}

const SERVER = `SELECT current_setting('server_version') AS version, current_user::text AS role,
  current_setting('is_superuser') = 'on' AS superuser, pg_is_in_recovery() AS replica,
  CAST(current_setting('max_connections') AS INTEGER) AS connections_max,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  (SELECT count(*) FROM pg_stat_replication) AS replicas,
  (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS tls`;

/** Tables of which rows are replaced often. */
const HOT = `SELECT relname AS name, n_dead_tup AS dead, n_live_tup AS live FROM pg_stat_user_tables
  WHERE n_dead_tup > 50000 AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC LIMIT 5`;

function serverFacts(db: PostgresConnection, { monotonicMs }: InspectOptions): ServerFacts {
  const ask = db.prepare<[], Readonly<Record<string, unknown>>>(SERVER);
  const row = ask.get()!;
  // The quickest of some: what the machine does beside it is no distance.
  const latencies = [1, 2, 3].map(() => {
    const began = monotonicMs();
    ask.get();
    return monotonicMs() - began;
  });
  const latencyMs = Math.min(...latencies);
  const bloated = db.prepare<[], { name: string; dead: number; live: number }>(HOT).all();
  return {
    version: String(row['version']),
    role: String(row['role']),
    isSuperuser: row['superuser'] === 1,
    extensions: extensionsOf(db, { create: false }),
    graph: graphFacts(db),
    latencyMs: Math.round(latencyMs * 10) / 10,
    connections: Number(row['connections']),
    connectionsMax: Number(row['connections_max']),
    isReplica: row['replica'] === 1,
    replicas: Number(row['replicas']),
    tls: row['tls'] === null ? null : String(row['tls']),
    sizeBytes: db.sizeBytes(),
    bloated: bloated.map(({ name, dead, live }) => ({ table: name, dead, live })),
  };
}
