/**
 * Keeps the on-disk format and the log of the release that it is compiled with, which later releases are tested with:
 *
 *   node dist/test/support/formats/make.js
 */
import { instantFromMs } from '../../../protocol/base/time.js';
import { temporaryFolder } from '../daemon-process.js';
import { asSqlite } from '../test-store.js';
import { databaseFacts } from './database-facts.js';
import { keepFormat } from './format-files.js';
import { writeHistory } from './format-history.js';
import { openFormat, pageFor } from './format-node.js';
import { tableCounts } from './format-tables.js';

const { path, endsMs } = await writeHistory(temporaryFolder('format'));
const one = openFormat(path, 'ash', endsMs, '');
const facts = await databaseFacts(one.store, asSqlite(one.db));
const log = await pageFor({}, one);
const tables = tableCounts(asSqlite(one.db));
await one.store.close();
keepFormat(path, log, { ended_at: instantFromMs(endsMs), facts, tables });
