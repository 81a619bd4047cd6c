import { publicKeyProblem } from '../../../protocol/ed25519-admission.js';
import { publicKeyFromText, signatureFromText } from '../../../protocol/key-text.js';
import type { AuthorContext } from '../../../protocol/kinds/kind.js';
import { KINDS, type Kinds } from '../../../protocol/kinds/kinds.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../../../protocol/limits.js';
import type { Crypto } from '../../../protocol/seams.js';

/** Verifies what replicated payloads say of their authors, as their kinds declare it. */
export class AuthorJudge {
  readonly #context: AuthorContext;
  readonly #fit = new Map<string, Uint8Array | null>();

  constructor(
    crypto: Crypto,
    readonly kinds: Kinds = KINDS,
  ) {
    this.#context = { crypto, signatureFromText, keyFromText: (text) => this.#fitKey(text) };
  }

  /** False when a payload claims an author whose signature does not hold. Words of later releases claim nothing. */
  holds(word: string, payload: string): boolean {
    return this.kinds.ofWord(word)?.kind.authorHolds(payload, this.#context) ?? true;
  }

  /** Judging a key costs as much as several verifications, so verdicts are kept. */
  #fitKey(text: string): Uint8Array | null {
    const known = this.#fit.get(text);
    if (known !== undefined) return known;
    if (this.#fit.size >= PUBLIC_KEYS_IMPORTED_MAX) this.#fit.clear();
    const publicKey = publicKeyFromText(text);
    const fit = publicKey !== null && publicKeyProblem(publicKey) === null ? publicKey : null;
    this.#fit.set(text, fit);
    return fit;
  }
}
