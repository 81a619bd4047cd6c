import { ASCII_WORD } from './tokens.js';

/** Runs of letters, digits and the marks on them: the words of a text for index and ranking. */

const WORD_LETTER = /^[\p{L}\p{N}\p{Co}]$/u;
const MARK = /^\p{M}$/u;

const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;

/** Bits of an ASCII code; 0 for a separator. */
const CLASS: Uint8Array = (() => {
  const table = new Uint8Array(128);
  for (let code = 0; code < 128; code++) {
    if (ASCII_WORD[code] === 0) continue;
    table[code] = code < 58 ? DIGIT : code < 91 ? UPPER : LOWER;
  }
  return table;
})();

/** Shorter words are not taken apart as compounds. */
const COMPOUND_LETTERS_MIN = 10;

/** UTF-16 units of the letter or mark at `index`; 0 at a separator. */
function wideUnitsAt(text: string, index: number, inside: boolean): number {
  const point = text.codePointAt(index) ?? 0;
  const letter = String.fromCodePoint(point);
  if (!WORD_LETTER.test(letter) && !(inside && MARK.test(letter))) return 0;
  return point > 0xffff ? 2 : 1;
}

/** Walks over the words of a text; `next` moves to the next one. */
export class WordScanner {
  readonly #text: string;
  /** The word that `next` found, in UTF-16 units. */
  start = 0;
  end = 0;
  ascii = true;
  /** The word has several parts: `parseUserToken`, `v2`. False for other letters than ASCII. */
  mixed = false;
  /** A long word that begins with a capital and goes on in small letters: most nouns of German that are compounds. */
  compound = false;

  constructor(text: string) {
    this.#text = text;
  }

  next(): boolean {
    const text = this.#text;
    const { length } = text;
    let index = this.end;
    let units = 0;
    while (index < length && units === 0) {
      const unit = text.charCodeAt(index);
      if (unit < 128) units = ASCII_WORD[unit] ?? 0;
      else units = wideUnitsAt(text, index, false);
      if (units === 0) index += 1;
    }
    if (units === 0) {
      this.end = length;
      return false;
    }
    this.start = index;
    this.#finish(index, units);
    return true;
  }

  #finish(start: number, units: number): void {
    const text = this.#text;
    const { length } = text;
    const first = text.charCodeAt(start);
    const begins = first < 128 ? (CLASS[first] ?? 0) : 0;
    let classes = 0;
    let ascii = first < 128;
    let index = start + units;
    while (index < length) {
      const unit = text.charCodeAt(index);
      if (unit < 128) {
        const kind = CLASS[unit] ?? 0;
        if (kind === 0) break;
        classes |= kind;
        index += 1;
        continue;
      }
      const more = wideUnitsAt(text, index, true);
      if (more === 0) break;
      ascii = false;
      index += more;
    }
    this.end = index;
    this.ascii = ascii;
    const all = classes | begins;
    const letters = (all & (LOWER | UPPER)) !== 0;
    this.mixed = (letters && (all & DIGIT) !== 0) || ((all & LOWER) !== 0 && (classes & UPPER) !== 0);
    this.compound =
      index - start >= COMPOUND_LETTERS_MIN &&
      classes === LOWER &&
      (begins === UPPER || (first >= 192 && first < 592 && isUpper(text[start] ?? '')));
  }
}

const isUpper = (letter: string): boolean => letter !== letter.toLowerCase();

/** How many letters make a gram in scripts that do not part words by spaces, or stick particles to them; else 0. */
export function gramSizeOf(code: number): number {
  if (code < 0x0e00) return 0;
  if (code < 0x0f00) return 3;
  if (code < 0x1000) return 0;
  if (code < 0x10a0 || (code >= 0x1780 && code < 0x1800)) return 3;
  if (code === 0x3005 || code === 0x3007) return 2;
  if ((code >= 0x3040 && code < 0x3100) || (code >= 0x31f0 && code < 0x3200)) return 2;
  if ((code >= 0x3400 && code < 0x4dc0) || (code >= 0x4e00 && code < 0xa000)) return 2;
  if ((code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00)) return 2;
  // Katakana of half width.
  if (code >= 0xff66 && code < 0xffa0) return 2;
  return code >= 0x20000 && code < 0x40000 ? 2 : 0;
}

/** A stretch of a word in scripts of one gram size; 0 for letters that make whole words. Grams are folded. */
export interface Stretch {
  readonly text: string;
  readonly gram: number;
}

/** Parts a word where its script changes between words and grams: `API` and `サーバー`; empty for a word without grams. */
export function stretchesOf(word: string): readonly Stretch[] {
  const stretches: { text: string; gram: number }[] = [];
  let last: { text: string; gram: number } | undefined;
  for (const letter of word) {
    const code = letter.codePointAt(0) ?? 0;
    // A mark belongs to the letter before it.
    const gram = last !== undefined && MARK.test(letter) ? last.gram : gramSizeOf(code);
    if (last !== undefined && last.gram === gram) last.text += letter;
    else {
      last = { text: letter, gram };
      stretches.push(last);
    }
  }
  if (!stretches.some(({ gram }) => gram > 0)) return [];
  return stretches.map(({ text, gram }) => ({ text: gram > 0 ? foldTerm(text) : text, gram }));
}

/** Letters without a decomposition that people also write in ASCII. */
const WRITTEN: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
};
/** Marks of Latin, Greek, Cyrillic, Hebrew and Arabic, and the Arabic stroke that only stretches a word. */
const DROPPED = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g;
/** The Cyrillic short i is a letter, not an accent. */
const SHORT_I = /\u0438\u0306/g;
const PLAIN = /^[\u3041-\u3096\u30a1-\u30fe\u3005\u3400-\u9fff\uac00-\ud7a3]+$/;
const SEPARATORS = /[^\p{L}\p{N}\p{M}\p{Co}]+/gu;
/** Combining marks of kana compose again. */
const DECOMPOSED = /[\u0300-\u036f\u0591-\u06ff]|[^\u0000-\u007f]/;

/** A word without case, accents and forms of width: what index and query compare. */
export function foldTerm(word: string): string {
  if (PLAIN.test(word)) return word;
  const lower = word.toLowerCase();
  if (!DECOMPOSED.test(lower)) return lower;
  let folded = '';
  for (const letter of lower.normalize('NFKC').toLowerCase()) {
    const code = letter.codePointAt(0) ?? 0;
    if (code < 128) folded += letter;
    else if (code < 0x780 || (code >= 0x1e00 && code < 0x2000)) folded += letter.normalize('NFD');
    else folded += letter;
  }
  folded = folded.replace(SHORT_I, 'й').replace(DROPPED, '').replace(SEPARATORS, '');
  return folded.replace(
    /[\u00df\u00e6\u0153\u00f8\u0111\u00f0\u00fe\u0142\u0127\u0131\u03c2]/g,
    (letter) => WRITTEN[letter] ?? letter,
  );
}

/** Words with more parts are codes and hashes, not names. */
const PARTS_MAX = 6;
const MIXED_LETTERS_MAX = 64;
const PART = /\p{Lu}{2,}s(?!\p{L})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{N}+/gu;

/** The folded parts of an identifier, in order: `parse`, `user`, `token`; none for a word of one part. */
export function partsOf(word: string): readonly string[] {
  if (word.length > MIXED_LETTERS_MAX) return [];
  const parts = word.match(PART) ?? [];
  if (parts.length < 2 || parts.length > PARTS_MAX) return [];
  return parts.map(foldTerm);
}

/** A part that says something by itself: more than one letter, or a number. */
export const isTellingPart = (part: string): boolean => part.length > 1 || /^\p{N}$/u.test(part);

/** The other spelling of a folded word with German umlauts: `mueller` for `Müller`; null without umlauts. */
export function umlautsWritten(word: string): string | null {
  if (!/[^\u0000-\u007f]/.test(word)) return null;
  const lower = word.toLowerCase().normalize('NFC');
  if (!/[\u00e4\u00f6\u00fc]/.test(lower)) return null;
  return foldTerm(lower.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue'));
}

const HEAD_LETTERS_MIN = 4;
/** The shortest end of a compound that is found by itself. */
export const TAIL_LETTERS_MIN = 4;
/** How a part of a compound begins: at most one consonant, or a cluster that words begin with, then a vowel. */
const BEGINS = /^(?:sch[lmnrw]?|s[pt]r?|[bfgkp][lr]|[dtv]r|kn|qu|pf|zw|[b-df-hj-np-tv-z])?[aeiouy]/;

/** The ends of a folded compound that may be words: `vertrag` of `wartungsvertrag`. */
export function tailsOf(folded: string): string[] {
  const tails: string[] = [];
  for (let at = HEAD_LETTERS_MIN; at + TAIL_LETTERS_MIN <= folded.length; at++) {
    const tail = folded.slice(at);
    if (BEGINS.test(tail)) tails.push(tail);
  }
  return tails;
}
