import { type KeyRow, listKeys } from '../../node/identity/list-keys.js';
import { ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { displayWidth, oneLine, pad } from '../views/text.js';
import { KEY_DIR_FLAG, keyDirOf } from './key-target.js';

const HEADS = ['AGENT', 'FINGERPRINT', 'PRIVATE', 'MODES'];
const GAP = 2;
/** As many hex digits as in a peer id. */
const FINGERPRINT_DIGITS = 16;

/** Lists the keys of the key folder. */
export const listCommand = defineCommand({
  name: 'identity list',
  summary: 'List the keys of agents and peers, and whether their files are safe.',
  flags: [KEY_DIR_FLAG],
  examples: ['identity list --json'],
  run: async (parsed, terminal) => {
    const keyDir = keyDirOf(parsed);
    const keys = listKeys(keyDir);
    const json = parsed.flags.has('json');
    await terminal.print(
      json ? `${JSON.stringify({ count: keys.length, key_dir: keyDir, keys })}\n` : table(keyDir, keys),
    );
    return ok(0);
  },
});

function table(keyDir: string, keys: readonly KeyRow[]): string {
  if (keys.length === 0) return `no keys in ${oneLine(keyDir)}\n`;
  const rows = keys.map((key) => [
    key.agent_id,
    key.fingerprint?.slice(0, FINGERPRINT_DIGITS) ?? '-',
    key.has_private ? 'yes' : 'no',
    key.modes_ok ? 'ok' : 'unsafe',
  ]);
  const widths = HEADS.map((_, column) =>
    Math.max(...[HEADS, ...rows].map((row) => displayWidth(row[column]!))),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) => pad(text, widths[column]! + GAP))
      .join('')
      .trimEnd();
  const lines = [line(HEADS)];
  for (const [index, row] of rows.entries()) {
    lines.push(line(row));
    const problem = keys[index]?.problem;
    if (typeof problem === 'string') lines.push(`  ${oneLine(problem)}`);
  }
  return `${lines.join('\n')}\n`;
}
