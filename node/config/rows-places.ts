import { join } from 'node:path';
import type { SettingRows } from './setting-row.js';

/** Where a node keeps its files and listens. */
export const PLACE_ROWS = {
  home: {
    type: 'path',
    default: '~/.mnemesh',
    env: 'SVC_HOME',
    doc: 'Folder of the database, keys and configuration (0700).',
  },
  dbPath: {
    type: 'path',
    default: (home: string) => join(home, 'mnemesh.db'),
    defaultDoc: 'mnemesh.db in the home',
    asIs: ':memory:',
    flag: { name: '--db', of: 'every', value: 'path', doc: 'Database file ({env}); default {default}' },
    env: 'SVC_DB',
    config: 'db',
    doc: 'Database file.',
  },
  keyDir: {
    type: 'path',
    default: (home: string) => join(home, 'keys'),
    defaultDoc: 'keys in the home',
    env: 'SVC_KEY_DIR',
    doc: 'Folder of the key files (0700).',
  },
  skillsImportRoot: {
    type: 'path',
    default: (home: string) => join(home, 'skills'),
    defaultDoc: 'skills in the home',
    env: 'SVC_SKILLS_IMPORT_ROOT',
    config: 'skills.import_root',
    doc: 'Folder below which folders of skills are read; no other folder is.',
  },
  skillsExportRoot: {
    type: 'path',
    default: (home: string) => join(home, 'skills'),
    defaultDoc: 'skills in the home',
    env: 'SVC_SKILLS_EXPORT_ROOT',
    config: 'skills.export_root',
    doc: 'Folder below which skills are written; into no other folder.',
  },
  host: {
    type: 'text',
    default: '127.0.0.1',
    flag: {
      name: '--host',
      of: 'serve',
      value: 'address',
      doc: 'Address to bind ({env}; default {default})',
    },
    env: 'SVC_HOST',
    config: 'http.host',
    doc: 'Address that serve binds; another than loopback needs an API key.',
  },
  port: {
    type: 'integer',
    default: 9077,
    min: 0,
    max: 65_535,
    flag: {
      name: '--port',
      of: 'serve',
      form: { match: /^\d{1,5}$/, problem: 'must be a port number' },
      doc: 'Port to bind, 0 for any free one ({env}; default {default})',
    },
    env: 'SVC_PORT',
    config: 'http.port',
    doc: 'Port that serve binds; 0 takes any free one.',
  },
} as const satisfies SettingRows;
