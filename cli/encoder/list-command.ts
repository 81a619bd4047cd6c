import { listEncoders } from '../../node/semantics/models/list.js';
import { ok } from '../../protocol/result.js';
import { defineCommand } from '../define-command.js';
import { settingsFor } from '../global-flags.js';
import { objectView } from '../views/object-view.js';
import { tableLines } from '../views/table.js';

const COLUMNS = {
  ...{ name: 'NAME', state: 'STATE', dim: 'DIM', megabytes: 'MB', languages: 'LANGUAGES' },
  ...{ purpose: 'FOR', problem: 'PROBLEM' },
};

/** Lists the encoders that are here, and those that can be installed. */
export const listCommand = defineCommand({
  name: 'encoder list',
  summary: 'List the encoders: the one in use, those that are installed, and models that can be installed.',
  examples: ['encoder list', 'encoder list --json'],
  run: async (parsed, terminal) => {
    const answer = listEncoders(settingsFor(parsed));
    if (parsed.flags.has('json')) {
      await terminal.print(`${JSON.stringify(answer)}\n`);
      return ok(0);
    }
    const rows = answer.encoders.map((encoder) => ({ ...encoder }));
    const lines = tableLines(rows, terminal.columns, COLUMNS);
    await terminal.print(lines === null ? objectView({ encoders: rows }) : `${lines.join('\n')}\n`);
    return ok(0);
  },
});
