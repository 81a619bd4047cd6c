import type { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';

export type { ServerInspection } from '../../storage/open/inspect-server.js';
export type { ContentFacts, DatabaseFacts } from '../../storage/sqlite/inspect/inspect-database.js';

/** The result of examining the database file. */
export type Inspection = ReturnType<typeof inspectDatabase>;
