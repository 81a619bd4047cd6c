import { statfs } from 'node:fs/promises';

const GIB = 2 ** 30;

/** Free room on the disk of a folder, in GiB; null when the system does not say. */
export async function freeDiskGib(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return (bavail * bsize) / GIB;
  } catch {
    return null;
  }
}
