import { inspectConfiguration } from '../../node/config/load-settings.js';
import { checkHooks } from '../../node/doctor/check-hooks.js';
import { ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { isSet, settingSources } from '../global-flags.js';

/** Reads hooks.toml and looks for the command of each hook, without starting any. */
export const checkCommand = defineCommand({
  name: 'hooks check',
  summary: 'Check hooks.toml and the commands that it names; no hook is started.',
  examples: ['hooks check', 'hooks check --config ./config.toml --json'],
  run: async (parsed, terminal) => {
    const { settings, searchPath } = inspectConfiguration(...settingSources(parsed, {}));
    const { severity, facts, findings } = checkHooks(settings.hooksPath, searchPath, null);
    const valid = findings.length === 0;
    if (isSet(parsed, 'json')) {
      await terminal.print(
        `${JSON.stringify({ valid, path: settings.hooksPath, severity, facts, findings })}\n`,
      );
    } else {
      const lines = findings.map(({ code, message, fix }) => `${code}: ${message}\n  -> ${fix}`);
      const said = facts.map(([fact, value]) => `${fact}: ${value}`);
      await terminal.print(`${[...said, ...lines, valid ? 'valid' : 'not valid'].join('\n')}\n`);
    }
    return ok(valid ? 0 : 1);
  },
});
