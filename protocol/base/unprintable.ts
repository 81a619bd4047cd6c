/** What ends a line for some reader, steers a terminal, or turns the direction of the text around it. */
export const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text with each such character as `\uXXXX`, except those in `kept`. JSON with such a text keeps its value. */
export function escapeUnprintable(text: string, kept = ''): string {
  return text.replace(UNPRINTABLE, (character) =>
    kept.includes(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
