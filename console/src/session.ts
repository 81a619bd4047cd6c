import { effect, signal } from '@preact/signals';
import { keepKey, keptKey } from './kept-key.js';

/** What the tab keeps until it is closed. Nothing of it is in an address or outlives the session. */
function kept(name: string) {
  const value = signal(sessionStorage.getItem(name) ?? '');
  effect(() => {
    if (value.value === '') sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, value.value);
  });
  return value;
}

/** The API key of the node; empty where it has none. */
export const apiKey = signal(keptKey());
effect(() => keepKey(apiKey.value));

/** Who looks; empty for nobody, who sees what is open to all. */
export const agent = kept('mnemesh.agent');
/** `light` or `dark`; empty for what the system prefers. */
export const theme = kept('mnemesh.theme');

/** True while the page asks for the key. */
export const askForKey = signal(false);
/** True when the node refused the key that it was given. */
export const wasRefused = signal(false);

/** The node refuses a call: it demands a key, or another one. */
export function keyWasRefused(): void {
  wasRefused.value = apiKey.value !== '';
  askForKey.value = true;
}

effect(() => {
  if (theme.value === '') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
});
