/** True for `http(s)://host[:port]`, with no path, query, user or password. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const plain = url.pathname === '/' && url.search === '' && url.hash === '';
  return /^https?:$/.test(url.protocol) && plain && url.username === '' && url.password === '';
}

/** What is wrong with a base URL; it may hold a password, so it is never quoted. */
export function urlProblem(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'must be an http or https URL';
  }
  if (!['http:', 'https:'].includes(url.protocol)) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  return null;
}
