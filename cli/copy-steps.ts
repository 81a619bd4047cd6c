import type { CopyStep } from '../node/runtime/backup.js';
import type { Progress } from './progress.js';

const WORDS = { copying: 'copying', hashing: 'reading the copy', checking: 'checking its pages' } as const;
const MIB = 1024 * 1024;

/** Shows what happens to the copy of a database; a share where bytes are counted, else how large it is. */
export function copySteps(progress: Progress): CopyStep {
  let shown = '';
  return (what, bytes, of) => {
    const far = bytes > 0 ? `${Math.floor((100 * bytes) / of)} %` : `${(of / MIB).toFixed(1)} MiB`;
    const text = `${WORDS[what]}, ${far}`;
    if (text === shown) return;
    shown = text;
    progress.say(text);
  };
}
