import { shownStoreUrl } from '../node/config/store-url.js';
import { fail, failed, ok } from '../protocol/base/result.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet, settingsFor } from './global-flags.js';
import { objectView } from './views/object-view.js';

/** Vectors have this many dimensions where the database has none yet. */
const USUAL_DIM = 384;

/** Prepares a PostgreSQL database (interface §1, reference-mcp-cli §2.2). */
export const schemaInitCommand = defineCommand({
  name: 'schema-init',
  summary: 'Prepare a PostgreSQL database: extensions, tables, indexes and functions; what is there stays.',
  flags: [
    {
      name: 'embedding-dim',
      kind: 'value',
      value: 'number',
      doc: `Dimensions that its vectors must have, if it has any (default ${USUAL_DIM})`,
    },
  ],
  examples: ['schema-init --store-url postgres://owner@db.example/mnemesh', 'schema-init --json'],
  run: async (parsed, terminal) => {
    const given = flagValue(parsed, 'embedding-dim');
    if (given !== undefined && !/^[1-9]\d{0,3}$/.test(given))
      return fail('VALIDATION_FAILED', '--embedding-dim must be a number from 1 to 9999', {
        fields: ['embedding_dim'],
      });
    const settings = settingsFor(parsed);
    const dim = given === undefined ? null : Number(given);
    const { initialiseDatabase } = await import('../node/runtime/schema-init.js');
    const done = initialiseDatabase(settings, dim);
    if (!done.ok) return failed(done.error);
    const { tables, views, functions, indices, extensions, schemaVersion, made, projection, embeddingDim } =
      done.value;
    const answer = {
      ...{ url: shownStoreUrl(settings.storeUrl!), kind: 'postgres', changed: made },
      ...{ tables, views, functions, indices },
      extensions: extensions.flatMap(({ name, version }) => (version === null ? [] : [`${name} ${version}`])),
      extensions_missing: extensions.flatMap(({ name, problem }) =>
        problem === null ? [] : [`${name}: ${problem}`],
      ),
      schema_version: schemaVersion,
      age_projection_created: projection.created,
      ...(projection.problem === null ? {} : { age_projection_problem: projection.problem }),
      embedding_dim: embeddingDim ?? dim ?? USUAL_DIM,
      embedding_dim_migrated: false,
    };
    const counts = {
      ...{ tables: tables.length, views: views.length, functions: functions.length, indices: indices.length },
    };
    await terminal.print(
      isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : objectView({ ...answer, ...counts }),
    );
    return ok(0);
  },
});
