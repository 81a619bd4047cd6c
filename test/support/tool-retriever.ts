/**
 * A simple search over tools, as hosts with many tools make one: BM25 (k1 1.2, b 0.75) over the words of each name and
 * description. A word loses a usual English ending, and keeps five letters at most.
 */

interface Searched {
  readonly name: string;
  readonly description: string;
}

const STOP = new Set(
  'a an and are as at be by do does did for from has have i in is it me my no not of on or our so that the then there this to was we were with you your'.split(
    ' ',
  ),
);

const K1 = 1.2;
const B = 0.75;

const stem = (word: string): string => {
  const bare = word.replace(/(?:ies|ied)$/u, 'y').replace(/(?:ing|ed|es|s|e|y)$/u, '');
  return (bare.length < 3 ? word : bare).slice(0, 5);
};

const wordsOf = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !STOP.has(word)).map(stem);

/** Ranks tools for a text; the result is their names, best first, without those that share no word with it. */
export function toolRetriever(tools: readonly Searched[]): (text: string) => readonly string[] {
  const documents = tools.map(({ name, description }) => ({
    name,
    words: wordsOf(`${name.replaceAll('_', ' ')} ${description}`),
  }));
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length;
  const having = new Map<string, number>();
  for (const { words } of documents) {
    for (const word of new Set(words)) having.set(word, (having.get(word) ?? 0) + 1);
  }
  const rarity = (word: string): number => {
    const count = having.get(word) ?? 0;
    return Math.log(1 + (documents.length - count + 0.5) / (count + 0.5));
  };
  return (text) => {
    const query = new Set(wordsOf(text));
    return documents
      .map(({ name, words }) => {
        const length = K1 * (1 - B + (B * words.length) / average);
        let score = 0;
        for (const word of query) {
          const count = words.filter((each) => each === word).length;
          if (count > 0) score += (rarity(word) * count * (K1 + 1)) / (count + length);
        }
        return { name, score };
      })
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
      .map(({ name }) => name);
  };
}
