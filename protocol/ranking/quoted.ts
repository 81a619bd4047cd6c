/** A word as an FTS5 string: the index reads it as text, whatever it contains. */
export const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
