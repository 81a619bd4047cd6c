/** The end of a passage that leaves out so many characters of its text. */
export const cutMark = (characters: number): string => `[+${characters}]`;
