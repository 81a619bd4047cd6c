import { listEncoders } from '../../node/semantics/models/list.js';
import { runtimeCommand } from '../../node/semantics/onnx/runtime.js';
import { ok } from '../../protocol/base/result.js';
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
    const settings = settingsFor(parsed);
    const answer = listEncoders(settings);
    if (parsed.flags.has('json')) {
      await terminal.print(`${JSON.stringify(answer)}\n`);
      return ok(0);
    }
    const rows = answer.encoders.map((encoder) => ({ ...encoder }));
    const lines = tableLines(rows, terminal.columns, COLUMNS);
    const shown = lines === null ? objectView({ encoders: rows }) : `${lines.join('\n')}\n`;
    const isMissing = answer.runtime === 'missing' && rows.some(({ folder }) => folder !== null);
    const hint = isMissing
      ? `The runtime of installed models is missing: run ${runtimeCommand(settings.home)}\n`
      : '';
    await terminal.print(`${shown}${hint}`);
    return ok(0);
  },
});
