/** Characters that show as nothing, by which a secret can be hidden from the rules and still be read. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}+/gu;

/** A text as people see it, and where each of its characters stands in the whole text. */
export interface SeenText {
  readonly text: string;
  /** One place for each character of `text`. */
  readonly places: readonly number[];
}

export const hasUnseen = (text: string): boolean => text.search(UNSEEN) >= 0;

/** The text without its unseen characters; null for a text that has none, nearly always. */
export function seenText(whole: string): SeenText | null {
  if (!hasUnseen(whole)) return null;
  const places: number[] = [];
  let text = '';
  let at = 0;
  for (const { index, 0: unseen } of [...whole.matchAll(UNSEEN), { index: whole.length, 0: '' }]) {
    text += whole.slice(at, index);
    for (; at < index; at += 1) places.push(at);
    at = index + unseen.length;
  }
  return { text, places };
}
