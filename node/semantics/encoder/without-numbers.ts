const NUMBER = /\p{N}[\p{N}.,:/-]*\p{N}|\p{N}/gu;

/**
 * The text with one word for every number, date and version. Numbers move a vector more than they mean: of two notes that
 * differ in a quantity the wrong one would be found. Exact numbers are found by the words.
 */
export const withoutNumbers = (text: string): string => text.replace(NUMBER, 'number');
