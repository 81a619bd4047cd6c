import type { FoundSecret } from './found-secret.js';
import { type SeenText, seenText } from './hidden-characters.js';
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
  /** The whole text with the places of the characters that the rules look at, where it has unseen ones. */
  readonly unseen: (SeenText & { readonly whole: string }) | null;
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
        const name = suspect(key);
        if (name !== null) suspects.push({ ...name, path: pathOf(node), lead: 0, isName: true });
        stack.push({ value: member, key, parent: node });
      }
    }
  }
  return suspects.reverse();
}

function suspectsAt(node: Node, text: string): readonly SuspectText[] {
  const { key, parent } = node;
  const isNamed = typeof key === 'string' && parent?.parent != null && NAME.test(key);
  const lead = isNamed ? key.length + 1 : 0;
  const found = suspect(isNamed ? `${key}=${text}` : text);
  return found === null ? [] : [{ ...found, path: pathOf(node), lead, isName: false }];
}

/** What the rules look at in a text; null where there is nothing to see. */
function suspect(whole: string): Pick<SuspectText, 'text' | 'unseen'> | null {
  const seen = seenText(whole);
  if (!mayHoldSecret(seen?.text ?? whole)) return null;
  return seen === null ? { text: whole, unseen: null } : { text: seen.text, unseen: { ...seen, whole } };
}

function pathOf(node: Node): Path {
  const path: (string | number)[] = [];
  for (let at: Node | null = node; at?.parent != null; at = at.parent) path.unshift(at.key);
  return path;
}

/** A text with its secrets replaced by what they are. */
export function redactedText({ text, lead, unseen }: SuspectText, found: readonly FoundSecret[]): string {
  const whole = unseen?.whole ?? text;
  let redacted = '';
  let at = lead;
  for (const { kind, from, to } of found) {
    redacted += `${whole.slice(at, Math.max(at, placeIn(unseen, from)))}[redacted:${kind}]`;
    at = Math.max(at, placeIn(unseen, to - 1) + 1);
  }
  return redacted + whole.slice(at);
}

/** Where a character that the rules saw stands in the whole text. */
export const placeIn = (unseen: SeenText | null, at: number): number => unseen?.places[at] ?? at;

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

/**
 * The namespace that the whole value names, or, where it names none, the row of it in which a place lies; null where none
 * does. What lies deeper is chosen by callers, such as metadata, and says nothing of where a text is stored.
 */
export function namespaceAround(value: unknown, [list, at]: Path): string | null {
  const named = namespaceIn(value);
  if (named !== null || list === undefined || typeof at !== 'number') return named;
  return namespaceIn((value as Record<string, Record<number, unknown>>)[list]?.[at]);
}

function namespaceIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { namespace } = value as { readonly namespace?: unknown };
  return typeof namespace === 'string' ? namespace : null;
}
