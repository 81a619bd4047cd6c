import { SECRET_MODES, type SecretMode, type SecretOutcome } from '../../protocol/policies/secret-modes.js';
import { literalLength, matchesGlob } from '../../protocol/rules/glob.js';
import type { SecretRule } from '../config/secret-rule.js';
import type { FoundSecret } from './found-secret.js';
import {
  fieldOf,
  namespaceAround,
  type Path,
  placeIn,
  redactedText,
  type SuspectText,
  suspectTexts,
} from './texts.js';

/** The settings that say what happens with secrets. */
export interface SecretSettings {
  readonly secretsMode: SecretMode;
  readonly secretsNamespaces: readonly SecretRule[];
}

/** A text with secrets. */
export interface FoundText {
  readonly path: Path;
  /** The place as people read it. */
  readonly field: string;
  /** What its secrets are. */
  readonly kinds: readonly string[];
  /** The namespace that the value itself names for it; null where it names none. */
  readonly namespace: string | null;
  /** The text without its secrets; null for a name, which stays as it is. */
  readonly redacted: string | null;
}

type Find = (text: string) => readonly FoundSecret[];

/**
 * Looks for secrets in what is stored. A text passes one regular expression first; the rules, and the library that has
 * them, are loaded with the first text that it stops.
 */
export class Screen {
  /** True where some namespace has another mode than `off`. */
  readonly isOn: boolean;
  readonly #settings: SecretSettings;
  readonly #strictest: SecretMode;
  readonly #count: ((kind: string, outcome: SecretOutcome) => void) | undefined;
  #find: Find | null = null;

  constructor(settings: SecretSettings, count?: (kind: string, outcome: SecretOutcome) => void) {
    const modes = [settings.secretsMode, ...settings.secretsNamespaces.map(({ mode }) => mode)];
    this.#settings = settings;
    this.#strictest = modes.reduce((one, other) => (rank(other) > rank(one) ? other : one));
    this.#count = count;
    this.isOn = this.#strictest !== 'off';
  }

  /** True where a text that may lie in one namespace may not lie in another one. */
  isStricter(to: string, from: string | null): boolean {
    return rank(this.modeOf(to)) > (from === null ? 0 : rank(this.modeOf(from)));
  }

  /** True where namespaces differ. */
  get hasNamespaces(): boolean {
    return this.#settings.secretsNamespaces.length > 0;
  }

  /** The mode of a namespace; of one that is not known, the strictest that the settings name. */
  modeOf(namespace: string | null): SecretMode {
    if (namespace === null) return this.#strictest;
    const { secretsMode, secretsNamespaces } = this.#settings;
    const [first] = secretsNamespaces
      .filter(({ namespacePattern }) => matchesGlob(namespacePattern, namespace))
      .toSorted((a, b) => literalLength(b.namespacePattern) - literalLength(a.namespacePattern));
    return first?.mode ?? secretsMode;
  }

  /** Loads the rules. */
  async load(): Promise<void> {
    this.#find ??= (await import('./find-secrets.js')).findSecrets;
  }

  /** The texts of a value that hold secrets. */
  async look(value: unknown): Promise<readonly FoundText[]> {
    const suspects = suspectTexts(value);
    if (suspects.length === 0) return [];
    await this.load();
    return this.#found(value, suspects);
  }

  /** The same at once, after `load`. */
  lookNow(value: unknown): readonly FoundText[] {
    return this.#found(value, suspectTexts(value));
  }

  /** Counts what became of secrets. */
  count(found: readonly Pick<FoundText, 'kinds'>[], outcome: SecretOutcome): void {
    for (const { kinds } of found) for (const kind of kinds) this.#count?.(kind, outcome);
  }

  #found(value: unknown, suspects: readonly SuspectText[]): readonly FoundText[] {
    if (suspects.length === 0) return [];
    const find = this.#find;
    if (find === null) throw new Error('the rules for secrets are not loaded');
    return suspects.flatMap((suspect) => {
      const found = find(suspect.text).filter(({ to }) => placeIn(suspect.unseen, to - 1) >= suspect.lead);
      if (found.length === 0) return [];
      const { path, isName } = suspect;
      return [
        {
          path,
          field: isName ? `a name in ${fieldOf(path) || 'the request'}` : fieldOf(path),
          kinds: [...new Set(found.map(({ kind }) => kind))],
          namespace: namespaceAround(value, path),
          redacted: isName ? null : redactedText(suspect, found),
        },
      ];
    });
  }
}

const rank = (mode: SecretMode): number => SECRET_MODES.indexOf(mode);
