import * as limits from '../../protocol/base/limits.js';
import { characters, utf8Bytes, utf8Prefix } from '../../protocol/base/utf8.js';
import { cleaned, oneLine } from '../mine/conversation.js';

/** Longest title that is made from a text, in bytes. */
const MADE_TITLE_BYTES_MAX = 80;

/** The text of a source as a memory holds it. */
export const contentOf = (text: string): string => cleaned(text).trim();

/** A title as a memory holds it: on one line, cut where it is too long. */
export function titleOf(title: string | null, content: string): string {
  const line = oneLine(title ?? '').normalize('NFC');
  if (line === '') return madeTitle(content);
  return characters(line) <= TITLE_MAX ? line : `${[...line].slice(0, TITLE_MAX - 1).join('')}…`;
}

/** Room for ` (2)` and ` (part 2 of 3)` at the end of a title. */
const TITLE_MAX = limits.TITLE_LENGTH_MAX - 40;

/** The first line of a text, without the marks of Markdown; cut between two words. */
export function madeTitle(content: string): string {
  const first = content.split('\n').find((line) => /[\p{L}\p{N}]/u.test(line)) ?? content;
  const line = oneLine(first.replace(/^[\s>#*+-]+(?=\S)/, '')).normalize('NFC');
  if (utf8Bytes(line) <= MADE_TITLE_BYTES_MAX) return line;
  const cut = utf8Prefix(line, MADE_TITLE_BYTES_MAX);
  const words = cut.replace(/\s+\S*$/, '');
  return `${(words.length > MADE_TITLE_BYTES_MAX / 3 ? words : cut).trim()}…`;
}

/** Tags as a memory holds them: without `#`, each once, as many and as long as it takes. */
export function tagsOf(tags: readonly string[]): string[] {
  const kept = tags
    .map((tag) => utf8Prefix(oneLine(tag).normalize('NFC').replace(/^#+/, ''), limits.TAG_BYTES_MAX).trim())
    .filter((tag) => tag !== '');
  return [...new Set(kept)].slice(0, limits.TAGS_MAX);
}

/** Texts of a member that is a list, or one text with commas or semicolons between them. */
export function listOf(value: unknown): string[] {
  if (typeof value === 'number') return [String(value)];
  if (typeof value === 'string') return value.split(/[,;]/).map((part) => part.trim());
  if (!Array.isArray(value)) return [];
  return value.filter((part) => typeof part === 'string' || typeof part === 'number').map(String);
}

/** A text in parts that each fit into a memory; cut between paragraphs, lines or words where one is near. */
export function partsOf(content: string): string[] {
  const parts: string[] = [];
  let rest = content;
  while (utf8Bytes(rest) > limits.CONTENT_BYTES_MAX) {
    const most = utf8Prefix(rest, limits.CONTENT_BYTES_MAX);
    const at = [most.lastIndexOf('\n\n'), most.lastIndexOf('\n'), most.lastIndexOf(' ')].find(
      (place) => place > most.length / 2,
    );
    const part = at === undefined ? most : most.slice(0, at);
    parts.push(part.trim());
    rest = rest.slice(part.length).trim();
  }
  return [...parts, rest].filter((part) => part !== '');
}
