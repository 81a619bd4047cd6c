/** True for `http(s)://host[:port]`, with nothing that would get lost. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const plain = url.pathname === '/' && url.search === '' && url.hash === '';
  return /^https?:$/.test(url.protocol) && plain && url.username === '' && url.password === '';
}
