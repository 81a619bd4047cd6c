import { fail, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { readEncoders } from '../sql/encoders.js';
import { Statements } from '../sql/statements.js';
import { type Extension, extensionsOf } from './extensions.js';
import { type Projection, projectGraph } from './graph-projection.js';
import type { PostgresPlace } from './messages.js';
import { connect } from './open-postgres.js';
import { postgresSchemaVersion, prepareSchema, type SchemaObjects, schemaObjects } from './prepare-schema.js';

export interface InitialisedServer extends SchemaObjects {
  readonly schemaVersion: number;
  /** False where everything was there. */
  readonly made: boolean;
  readonly projection: Projection;
  readonly extensions: readonly Extension[];
  /** Null where the database has no vectors yet. */
  readonly embeddingDim: number | null;
}

const NO_PROJECTION: Projection = { created: false, rebuilt: false, problem: null };

/**
 * Makes the extensions and the tables of a database that are missing. The log begins with the first daemon, so this needs no
 * key of a node. CONFLICT when the database has vectors of another number of dimensions than `dim`.
 */
export function initialiseServer(
  place: PostgresPlace,
  { nowMs, dim }: { readonly nowMs: number; readonly dim: number | null },
): Result<InitialisedServer> {
  const db = connect({ ...place, readOnly: false }, () => {});
  try {
    const there = postgresSchemaVersion(db) === SCHEMA_VERSION;
    const embeddingDim = there ? (readEncoders(new Statements(db)).searched?.dim ?? null) : null;
    if (dim !== null && embeddingDim !== null && dim !== embeddingDim)
      return fail(
        'CONFLICT',
        `the database has vectors of ${embeddingDim} dimensions, not ${dim}: "mnemesh encoder use" changes the encoder, and embeds every memory again`,
        { fields: ['embedding_dim'] },
      );
    const extensions = extensionsOf(db, { create: true });
    const made = prepareSchema(db, nowMs);
    const hasGraphs = extensions.some(({ name, version }) => name === 'age' && version !== null);
    const projection = hasGraphs ? projectGraph(db) : NO_PROJECTION;
    const schemaVersion = postgresSchemaVersion(db);
    return ok({
      schemaVersion,
      made: made || projection.rebuilt,
      projection,
      extensions,
      embeddingDim,
      ...schemaObjects(db),
    });
  } finally {
    db.close();
  }
}
