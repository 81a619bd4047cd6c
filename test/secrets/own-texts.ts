import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const TEXTS = /\.(?:md|ts|tsx|mjs|js|sh|toml|json|css|html|cast)$/;
const LEFT_OUT = /^(?:node_modules|dist|\.git|\.cache)$/;
const BYTES_MAX = 3_000_000;

/** The text files of a folder whose paths match, with their texts. */
export function ownTexts(root: string, paths: RegExp): readonly (readonly [path: string, text: string])[] {
  const found: [string, string][] = [];
  const look = (folder: string): void => {
    for (const name of readdirSync(folder)) {
      if (LEFT_OUT.test(name)) continue;
      const path = join(folder, name);
      const place = relative(root, path);
      const facts = statSync(path);
      if (facts.isDirectory()) look(path);
      else if (paths.test(place) && TEXTS.test(name) && facts.size <= BYTES_MAX)
        found.push([place, readFileSync(path, 'utf8')]);
    }
  };
  look(root);
  return found;
}
