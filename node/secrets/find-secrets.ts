import { apart, type FoundSecret } from './found-secret.js';
import { libraryFinds } from './library-rules.js';
import { ownFinds } from './own-rules.js';

/** The secrets in a text, in order and apart. It loads the library, so it is imported when a text may hold one. */
export const findSecrets = (text: string): readonly FoundSecret[] =>
  apart([...ownFinds(text), ...libraryFinds(text)]);
