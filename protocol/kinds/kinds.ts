import type { Kind, Role } from './kind.js';

/** What an operation's word means: its kind and role. */
export interface Meaning {
  readonly kind: Kind;
  readonly role: Role;
}

/** A list of kinds, with look-ups by name and by word. */
export class Kinds {
  private readonly byName: ReadonlyMap<string, Kind>;
  private readonly byWord: ReadonlyMap<string, Meaning>;

  constructor(readonly all: readonly Kind[]) {
    this.byName = new Map(all.map((kind) => [kind.name, kind]));
    const words = all.flatMap((kind) =>
      Object.entries(kind.words).map(([word, role]) => [word, { kind, role }] as const),
    );
    this.byWord = new Map(words);
    if (this.byName.size < all.length || this.byWord.size < words.length) {
      throw new Error('two kinds share a name or a word');
    }
  }

  /** The kind with a name, which the caller took from this list. */
  of(name: string): Kind {
    const kind = this.byName.get(name);
    if (kind === undefined) throw new Error(`there is no kind "${name}"`);
    return kind;
  }

  /** The kind with a name; null when this release does not know it. */
  named(name: string): Kind | null {
    return this.byName.get(name) ?? null;
  }

  /** What an operation's word means; null when this release does not know it. */
  ofWord(word: string): Meaning | null {
    return this.byWord.get(word) ?? null;
  }
}
