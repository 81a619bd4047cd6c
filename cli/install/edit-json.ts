import { isDeepStrictEqual } from 'node:util';
import { NotEditableError } from './not-editable.js';

type Json = Readonly<Record<string, unknown>>;

interface Member {
  readonly key: string;
  readonly keyAt: number;
  readonly valueAt: number;
  readonly valueEnd: number;
}

/**
 * JSON text, with or without comments, in which the member at a path has another value, or is gone (`undefined`); objects
 * on the way are made. All other characters stay as they are. Throws NotEditableError where the text is no JSON object,
 * or a member on the way is none.
 */
export function editJson(text: string, path: readonly string[], value: unknown): string {
  const before = parsed(text);
  const wanted = withMember(before, path, value);
  const edited = splice(text, path, value);
  // A text with the same key twice, for example.
  if (!isDeepStrictEqual(parsed(edited), wanted)) throw new NotEditableError('cannot be edited safely');
  return edited;
}

/** The value of a member; undefined where there is none. */
export function memberOf(text: string, path: readonly string[]): unknown {
  let at: unknown = parsed(text);
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return at;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(plainJson(text));
  } catch {
    throw new NotEditableError('is neither JSON nor JSON with comments');
  }
  if (!isObject(value)) throw new NotEditableError('is no JSON object');
  return value;
}

/**
 * The text with spaces in the place of comments, of commas after last members and of a byte order mark, which editors accept
 * in their settings. Everything else keeps its place.
 */
function plainJson(text: string): string {
  const token = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  const withoutComments = text
    .replace(/^\uFEFF/, ' ')
    .replace(token, (part) => (part.startsWith('"') ? part : part.replace(/[^\n]/g, ' ')));
  return withoutComments.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === ',' ? ' ' : part));
}

function withMember(object: Json, [key, ...rest]: readonly string[], value: unknown): Json {
  const own = Object.hasOwn(object, key!) ? object[key!] : undefined;
  if (rest.length === 0) {
    const { [key!]: _old, ...others } = object;
    return value === undefined ? others : { ...object, [key!]: value };
  }
  if (own !== undefined && !isObject(own)) throw new NotEditableError(`has a "${key}" that is no object`);
  if (own === undefined && value === undefined) return object;
  return { ...object, [key!]: withMember(own ?? {}, rest, value) };
}

function splice(text: string, path: readonly string[], value: unknown): string {
  const plain = plainJson(text);
  const unit = /^\s*\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  let at = skipSpace(plain, 0);
  for (const [depth, key] of path.entries()) {
    const members = membersAt(plain, at);
    const found = members.findLast((member) => member.key === key);
    const isLast = depth === path.length - 1;
    if (found === undefined) {
      if (value === undefined) return text;
      const made = path.slice(depth + 1).reduceRight((inner, name) => ({ [name]: inner }), value);
      return inserted(text, at, members, { key, value: made, unit, depth: depth + 1 });
    }
    if (isLast && value === undefined) return removed(text, at, members, found);
    if (isLast) {
      const shown = shownValue(value, unit, depth + 1);
      return text.slice(0, found.valueAt) + shown + text.slice(found.valueEnd);
    }
    at = found.valueAt;
  }
  return text;
}

const shownValue = (value: unknown, unit: string, depth: number): string =>
  JSON.stringify(value, null, unit).replaceAll('\n', `\n${unit.repeat(depth)}`);

interface Added {
  readonly key: string;
  readonly value: unknown;
  readonly unit: string;
  readonly depth: number;
}

function inserted(text: string, at: number, members: readonly Member[], added: Added): string {
  const { key, value, unit, depth } = added;
  const member = `${JSON.stringify(key)}: ${shownValue(value, unit, depth)}`;
  const last = members.at(-1);
  if (last !== undefined)
    return `${text.slice(0, last.valueEnd)},\n${unit.repeat(depth)}${member}${text.slice(last.valueEnd)}`;
  const close = skipSpace(text, at + 1);
  return `${text.slice(0, at + 1)}\n${unit.repeat(depth)}${member}\n${unit.repeat(depth - 1)}${text.slice(close)}`;
}

function removed(text: string, at: number, members: readonly Member[], gone: Member): string {
  const plain = plainJson(text);
  const index = members.indexOf(gone);
  const previous = members[index - 1];
  const next = members[index + 1];
  const [from, to] = [previous?.valueEnd ?? at + 1, next?.keyAt ?? gone.valueEnd];
  if (text.slice(from, to) !== plain.slice(from, to)) return removedBesideComments(text, plain, from, gone);
  if (previous !== undefined) return text.slice(0, previous.valueEnd) + text.slice(gone.valueEnd);
  if (next !== undefined) return text.slice(0, gone.keyAt) + text.slice(next.keyAt);
  return text.slice(0, at + 1) + text.slice(skipSpace(text, gone.valueEnd));
}

/** Takes only the member and one comma away. */
function removedBesideComments(text: string, plain: string, from: number, gone: Member): string {
  const comma = skipSpace(plain, gone.valueEnd);
  const before = text.slice(0, gone.keyAt).trimEnd();
  if (plain[comma] === ',') return before + text.slice(gone.valueEnd, comma) + text.slice(comma + 1);
  const earlier = plain.indexOf(',', from);
  const rest = text.slice(gone.valueEnd).replace(/^\s*,/, '');
  return earlier === -1 || earlier > gone.keyAt
    ? before + rest
    : before.slice(0, earlier) + before.slice(earlier + 1) + rest;
}

/** The members of the object that begins at a place of text that is JSON. */
function membersAt(text: string, open: number): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, open + 1);
  while (text[at] === '"') {
    const keyEnd = skipValue(text, at);
    const valueAt = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = skipValue(text, valueAt);
    members.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, keyAt: at, valueAt, valueEnd });
    const after = skipSpace(text, valueEnd);
    at = text[after] === ',' ? skipSpace(text, after + 1) : after;
  }
  return members;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at]!)) at += 1;
  return at;
}

/** The end of a value. */
function skipValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '"') {
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
      if (depth === 0) return at + 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
      if (depth < 0) return at;
    } else if (depth === 0 && (character === ',' || /\s/.test(character))) return at;
  }
  return text.length;
}
