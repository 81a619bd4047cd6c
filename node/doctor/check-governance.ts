import type { Crypto } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import type { Rule } from '../../protocol/rules/rule-kind.js';
import { trustOf } from '../../protocol/rules/rule-signature.js';
import { refuses, ruleProblem } from '../../protocol/rules/rules.js';
import type { ContentFacts } from '../../storage/sqlite/inspect/inspect-database.js';
import type { Settings } from '../config/settings.js';
import { type Section, SectionBuilder } from './report.js';

const NAMED_MAX = 5;

/** Checks the rules about actions: which count on this node, and which cannot be evaluated. */
export function checkGovernance(
  content: Pick<ContentFacts, 'rules'> | null,
  settings: Settings,
  crypto: Crypto,
): Section {
  const { operatorPubkey, requireOperatorPubkey } = settings;
  const section = new SectionBuilder('Governance').fact('operator key', operatorPubkey ?? 'none');
  if (operatorPubkey === null && requireOperatorPubkey) {
    section.crit(
      'OPERATOR_KEY_MISSING',
      '[governance] require_operator_pubkey is set, but there is no operator key: the node does not start',
      'run "mnemesh rules keygen", then set [governance] operator_pubkey',
    );
  }
  if (content === null) return section.done();
  const { rules } = content;
  if (rules === null) {
    section.crit(
      'RULE_DAMAGED',
      'a rule cannot be read: checks and writes that it may be about are refused',
      'run "mnemesh mesh scrub", which repairs it',
    );
    return section.done();
  }
  const { isTrusted } = trustOf(nodePolicy(settings, '').rules, crypto);
  const enabled = rules.filter((rule) => rule.enabled);
  const inForce = enabled.filter(isTrusted);
  section.fact('rules', rules.length).fact('in force', inForce.length);
  const ignored = enabled.filter((rule) => !isTrusted(rule));
  if (ignored.length > 0) {
    section.warn(
      'RULES_UNSIGNED',
      `rules are ignored because the operator did not sign them: ${named(ignored)}`,
      'look at them, then run "mnemesh rules enable <id> --sign", or remove them',
    );
  }
  const unreadable = inForce.filter((rule) => ruleProblem(rule) !== null);
  const refusing = unreadable.filter(refuses);
  if (refusing.length > 0) {
    section.warn(
      'RULES_UNREADABLE',
      `rules that this release cannot evaluate refuse every action of their kind: ${named(refusing)}`,
      'update this node, or disable or remove them with "mnemesh rules"',
    );
  }
  const mute = unreadable.filter((rule) => !refuses(rule));
  if (mute.length > 0) {
    section.info(
      'RULES_MUTE',
      `warnings and notes that this release cannot evaluate have no effect: ${named(mute)}`,
    );
  }
  return section.done();
}

/** The first rules by id, each with what is wrong with it. */
function named(rules: readonly Rule[]): string {
  const shown = rules.slice(0, NAMED_MAX).map((rule) => {
    const problem = ruleProblem(rule);
    return problem === null ? rule.rule_id : `${rule.rule_id} (${problem})`;
  });
  const more = rules.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
