import { signal } from '@preact/signals';
import { BASE, placeOf } from './lib/route.js';

export const place = signal(placeOf(location.pathname, location.search));

const moved = (): void => {
  place.value = placeOf(location.pathname, location.search);
};

/** Goes to an address of the console. */
export function go(address: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace === true) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  moved();
}

addEventListener('popstate', moved);

/** Links of the console change the view without loading the page again. */
document.addEventListener('click', (event) => {
  const link = (event.target as Element | null)?.closest?.('a');
  if (link === null || link === undefined || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE) || link.hash !== '') return;
  event.preventDefault();
  go(url.pathname + url.search);
  const main = document.getElementById('main');
  main?.focus();
  main?.scrollTo(0, 0);
});
