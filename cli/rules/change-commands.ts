import { failed, ok } from '../../protocol/base/result.js';
import { ruleRemovalBytes } from '../../protocol/rules/rule-signature.js';
import type { Command } from '../command.js';
import { defineCommand } from '../define-command.js';
import {
  asOperator,
  base64Of,
  now,
  printAnswer,
  ruleOf,
  SIGN_FLAGS,
  signedRule,
  signerFor,
  writeRule,
} from './rule-parts.js';

const ID = { name: 'id', doc: 'Id of the rule' };

/** A command that lets a rule count, or not. */
const switchCommand = (name: 'enable' | 'disable', summary: string): Command =>
  defineCommand({
    name: `rules ${name}`,
    summary,
    positionals: [ID],
    flags: SIGN_FLAGS,
    examples: [`rules ${name} R001`, `rules ${name} R001 --sign`],
    run: async (parsed, terminal) => {
      const signer = signerFor(parsed);
      if (!signer.ok) return failed(signer.error);
      return asOperator(parsed, async (services, caller) => {
        const before = await ruleOf(services, parsed.positionals[0]!);
        if (!before.ok) return failed(before.error);
        const rule = { ...before.value, enabled: name === 'enable', updated_at: now() };
        const written = signedRule(rule, signer.value);
        return writeRule({ services, caller, terminal, parsed }, written, before.value.updated_at);
      });
    },
  });

export const enableCommand = switchCommand('enable', 'Let a rule decide about actions, at once.');
export const disableCommand = switchCommand('disable', 'Keep a rule without effect.');

/** Removes a rule. */
export const removeCommand = defineCommand({
  name: 'rules remove',
  summary: 'Remove a rule.',
  positionals: [ID],
  flags: SIGN_FLAGS,
  examples: ['rules remove no-force'],
  run: async (parsed, terminal) => {
    const signer = signerFor(parsed);
    if (!signer.ok) return failed(signer.error);
    const id = parsed.positionals[0]!;
    return asOperator(parsed, async (services, caller) => {
      const rule = await ruleOf(services, id);
      if (!rule.ok) return failed(rule.error);
      const key = signer.value;
      const signature = key === null ? null : base64Of(key.sign(ruleRemovalBytes(rule.value)));
      const by = caller.agentId;
      const removed = await services.store.execute({ kind: 'remove-rule', id, signature, by });
      if (!removed.ok) return failed(removed.error);
      await printAnswer(parsed, terminal, { removed: true, id });
      return ok(0);
    });
  },
});
