import { AGENT_ID_LENGTH_MAX, ID_LENGTH_MAX, NAMESPACE_DEPTH_MAX, NAMESPACE_LENGTH_MAX } from './limits.js';

/** The id, in the form of a UUID, that follows from a SHA-256 in hex. */
export const uuidOfDigest = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;

const MEMORY_ID = /^[A-Za-z0-9_:.@-]+$/;
const AGENT_ID = new RegExp(`^[A-Za-z0-9_\\-:@./]{1,${AGENT_ID_LENGTH_MAX}}$`);
// Control characters, C1 included.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Ids of the service's own principals; callers cannot claim them (interface §5.4).
 * Source: reference-http §7.
 */
export const RESERVED_PRINCIPALS: ReadonlySet<string> = new Set([
  'daemon',
  'system',
  'curator',
  'federation',
  'federation-catchup',
  'subscription-dispatch',
  'ai:curator',
  'ai:http-internal',
  'ai:migrate',
  'export-internal',
  'governance-internal',
]);

/**
 * Says what is wrong with a memory id or an id prefix, or null. Slashes, backslashes, `..`, NUL and control
 * characters never reach storage (interface §7).
 */
export function memoryIdProblem(id: string): string | null {
  if (id.length === 0) return 'id must not be empty';
  if (id.length > ID_LENGTH_MAX) return `id is longer than ${ID_LENGTH_MAX} characters`;
  if (!MEMORY_ID.test(id) || id.includes('..')) {
    return 'id may only hold letters, digits and _ : . @ - and no ".."';
  }
  return null;
}

/** Says what is wrong with an agent id, or null (interface §5.3, reference-http §7). */
export function agentIdProblem(id: string): string | null {
  if (!AGENT_ID.test(id)) {
    return `agent_id must be 1 to ${AGENT_ID_LENGTH_MAX} characters of letters, digits and _ - : @ . /`;
  }
  if (id.includes('..') || id.startsWith('/')) return 'agent_id must not hold ".." or start with "/"';
  if (RESERVED_PRINCIPALS.has(id)) return `agent_id "${id}" is reserved for the service itself`;
  return null;
}

/**
 * Says what is wrong with a namespace, or null: segments separated by `/`, at most eight, none empty, `.` or `..`
 * (interface §2.1, reference-http §2.1).
 */
export function namespaceProblem(namespace: string): string | null {
  if (namespace.length === 0) return 'namespace must not be empty';
  if (namespace.length > NAMESPACE_LENGTH_MAX) {
    return `namespace is longer than ${NAMESPACE_LENGTH_MAX} characters`;
  }
  if (CONTROL.test(namespace) || /[\\\s]/.test(namespace)) {
    return 'namespace must not hold white space, a backslash or control characters';
  }
  const segments = namespace.split('/');
  if (segments.length > NAMESPACE_DEPTH_MAX) {
    return `namespace is ${segments.length} levels deep; at most ${NAMESPACE_DEPTH_MAX} are allowed`;
  }
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'namespace must not hold an empty segment, "." or ".."';
  }
  return null;
}

/** How every token begins, so that people and scanners of secrets know one. */
export const TOKEN_PREFIX = 'mnt_';
export const isTokenText = (text: string): boolean => text.startsWith(TOKEN_PREFIX);

/** Characters that leave no mark: zero-width ones, joiners, marks of direction, fillers, variation selectors. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
const VISIBLE = /[^\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** True for a text in which nobody sees a character. */
export const isBlank = (text: string): boolean => !VISIBLE.test(text);

/**
 * Says what is wrong with a namespace that a caller or a setting names, or null. Two names that look alike must not be
 * two namespaces. Rows of earlier releases and of peers may have other names (`namespaceProblem`).
 */
export function namespaceNameProblem(namespace: string): string | null {
  if (INVISIBLE.test(namespace)) return 'namespace must not hold invisible characters';
  if (namespace !== namespace.normalize('NFC')) return 'namespace must be in the Unicode form NFC';
  return namespaceProblem(namespace);
}

/** True for a namespace of the service itself: no store and no move goes there, and no policy holds there. */
export const isReservedNamespace = (namespace: string): boolean => namespace.startsWith('_');

/** Says what is wrong with a namespace that stores go to, or null. */
export function storeNamespaceProblem(namespace: string): string | null {
  return isReservedNamespace(namespace)
    ? 'namespaces that begin with "_" are the service\'s own'
    : namespaceNameProblem(namespace);
}

/** The end of a name that stands for a namespace and all namespaces below it. */
export const SUBTREE = '/**';

/** The namespace at the top of a subtree, `a/b` of `a/b/**`; null for the name of one namespace. */
export function subtreeRoot(name: string): string | null {
  return name.endsWith(SUBTREE) ? name.slice(0, -SUBTREE.length) : null;
}

/** Says what is wrong with the name of a namespace or a subtree, or null. */
export function subtreeProblem(name: string): string | null {
  return namespaceNameProblem(subtreeRoot(name) ?? name);
}

/** The namespace itself and its ancestors, nearest first: `a/b/c`, `a/b`, `a`. */
export function withAncestors(namespace: string): string[] {
  const chain = [namespace];
  for (let cut = namespace.lastIndexOf('/'); cut > 0; cut = namespace.lastIndexOf('/', cut - 1)) {
    chain.push(namespace.slice(0, cut));
  }
  return chain;
}

/** True when the text holds a control character other than the allowed ones. */
export function hasControlCharacter(text: string, allowed = ''): boolean {
  if (!CONTROL.test(text)) return false;
  for (const character of text) {
    if (CONTROL.test(character) && !allowed.includes(character)) return true;
  }
  return false;
}
