import type { PermissionRule, RuleTrust } from '../decide/permissions.js';
import { globSource, literalLength, matchesGlob } from './glob.js';
import type { Rule } from './rule-kind.js';
import { GLOBAL_RULES, refuses, ruleProblem } from './rules.js';

/** A read, as far as it is known before it is made. */
export interface ReadAction {
  /** The operation, such as `memory_recall`. */
  readonly operation: string;
  readonly agentId: string | null;
  /** The words that are searched; null for another read. */
  readonly query: string | null;
}

/** What rules keep from a reader. */
export interface ReadLimits {
  /** Regular expressions of namespaces. */
  readonly withheld: readonly string[];
  /** The rules that say so, and those that only want a note. */
  readonly rules: readonly string[];
}

/**
 * The namespaces that rules of the kind `read_action` keep from a read. A rule that refuses and cannot be evaluated keeps
 * all namespaces that it may be about.
 */
export function limitsOfRules(
  rules: readonly Rule[],
  read: ReadAction,
  { isTrusted, failOpen }: RuleTrust,
): ReadLimits {
  const withheld: string[] = [];
  const named: string[] = [];
  for (const rule of rules) {
    if (!rule.enabled || !isTrusted(rule)) continue;
    const unreadable = ruleProblem(rule) !== null;
    if (unreadable ? failOpen || !refuses(rule) : !isAbout(rule.matcher, read)) continue;
    named.push(rule.rule_id);
    if (!refuses(rule)) continue;
    const { namespace } = rule.matcher;
    const within = unreadable || typeof namespace !== 'string' ? '.*' : globSource(namespace);
    const root = rule.for_namespace === GLOBAL_RULES ? '' : `(?=${globSource(rule.for_namespace)}(?:/.*)?$)`;
    withheld.push(`^${root}(?:${within})$`);
  }
  return { withheld, rules: named };
}

/** True where the parts of a matcher hold that do not name rows. */
function isAbout(matcher: Rule['matcher'], { operation, query }: ReadAction): boolean {
  const { surface, query_substring: words } = matcher;
  if (surface !== undefined && surface !== operation && `memory_${String(surface)}` !== operation)
    return false;
  return typeof words !== 'string' || query?.includes(words) === true;
}

/**
 * The namespaces that permission rules about `memory_read` keep from an agent: a denial wins, then the most exact rule, and
 * `ask` withholds, because a read cannot wait.
 */
export function limitsOfPermissions(rules: readonly PermissionRule[], { agentId }: ReadAction): ReadLimits {
  const about = rules.filter(
    ({ op, agentPattern }) => op === 'memory_read' && matchesGlob(agentPattern, agentId ?? ''),
  );
  const allows = about.filter(({ decision }) => decision === 'allow');
  const limiting = about.filter(({ decision }) => decision !== 'allow');
  const withheld = limiting.map(({ decision, namespacePattern }) => {
    const within = globSource(namespacePattern);
    const exact = literalLength(namespacePattern);
    const excepted =
      decision === 'deny' ? [] : allows.filter((allow) => literalLength(allow.namespacePattern) >= exact);
    const except = excepted.map((allow) => globSource(allow.namespacePattern)).join('|');
    return except === '' ? `^(?:${within})$` : `^(?!(?:${except})$)(?:${within})$`;
  });
  return { withheld, rules: limiting.map(({ namespacePattern }) => `memory_read ${namespacePattern}`) };
}
