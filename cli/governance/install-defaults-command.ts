import { detailsOf, failed, ok } from '../../protocol/base/result.js';
import { seedRules } from '../../protocol/rules/seed-rules.js';
import { defineCommand } from '../define-command.js';
import { asOperator, now, printAnswer } from '../rules/rule-parts.js';

/** Installs the default rules, disabled (reference-federation §2.6). */
export const installDefaultsCommand = defineCommand({
  name: 'governance install-defaults',
  summary: 'Install the default rules R001 to R004, disabled; installed ones stay as they are.',
  flags: [{ name: 'yes', kind: 'switch', doc: 'Accepted for scripts; nothing is asked' }],
  examples: ['governance install-defaults', 'rules enable R001'],
  run: (parsed, terminal) =>
    asOperator(parsed, async ({ store }, { agentId: by }) => {
      const installed: string[] = [];
      const kept: string[] = [];
      for (const rule of seedRules(now())) {
        const put = await store.execute({ kind: 'put-rule', rule, replaces: null, by });
        if (put.ok) installed.push(rule.rule_id);
        else if (detailsOf(put.error, 'CONFLICT')?.existing_id === rule.rule_id) kept.push(rule.rule_id);
        else return failed(put.error);
      }
      await printAnswer(parsed, terminal, { installed, kept });
      return ok(0);
    }),
});
