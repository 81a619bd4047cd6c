import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** Mounts a small disk of its own and answers how to take it away; null where the test may not mount one. */
export function smallDisk(folder: string, mebibytes: number): (() => void) | null {
  mkdirSync(folder, { recursive: true });
  try {
    const size = `size=${mebibytes}m`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder], { stdio: 'ignore' });
    return () => execFileSync('umount', ['-l', folder]);
  } catch {
    return null;
  }
}
