/**
 * Keeps the on-disk format of the release that it is compiled with, as files that later releases are tested with. A
 * format is kept once, by the last release that writes it:
 *
 *   node dist/test/support/formats/make.js <number of the format> [database | mesh]
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { instantFromMs } from '../../../protocol/base/time.js';
import { temporaryFolder } from '../daemon-process.js';
import { databaseFacts, digestsOf } from './database-facts.js';
import { FORMATS_FOLDER, keepDatabase, keepExpected, keepMesh } from './format-folders.js';
import { writeHistory } from './format-history.js';
import { writeMesh } from './format-mesh.js';
import { openFormat } from './format-node.js';

const [format = '', part = 'all'] = process.argv.slice(2);
if (!/^[1-9]\d*$/.test(format)) throw new Error('name the number of the format, for example 1');
const folder = join(FORMATS_FOLDER, format);
mkdirSync(folder, { recursive: true });
if (part !== 'mesh') await keepHistory();
if (part !== 'database') await keepThree();

async function keepHistory(): Promise<void> {
  const { path, endsMs } = await writeHistory(temporaryFolder('format'));
  const { store, db } = openFormat(path, 'ash', endsMs, '');
  const facts = await databaseFacts(store, db);
  const digests = await digestsOf(store);
  await store.close();
  keepDatabase(path, folder);
  keepExpected(folder, { ended_at: instantFromMs(endsMs), facts, digests });
}

async function keepThree(): Promise<void> {
  const { mesh, expected } = await writeMesh();
  keepMesh(
    mesh.nodes.map(({ home }) => home),
    folder,
    expected,
  );
}
