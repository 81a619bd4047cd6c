import type { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';

export type { ContentFacts, DatabaseFacts } from '../../storage/sqlite/inspect/inspect-database.js';

/** What became of a look into the database file. */
export type Inspection = ReturnType<typeof inspectDatabase>;
