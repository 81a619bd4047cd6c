import { memoryCheckAgentAction } from '../../node/operations/power/memory-check-agent-action.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { parsedObject } from '../../protocol/kinds/payload.js';
import { ACTION_KINDS } from '../../protocol/rules/action.js';
import { defineCommand } from '../define-command.js';
import { flagValue } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { printAnswer } from './rule-parts.js';

/** Asks the rules about an action that is given as JSON; `governance check-action` takes it as flags. */
export const checkCommand = defineCommand({
  name: 'rules check',
  summary: 'Ask the rules about an action; the check is recorded.',
  flags: [
    {
      name: 'kind',
      kind: 'value',
      value: ACTION_KINDS.join('|'),
      choices: ACTION_KINDS,
      required: true,
      doc: 'Kind of the action',
    },
    { name: 'payload', kind: 'value', value: 'json', required: true, doc: 'Its fields, as a JSON object' },
  ],
  examples: [
    `rules check --kind bash --payload '{"command":"rm -rf /tmp/x"}'`,
    `rules check --kind custom --payload '{"custom_kind":"memory_write","payload":{"namespace":"team"}}'`,
  ],
  run: async (parsed, terminal) => {
    const payload = parsedObject(flagValue(parsed, 'payload')!);
    if (payload === null) {
      return fail('VALIDATION_FAILED', '--payload must be a JSON object', { fields: ['payload'] });
    }
    return withLocalRunner(parsed, async (runner, caller) => {
      const answer = await runner.run(memoryCheckAgentAction, {
        surface: 'cli',
        caller,
        input: { ...payload, kind: flagValue(parsed, 'kind') },
        unknownFields: 'refuse',
      });
      if (!answer.ok) return failed(answer.error);
      await printAnswer(parsed, terminal, answer.value);
      return ok(0);
    });
  },
});
