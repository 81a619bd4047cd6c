import { memoryPersona } from '../../node/operations/personas/memory-persona.js';
import { memoryPersonaGenerate } from '../../node/operations/personas/memory-persona-generate.js';
import { failed, ok } from '../../protocol/base/result.js';
import type { Persona } from '../../protocol/personas/persona.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { failureText } from '../report-failure.js';
import { printable } from '../views/text.js';

/** Exit codes (reference-mcp-cli §2.2). */
const NONE = 1;
const NOT_WRITTEN = 2;

/** Shows the persona of an entity, or has a chat model write the next one (interface §4.14). */
export const personaCommand = defineCommand({
  name: 'persona',
  summary: 'Show the newest persona of an entity, or have a chat model write the next one.',
  flags: [
    {
      ...{ name: 'namespace', short: 'n', kind: 'value', value: 'text' },
      doc: 'Where it lies; "global" unless given',
    },
    { name: 'regenerate', kind: 'switch', doc: 'Have the chat model write the next version first' },
  ],
  positionals: [{ name: 'entity-id', doc: 'What it is about, as reflections name it' }],
  examples: ['persona customer-7 --namespace sales', 'persona customer-7 --namespace sales --regenerate'],
  run: (parsed, terminal) =>
    withLocalRunner(parsed, async (runner, caller) => {
      const json = isSet(parsed, 'json');
      const namespace = flagValue(parsed, 'namespace') ?? 'global';
      const input = { entity_id: parsed.positionals[0]!, namespace };
      const writes = isSet(parsed, 'regenerate');
      const answer = await runner.run(writes ? memoryPersonaGenerate : memoryPersona, {
        ...{ surface: 'cli', caller, input, unknownFields: 'refuse' },
      });
      if (!answer.ok && (!writes || isOfInput(answer.error.code))) return failed(answer.error);
      if (!answer.ok) {
        await terminal.complain(failureText(answer.error, json, ''));
        if (answer.error.code === 'NO_REFLECTIONS' && !json) await terminal.complain(WHERE);
        return ok(NOT_WRITTEN);
      }
      const persona = answer.value['persona'] as Persona | null;
      if (json) await terminal.print(`${JSON.stringify(answer.value)}\n`);
      else if (persona !== null) await terminal.print(textOf(persona));
      else
        await terminal.complain(
          `no persona of ${input.entity_id} lies in ${namespace}: --regenerate writes one\n${WHERE}`,
        );
      return ok(persona === null ? NONE : 0);
    }),
});

const WHERE = '--namespace names the namespace of its reflections\n';

const isOfInput = (code: string): boolean => code === 'VALIDATION_FAILED' || code === 'INVALID_ARGUMENT';

const textOf = ({ id, version, namespace, generated_at, attest_level, body_md }: Persona): string =>
  `${printable(body_md.trim())}\n\nversion ${version} (ns=${namespace}), ${generated_at}, ${attest_level}: ${id}\n`;
