/**
 * A line of JSON as it may be shown: the values that are not in our own text are masked, because the line may be one of
 * another program, with its keys. Values of an open key are shown.
 */
export function maskedLine(line: string, own: string, openKey: string | null): string {
  let key = '';
  return line.replace(/("(?:[^"\\]|\\.)*")(\s*:)?/g, (token, text: string, colon?: string) => {
    const isOpen = openKey !== null && key === JSON.stringify(openKey);
    key = colon === undefined ? '' : text;
    return colon !== undefined || isOpen || own.includes(text) ? token : '"…"';
  });
}
