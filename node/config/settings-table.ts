import type { SettingRow } from './setting-row.js';
import { SETTINGS } from './settings.js';

/** The settings as a Markdown table, one row each, as `docs/configuration.md` holds it. */
export function settingsTable(): string {
  const lines = [
    '| setting | flag | variable | key in the file | default | unit | secret | what it does |',
    '|---|---|---|---|---|---|---|---|',
    ...SETTINGS.map((row) =>
      [
        `\`${row.key}\``,
        code(row.flag?.name),
        code(row.env),
        keysOf(row),
        defaultText(row),
        row.unit ?? '',
        row.type === 'secret' ? 'yes' : '',
        `${row.doc}${rangeOf(row)}`.replaceAll('|', '\\|'),
      ].join(' | '),
    ).map((line) => `| ${line} |`.replace(/ {2,}/g, ' ')),
  ];
  return `${lines.join('\n')}\n`;
}

const code = (text: string | undefined) => (text === undefined ? '' : `\`${text}\``);

function keysOf(row: SettingRow): string {
  const keys = [row.config, row.configAlias].map(code);
  if (row.secretSection !== undefined) {
    keys.push(code(`${row.secretSection}.api_key_env`), code(`${row.secretSection}.api_key_file`));
  }
  if (row.legacy !== undefined) keys.push(`(legacy ${code(row.legacy)})`);
  return keys.filter((key) => key !== '').join(', ');
}

/** The default of a setting, as documentation and help show it. */
export function defaultText(row: SettingRow): string {
  if (row.defaultDoc !== undefined) return row.defaultDoc;
  if (row.default === null) return 'none';
  if (Array.isArray(row.default)) return row.default.length === 0 ? 'empty' : row.default.join(', ');
  return String(row.default);
}

function rangeOf({ min, max, oneOf }: SettingRow): string {
  if (oneOf !== undefined) return ` One of ${oneOf.map(code).join(', ')}.`;
  if (min !== undefined && max !== undefined) return ` ${min} to ${max}.`;
  return max === undefined ? '' : ` At most ${max}.`;
}
