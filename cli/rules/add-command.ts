import { fail, failed } from '../../protocol/base/result.js';
import { NO_REST, parsedObject } from '../../protocol/kinds/payload.js';
import { ACTION_KINDS } from '../../protocol/rules/action.js';
import { GLOBAL_RULES, SEVERITIES } from '../../protocol/rules/rules.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { asOperator, now, SIGN_FLAGS, signedRule, signerFor, writeRule } from './rule-parts.js';

/** Adds a rule about actions (reference-federation §2.6). */
export const addCommand = defineCommand({
  name: 'rules add',
  summary: 'Add a rule about what agents do.',
  flags: [
    { name: 'id', kind: 'value', value: 'id', required: true, doc: 'Id of the rule' },
    {
      name: 'kind',
      kind: 'value',
      value: ACTION_KINDS.join('|'),
      choices: ACTION_KINDS,
      required: true,
      doc: 'Kind of actions',
    },
    { name: 'matcher', kind: 'value', value: 'json', required: true, doc: 'Which of them, as a JSON object' },
    {
      name: 'severity',
      kind: 'value',
      value: SEVERITIES.join('|'),
      choices: SEVERITIES,
      doc: 'What the rule says (default refuse)',
    },
    { name: 'reason', kind: 'value', value: 'text', doc: 'What an agent is told' },
    {
      name: 'namespace',
      kind: 'value',
      value: 'name',
      doc: `Only for this namespace and those below it (default ${GLOBAL_RULES}: all)`,
    },
    { name: 'disabled', kind: 'switch', doc: 'Add it without effect, to enable it later' },
    ...SIGN_FLAGS,
  ],
  examples: [
    `rules add --id no-force --kind bash --matcher '{"command_substring":"push --force"}' --reason "ask first"`,
    `rules add --id long --kind custom --matcher '{"kind":"memory_write","tier":"long"}' --namespace team --sign`,
  ],
  run: async (parsed, terminal) => {
    const matcher = parsedObject(flagValue(parsed, 'matcher')!);
    if (matcher === null) {
      return fail('VALIDATION_FAILED', '--matcher must be a JSON object', { fields: ['matcher'] });
    }
    const signer = signerFor(parsed);
    if (!signer.ok) return failed(signer.error);
    return asOperator(parsed, (services, caller) => {
      const at = now();
      const rule = {
        rule_id: flagValue(parsed, 'id')!,
        rule_kind: flagValue(parsed, 'kind')!,
        matcher,
        severity: flagValue(parsed, 'severity') ?? 'refuse',
        reason: flagValue(parsed, 'reason') ?? '',
        for_namespace: flagValue(parsed, 'namespace') ?? GLOBAL_RULES,
        created_by: caller.agentId,
        created_at: at,
        updated_at: at,
        enabled: !isSet(parsed, 'disabled'),
        signature: null,
        attest_level: 'unsigned',
        rest: NO_REST,
      };
      return writeRule({ services, caller, terminal, parsed }, signedRule(rule, signer.value), null);
    });
  },
});
