/**
 * The Porter stemmer (M. F. Porter, "An algorithm for suffix stripping", 1980, with the author's later `logi` and
 * `bli`), equal to the `porter` tokenizer of FTS5; a test compares the two.
 */

/** FTS5 does not stem tokens outside these byte lengths. */
const STEMMED_LENGTH_MIN = 3;
const STEMMED_LENGTH_MAX = 64;

const isVowel = (word: string, index: number): boolean => {
  switch (word.charCodeAt(index)) {
    case 97:
    case 101:
    case 105:
    case 111:
    case 117:
      return true;
    case 121:
      return index > 0 && !isVowel(word, index - 1);
    default:
      return false;
  }
};

/** Porter's m, the number of vowel-consonant sequences, counted up to 2. */
function measure(stem: string): number {
  let count = 0;
  let previousVowel = false;
  for (let index = 0; index < stem.length && count < 2; index++) {
    const vowel = isVowel(stem, index);
    if (previousVowel && !vowel) count += 1;
    previousVowel = vowel;
  }
  return count;
}

function hasVowel(stem: string): boolean {
  for (let index = 0; index < stem.length; index++) if (isVowel(stem, index)) return true;
  return false;
}

/** Porter's *o: ends consonant, vowel, consonant, and the last is not w, x or y. */
function endsShort(stem: string): boolean {
  const last = stem.length - 1;
  if (last < 2 || 'wxy'.includes(stem.charAt(last))) return false;
  return !isVowel(stem, last) && isVowel(stem, last - 1) && !isVowel(stem, last - 2);
}

type Rule = readonly [suffix: string, replacement: string];

/** Longest suffix first, so that the first that fits is Porter's longest match. */
const longestFirst = (rules: readonly Rule[]): readonly Rule[] =>
  [...rules].sort((left, right) => right[0].length - left[0].length);

const STEP_2 = longestFirst([
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
]);

const STEP_3 = longestFirst([
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]);

const STEP_4 = longestFirst(
  ['al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize'].flatMap((list) =>
    list.split(' ').map((suffix): Rule => [suffix, '']),
  ),
);

function replaceSuffix(word: string, rules: readonly Rule[], measureMin: number): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix) || word.length === suffix.length) continue;
    const stem = word.slice(0, word.length - suffix.length);
    if (measure(stem) < measureMin) return word;
    if (suffix === 'ion' && !/[st]$/.test(stem)) return word;
    return stem + replacement;
  }
  return word;
}

function stepPlural(word: string): string {
  if (word.length > 4 && word.endsWith('sses')) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('ies')) return word.slice(0, -2);
  if (word.endsWith('s') && !word.endsWith('ss')) return word.slice(0, -1);
  return word;
}

function stepPast(word: string): string {
  if (word.length > 3 && word.endsWith('eed'))
    return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  let stem = '';
  if (word.endsWith('ed')) stem = word.slice(0, -2);
  else if (word.endsWith('ing')) stem = word.slice(0, -3);
  if (stem === '' || !hasVowel(stem)) return word;
  if (stem.endsWith('at') || stem.endsWith('bl') || stem.endsWith('iz')) return `${stem}e`;
  const last = stem.length - 1;
  const double = last > 0 && stem[last] === stem[last - 1] && !/[aeioulsz]$/.test(stem);
  if (double) return stem.slice(0, -1);
  if (measure(stem) === 1 && endsShort(stem)) return `${stem}e`;
  return stem;
}

function stepFinal(word: string): string {
  let result = word;
  if (result.endsWith('e')) {
    const stem = result.slice(0, -1);
    const count = measure(stem);
    if (count > 1 || (count === 1 && !endsShort(stem))) result = stem;
  }
  if (result.endsWith('ll') && measure(result.slice(0, -1)) > 1) result = result.slice(0, -1);
  return result;
}

/** The stem of a folded word (see `foldWord`). */
export function stemOf(word: string): string {
  if (word.length < STEMMED_LENGTH_MIN || word.length > STEMMED_LENGTH_MAX) return word;
  let stem = stepPast(stepPlural(word));
  if (stem.endsWith('y') && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = replaceSuffix(stem, STEP_2, 1);
  stem = replaceSuffix(stem, STEP_3, 1);
  stem = replaceSuffix(stem, STEP_4, 2);
  return stepFinal(stem);
}
