import type { RuleTrust } from '../decide/permissions.js';
import { type Action, namespaceOf } from './action.js';
import { isActionKind, readMatcher } from './matchers.js';
import type { Rule } from './rule-kind.js';

/** The rules of every namespace. */
export const GLOBAL_RULES = '_global';

export const SEVERITIES = ['refuse', 'warn', 'log'] as const;

/** What the rules say about an action. `log` allows it. */
export interface RuleDecision {
  readonly decision: 'allow' | 'refuse' | 'warn';
  /** The rule that decided; null when the action is allowed. */
  readonly rule_id: string | null;
  readonly reason: string | null;
  /** Rules that ask for a note about the action. */
  readonly logged: readonly string[];
}

/** A node without an operator key: all rules count. */
export const TRUST_ALL: RuleTrust = { isTrusted: () => true, mayRemove: () => true, failOpen: false };

const ALLOWED: RuleDecision = { decision: 'allow', rule_id: null, reason: null, logged: [] };

/**
 * Decides about an action. A refusal stands before a warning; of several rules that say the same, the first by id is
 * named. A refusing rule that this release cannot read refuses every action that it may be about.
 */
export function evaluateRules(
  rules: readonly Rule[],
  action: Action,
  { isTrusted, failOpen }: RuleTrust,
): RuleDecision {
  let refusal: RuleDecision | null = null;
  let warning: RuleDecision | null = null;
  const logged: string[] = [];
  const byId = rules.toSorted((a, b) => (a.rule_id < b.rule_id ? -1 : 1));
  for (const rule of byId) {
    const finding = findingOf(rule, action, failOpen);
    // The signature is the expensive part.
    if (finding === null || !isTrusted(rule)) continue;
    const { severity, reason } = finding;
    if (severity === 'log') logged.push(rule.rule_id);
    else if (severity === 'warn') warning ??= { ...ALLOWED, decision: 'warn', rule_id: rule.rule_id, reason };
    else refusal ??= { ...ALLOWED, decision: 'refuse', rule_id: rule.rule_id, reason };
  }
  return { ...(refusal ?? warning ?? ALLOWED), logged };
}

/** What is known of rules; the engine hands out the same object while a rule stays as it is. */
const readings = new WeakMap<Rule, ReturnType<typeof readRule>>();

/** What an enabled rule says about an action; null when it is not about it. */
function findingOf(
  rule: Rule,
  action: Action,
  failOpen: boolean,
): { readonly severity: string; readonly reason: string } | null {
  if (!rule.enabled || !mayBeAbout(rule, action)) return null;
  let read = readings.get(rule);
  if (read === undefined) {
    read = readRule(rule);
    readings.set(rule, read);
  }
  if ('problem' in read) {
    // An unreadable rule that could only warn is ignored: it has no text to show.
    if (failOpen || !refuses(rule)) return null;
    return { severity: 'refuse', reason: `the rule cannot be evaluated: ${read.problem}` };
  }
  return read.matches(action, !failOpen) ? rule : null;
}

/** False for a rule about other actions, as far as its readable members say. */
function mayBeAbout({ rule_kind: kind, matcher, for_namespace: root }: Rule, action: Action): boolean {
  if (!isActionKind(kind)) return true;
  if (kind !== action.kind) return false;
  if (action.kind === 'custom' && typeof matcher['kind'] === 'string') {
    if (matcher['kind'] !== action.custom_kind) return false;
  }
  const namespace = namespaceOf(action);
  // Actions without a namespace are judged by all rules of their kind.
  if (root === GLOBAL_RULES || namespace === null) return true;
  return namespace === root || namespace.startsWith(`${root}/`);
}

const isSeverity = (severity: string): boolean => (SEVERITIES as readonly string[]).includes(severity);

/** True for a rule that refuses, or of whose severity this is not known. */
export const refuses = ({ severity }: Pick<Rule, 'severity'>): boolean =>
  severity === 'refuse' || !isSeverity(severity);

/** Why this release cannot evaluate a rule; null for a rule that it can. */
export function ruleProblem(rule: Pick<Rule, 'rule_kind' | 'matcher' | 'severity'>): string | null {
  const read = readRule(rule);
  return 'problem' in read ? read.problem : null;
}

function readRule(rule: Pick<Rule, 'rule_kind' | 'matcher' | 'severity'>): ReturnType<typeof readMatcher> {
  return isSeverity(rule.severity)
    ? readMatcher(rule)
    : { problem: `the severity "${rule.severity}" is not known` };
}
