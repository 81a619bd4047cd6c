import { fail, ok, type Result } from '../../protocol/base/result.js';

/** The words of a line, as a shell splits them: quotes keep spaces, a backslash keeps the next character. */
export function wordsOf(line: string): Result<readonly string[]> {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let index = 0; index < line.length; index += 1) {
    const character = line[index]!;
    if (character === '\\' && quote !== "'" && index + 1 < line.length) {
      word = (word ?? '') + line[++index]!;
    } else if (quote !== null) {
      if (character === quote) quote = null;
      else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== null) return fail('INVALID_ARGUMENT', `a ${quote} is not closed`);
  return ok(word === null ? words : [...words, word]);
}
