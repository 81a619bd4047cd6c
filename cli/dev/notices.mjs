import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const TEXT = /^(licen[cs]e|notice|copying)([-.].*)?$/i;
const LINE = '-'.repeat(80);

/**
 * Writes the notices of the packages whose modules are built in: their licences demand that copies carry them. `modules` are
 * paths, of which those below `node_modules` count.
 */
export function writeNotices(file, modules) {
  const folders = new Set(modules.flatMap((path) => FOLDER.exec(path.replaceAll('\\', '/'))?.[0] ?? []));
  const notices = [...folders].filter((folder) => existsSync(join(folder, 'package.json'))).map(noticeOf);
  const parts = notices.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ text }) => `${LINE}\n${text}`);
  const head = 'The files of this package hold code of these packages, each under its own licence.\n';
  writeFileSync(file, `${head}\n${parts.join('\n')}`);
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((each) => TEXT.test(each))
    .map((each) => readFileSync(join(folder, each), 'utf8').trim());
  // Some packages have no file with their licence, and only say which one it is, and whose.
  const said =
    texts.length > 0 ? texts : [`by ${typeof author === 'object' ? author.name : (author ?? name)}`];
  return { name, text: `${name} ${version} (${license})\n\n${said.join('\n\n')}\n` };
}
