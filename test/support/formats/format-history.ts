import { FormatCast } from './format-cast.js';
import { agents } from './scenes-agents.js';
import { archive, letGo, purges, reads } from './scenes-life.js';
import { concurrent, ofALaterRelease, putBack, scoped } from './scenes-mesh.js';
import { local, plainWrites, records, relations } from './scenes-writes.js';

/**
 * Has four nodes, and a peer of a later release, write one history; answers the path of the closed database that is
 * kept, and the time of its last write.
 */
export async function writeHistory(
  folder: string,
): Promise<{ readonly path: string; readonly endsMs: number }> {
  const cast = new FormatCast(folder);
  await agents(cast);
  await purges(cast);
  const full = await plainWrites(cast);
  await relations(cast, full);
  await archive(cast);
  await putBack(cast);
  await concurrent(cast);
  await scoped(cast);
  await ofALaterRelease(cast);
  await reads(cast);
  await letGo(cast);
  await local(cast);
  await records(cast);
  await cast.close();
  return { path: cast.ash.path, endsMs: cast.nowMs };
}
