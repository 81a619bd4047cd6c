/** Globs (`*` one segment, `**` any suffix) of the namespaces that a node may hold; null means all. */
export type Scope = readonly string[] | null;

/** Who may hold the namespaces of a scope. */
export interface Scoped {
  readonly allowedNamespaces: Scope;
}

/** True when a peer may hold the contents of a namespace. */
export function mayHold({ allowedNamespaces }: Scoped, namespace: string): boolean {
  return heldByAll([allowedNamespaces])(namespace);
}

/** True for a scope that holds every namespace. */
export const isWhole = (scope: Scope): boolean => scope === null || scope.includes('**');

/** True when a peer may hold a namespace and all those below it. */
export function mayHoldBelow({ allowedNamespaces }: Scoped, namespace: string): boolean {
  const deep = allowedNamespaces?.filter((glob) => glob === '**' || glob.endsWith('/**')) ?? null;
  return mayHold({ allowedNamespaces: deep }, namespace);
}

/** Tells of many namespaces whether every one of some scopes holds them. */
export function heldByAll(scopes: readonly Scope[]): (namespace: string) => boolean {
  const parsed = scopes.flatMap((globs) => (globs === null ? [] : [globs.map((glob) => glob.split('/'))]));
  if (parsed.length === 0) return () => true;
  return (namespace) => {
    const segments = namespace.split('/');
    return parsed.every((patterns) => patterns.some((pattern) => matches(pattern, segments)));
  };
}

/** `*` matches one segment, a final `**` any suffix (reference-federation §1.3). */
export const coversNamespace = (glob: string, namespace: string): boolean =>
  matches(glob.split('/'), namespace.split('/'));

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const last = pattern.length - 1;
  for (let index = 0; index <= last; index += 1) {
    const part = pattern[index]!;
    if (part === '**' && index === last) return true;
    const segment = segments[index];
    if (segment === undefined || (part !== '*' && part !== segment)) return false;
  }
  return pattern.length === segments.length;
}
