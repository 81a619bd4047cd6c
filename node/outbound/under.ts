/** The endpoint under a base URL, whose query stays. A base URL that has a path already says where the version is. */
export function under(base: URL, path: string, rootPath: string): URL {
  const url = new URL(base);
  const root = url.pathname.replace(/\/+$/, '');
  url.pathname = `${root === '' ? rootPath : root}${path}`;
  return url;
}
