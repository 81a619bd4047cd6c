import { readFileSync, writeFileSync } from 'node:fs';
import { at, say } from './project.mjs';
import './prepare.mjs';

// Writes the table of the settings into the documentation. A test fails when the two differ.
const { settingsTable } = await import(at('dist/node/config/settings-table.js'));
const path = at('docs/configuration.md');
const text = readFileSync(path, 'utf8');
const marked = /(<!-- settings: begin[^>]*-->\n)[\s\S]*(<!-- settings: end -->)/;
if (!marked.test(text)) throw new Error('docs/configuration.md has no markers for the table: restore them');
writeFileSync(
  path,
  text.replace(marked, (_, begin, end) => `${begin}\n${settingsTable()}\n${end}`),
);
say('docs/configuration.md has the settings as they are');
