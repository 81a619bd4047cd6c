/** The address of a node; null for a text that is none, or holds a password. */
export function nodeAddress(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  return url.username === '' && url.password === '' && url.search === '' ? url : null;
}
