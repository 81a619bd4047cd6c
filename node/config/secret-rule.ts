import { SECRET_MODES, type SecretMode } from '../../protocol/policies/secret-modes.js';

/** What happens with secrets in the namespaces of a pattern. */
export interface SecretRule {
  readonly namespacePattern: string;
  readonly mode: SecretMode;
}

const KEYS = new Set(['namespace_pattern', 'mode']);

/** The rule that a table `[[secrets.namespaces]]` describes, or what is wrong with it. */
export function secretRuleOf(table: Readonly<Record<string, unknown>>): SecretRule | string {
  const unknown = Object.keys(table).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return `has the unknown key "${unknown}"`;
  const { namespace_pattern: namespacePattern, mode } = table;
  if (typeof namespacePattern !== 'string' || namespacePattern === '') return 'needs a namespace_pattern';
  if (!SECRET_MODES.includes(mode as SecretMode)) return `needs a mode of ${SECRET_MODES.join(', ')}`;
  return { namespacePattern, mode: mode as SecretMode };
}
