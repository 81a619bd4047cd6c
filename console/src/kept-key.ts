import { halvesOf, joined } from './lib/sealed.js';

const NAME = 'mnemesh.key';

/**
 * The key of a tab outlives a reload and nothing more. Browsers write what a tab stores to the disk, where it stays after
 * the tab is closed; so the tab stores one half, and the other is in a cookie of the session, which is in memory alone
 * and says nothing by itself.
 */
export function keptKey(): string {
  const [id = '', sealed = ''] = (sessionStorage.getItem(NAME) ?? '').split('.');
  const pad = cookieOf(id);
  return pad === null ? '' : (joined({ sealed, pad }) ?? '');
}

export function keepKey(key: string): void {
  const [id = ''] = (sessionStorage.getItem(NAME) ?? '').split('.');
  if (id !== '') setCookie(id, '', '; max-age=0');
  sessionStorage.removeItem(NAME);
  if (key === '') return;
  const fresh = String(crypto.getRandomValues(new Uint32Array(2)).join('-'));
  const { sealed, pad } = halvesOf(key, (bytes) => crypto.getRandomValues(bytes));
  setCookie(fresh, pad, '');
  sessionStorage.setItem(NAME, `${fresh}.${sealed}`);
}

function cookieOf(id: string): string | null {
  const begin = `mnemesh-${id}=`;
  const found = document.cookie.split('; ').find((each) => each.startsWith(begin));
  return found === undefined ? null : found.slice(begin.length);
}

function setCookie(id: string, value: string, more: string): void {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the other way to set one needs HTTPS
  document.cookie = `mnemesh-${id}=${value}; path=/console; samesite=strict${secure}${more}`;
}
