import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Where memories of some kinds are written as files of the home. */
const FOLDERS = { persona: 'personas', reflection: 'reflections' } as const;

export const exportFolder = (home: string, kind: string): string =>
  join(home, kind === 'persona' ? FOLDERS.persona : FOLDERS.reflection);

/** Removes the files that were written of memories, in whichever namespace they were then. Answers why it could not; null where it did. */
export function removeExportedFiles(home: string, ids: readonly string[]): string | null {
  try {
    removeNamed(home, ids);
    return null;
  } catch (error) {
    const { code, syscall, path } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return `${path ?? home}: ${code ?? 'the system refuses it'}`;
  }
}

function removeNamed(home: string, ids: readonly string[]): void {
  const names = new Set(ids.flatMap((id) => [`${id}.md`, `${id}.json`]));
  for (const folder of Object.values(FOLDERS).map((name) => join(home, name))) {
    if (!existsSync(folder)) continue;
    for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      if (names.has(basename(path))) rmSync(join(folder, path), { force: true });
  }
}
