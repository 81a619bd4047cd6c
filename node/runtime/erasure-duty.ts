import { finishErasures } from '../../actors/maintenance/erasures.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { removeExportedFiles } from '../exported-files.js';
import type { Duty } from './duty.js';

/** One look costs one index entry, so it need not be woken by every write. */
const LOOK_MS = 2000;
const ROUND_MS = 500;
/** Readers hold the file for moments. */
const REST_MS = 100;

/** Finishes the erasures that calls and peers brought. */
export const erasures: Duty = {
  ...{ name: 'erasures', every: LOOK_MS, needs: [], wokenBy: ['ownership'] },
  run: ({ store, clock, log, settings }) => {
    const removeFiles = (ids: readonly string[]) => removeExportedFiles(settings.home, ids);
    let warned = false;
    return async () => {
      const finished = await finishErasures(
        { store, clock, removeFiles },
        instantFromMs(clock.nowMs()),
        ROUND_MS,
      );
      if (finished.ok) return finished.value === 'busy' ? { afterMs: REST_MS } : null;
      if (!warned) log.warn({ code: finished.error.code }, 'erasures could not be finished yet');
      warned = true;
      return null;
    };
  },
};
