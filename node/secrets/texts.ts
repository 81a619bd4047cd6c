import type { FoundSecret } from './found-secret.js';
import { mayHoldSecret } from './may-hold-secret.js';

/** Where a value stands in another one. */
export type Path = readonly (string | number)[];

/** A text that may hold a secret. */
export interface SuspectText {
  readonly path: Path;
  /** What the rules look at. A text under a name such as `password` is seen behind that name. */
  readonly text: string;
  /** The characters of `text` that stand before the value. */
  readonly lead: number;
  /** True for a name of a member, which cannot be rewritten. */
  readonly isName: boolean;
}

interface Node {
  readonly value: unknown;
  readonly key: string | number;
  readonly parent: Node | null;
}

/** Names under which a value is a secret by itself; fields of operations have none of them. */
const NAME = /pass|pwd|secret|token|key/i;

/** The texts in a value that may hold secrets. A value may be nested as deep as it likes. */
export function suspectTexts(value: unknown): readonly SuspectText[] {
  const suspects: SuspectText[] = [];
  const stack: Node[] = [{ value, key: '', parent: null }];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const { value: here } = node;
    if (typeof here === 'string') suspects.push(...suspectsAt(node, here));
    else if (Array.isArray(here)) {
      for (const [key, member] of here.entries()) stack.push({ value: member, key, parent: node });
    } else if (typeof here === 'object' && here !== null) {
      for (const [key, member] of Object.entries(here)) {
        if (mayHoldSecret(key)) suspects.push({ path: pathOf(node), text: key, lead: 0, isName: true });
        stack.push({ value: member, key, parent: node });
      }
    }
  }
  return suspects.reverse();
}

function suspectsAt(node: Node, text: string): readonly SuspectText[] {
  const { key, parent } = node;
  const isNamed = typeof key === 'string' && parent?.parent != null && NAME.test(key);
  const seen = isNamed ? `${key}=${text}` : text;
  if (!mayHoldSecret(seen)) return [];
  return [{ path: pathOf(node), text: seen, lead: seen.length - text.length, isName: false }];
}

function pathOf(node: Node): Path {
  const path: (string | number)[] = [];
  for (let at: Node | null = node; at?.parent != null; at = at.parent) path.unshift(at.key);
  return path;
}

/** A text with its secrets replaced by what they are. */
export function redactedText({ text, lead }: SuspectText, found: readonly FoundSecret[]): string {
  let redacted = '';
  let at = lead;
  for (const { kind, from, to } of found) {
    redacted += `${text.slice(at, Math.max(at, from))}[redacted:${kind}]`;
    at = Math.max(at, to);
  }
  return redacted + text.slice(at);
}

/** The value with another text at a path; what the path does not lead through is shared. */
export function withText<T>(value: T, path: Path, text: string): T {
  const [key, ...rest] = path;
  if (key === undefined) return text as T;
  if (Array.isArray(value)) return value.with(Number(key), withText(value[Number(key)], rest, text)) as T;
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [key]: withText(object[key], rest, text) } as T;
}

/** The name of a place for people; a name of a member that may be anything is shown only where it is a plain word. */
export const fieldOf = (path: Path): string =>
  path.reduce<string>((field, key) => {
    if (typeof key === 'number') return `${field}[${key}]`;
    const name = PLAIN.test(key) && !mayHoldSecret(key) ? key : '(a name)';
    return field === '' ? name : `${field}.${name}`;
  }, '');

const PLAIN = /^[\w-]{1,40}$/;

/** The namespace that the nearest object around a place names; null where none does. */
export function namespaceAround(value: unknown, path: Path): string | null {
  let namespace: string | null = null;
  let here = value;
  for (const key of [...path, null]) {
    if (typeof here !== 'object' || here === null) break;
    const named = Array.isArray(here) ? undefined : (here as Record<string, unknown>)['namespace'];
    if (typeof named === 'string') namespace = named;
    if (key === null) break;
    here = (here as Record<string | number, unknown>)[key];
  }
  return namespace;
}
