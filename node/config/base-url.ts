/** True for `http(s)://host[:port]`, with no path, query, user or password. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const plain = url.pathname === '/' && url.search === '' && url.hash === '';
  return /^https?:$/.test(url.protocol) && plain && url.username === '' && url.password === '';
}
