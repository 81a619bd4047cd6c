import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { OperationPage } from '../../../protocol/log/wire-operation.js';
import { checkPullReply } from '../../../protocol/wire/pull-reply.js';
import { auditHeadPath } from '../../../storage/sql/audit-head.js';
import type { DatabaseFacts } from './database-facts.js';

const kept = (name: string) => fileURLToPath(new URL(`../../../../fixtures/format/${name}`, import.meta.url));
const DATABASE = kept('database.db');

/** What the kept database holds, as the release that wrote it showed it. */
export interface Expected {
  /** The instant of its last write. */
  readonly ended_at: string;
  readonly facts: DatabaseFacts;
  /** The number of rows of each table. */
  readonly tables: Readonly<Record<string, number>>;
}

/** Keeps a closed database, the head of its audit chain, its log as a peer gets it, and what it holds. */
export function keepFormat(database: string, log: OperationPage, expected: Expected): void {
  writeFileSync(`${DATABASE}.gz`, gzipSync(readFileSync(database), { level: 9 }));
  writeFileSync(auditHeadPath(DATABASE), readFileSync(auditHeadPath(database)));
  writeFileSync(kept('log.json.gz'), gzipSync(JSON.stringify(log), { level: 9 }));
  writeFileSync(kept('expected.json'), `${JSON.stringify(expected, null, 1)}\n`);
}

/** Copies the kept database, and the head of its audit chain, into a folder; answers its path. */
export function keptDatabase(folder: string): string {
  const path = join(folder, 'mnemesh.db');
  writeFileSync(path, gunzipSync(readFileSync(`${DATABASE}.gz`)), { mode: 0o600 });
  writeFileSync(auditHeadPath(path), readFileSync(auditHeadPath(DATABASE)), { mode: 0o600 });
  return path;
}

/** The kept log, read as the answer of a peer is read. */
export function keptLog(): OperationPage {
  const log = checkPullReply(gunzipSync(readFileSync(kept('log.json.gz'))));
  if (log === null) throw new Error('the kept log does not have the form of an answer to a pull');
  return log;
}

export const keptFacts = (): Expected => JSON.parse(readFileSync(kept('expected.json'), 'utf8')) as Expected;
