import type { CopyStep } from '../node/runtime/backup.js';
import type { Progress } from './progress.js';

const WORDS = { copying: 'copying', hashing: 'reading the copy', checking: 'checking its pages' } as const;
const MIB = 1024 * 1024;

/** Shows the progress of copying a database: a percentage while bytes are counted, otherwise the size. */
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
