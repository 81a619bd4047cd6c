import { publicKeyFromText, signatureFromText } from '../base/key-text.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../base/limits.js';
import type { Crypto } from '../base/seams.js';
import { type AuthorContext, type AuthorVerdict, NO_AUTHOR } from '../kinds/kind.js';
import type { Kinds } from '../kinds/kinds.js';

/** Says why a public key is refused, or null: `publicKeyProblem`, which loads a curve that few processes need. */
export type KeyProblem = (publicKey: Uint8Array) => string | null;

/** Verifies what replicated payloads say about their authors, as their kinds declare. */
export class AuthorVerifier {
  private readonly context: AuthorContext;
  /** Keys that are fit to sign, by their texts; null for unfit keys. */
  private readonly fit = new Map<string, Uint8Array | null>();

  constructor(
    crypto: Crypto,
    private readonly keyProblem: KeyProblem,
    private readonly kinds: Kinds,
  ) {
    this.context = { crypto, signatureFromText, keyFromText: (text) => this.fitKey(text) };
  }

  /** Verifies the author that a payload claims. A word of a later release claims no author. */
  verify(word: string, payload: string): AuthorVerdict {
    return this.kinds.ofWord(word)?.kind.author(payload, this.context) ?? NO_AUTHOR;
  }

  /** Checking a key costs as much as several verifications, so the outcome is cached. */
  private fitKey(text: string): Uint8Array | null {
    const known = this.fit.get(text);
    if (known !== undefined) return known;
    if (this.fit.size >= PUBLIC_KEYS_IMPORTED_MAX) this.fit.clear();
    const publicKey = publicKeyFromText(text);
    const fit = publicKey !== null && this.keyProblem(publicKey) === null ? publicKey : null;
    this.fit.set(text, fit);
    return fit;
  }
}
