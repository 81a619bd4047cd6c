import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { MnemeshError } from '../api.js';
import { adviceOn } from '../lib/advice.js';
import { addressOf } from '../lib/route.js';

/** What the page says to those who do not see it change. */
export const announcement = signal('');

export const announce = (text: string): void => {
  announcement.value = text;
};

/** An error with its code and what to do. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const known = error instanceof MnemeshError;
  const code = known ? error.code : 'INTERNAL';
  const pending = known && code === 'APPROVAL_PENDING';
  return (
    <div class={pending ? 'notice' : 'notice bad'} role="alert">
      <p>
        <code>{code}</code> {error instanceof Error ? error.message : String(error)}
      </p>
      <p>
        {adviceOn(code)} {pending && <a href={addressOf('approvals')}>Go to Approvals</a>}
      </p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="quiet" role="status">
    Reading {what} …
  </p>
);

export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="quiet">{children}</p>
);
