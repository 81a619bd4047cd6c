import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a folder in which a text lies, byte by byte, whatever its case. */
export function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .filter((path) => readFileSync(path).toString('latin1').toLowerCase().includes(text.toLowerCase()));
}
