/**
 * True when a pattern covers a text. `*` stands for any letters of one `/` segment, `**` for any letters. It takes at most
 * the product of both lengths.
 */
export function covers(pattern: string, text: string): boolean {
  const parts = pattern.split(/(\*\*|\*)/).filter((part) => part !== '');
  // The places of the text that the parts so far can end at.
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    if (part === '*' || part === '**') {
      const from = Math.min(...ends);
      for (let at = from, open = false; at <= text.length; at += 1) {
        open ||= ends.has(at);
        if (open) next.add(at);
        if (part === '*' && text[at] === '/') open = false;
      }
    } else {
      for (const at of ends) if (text.startsWith(part, at)) next.add(at + part.length);
    }
    if (next.size === 0) return false;
    ends = next;
  }
  return ends.has(text.length);
}

/** How exact a pattern is: the letters before its first star. */
export const literalLength = (pattern: string): number =>
  pattern.includes('*') ? pattern.indexOf('*') : pattern.length;
