import type { Configuration } from './load-settings.js';
import { Secret } from './secret.js';
import { SETTINGS } from './settings.js';
import { shownUrl } from './shown-url.js';

/** A setting as `config show` and `doctor` show it: never a secret's value, nor the query of an address. */
export interface DescribedSetting {
  readonly key: string;
  /** What the program holds; `[redacted]` for a secret that is set. */
  readonly value: unknown;
  readonly source: 'flag' | 'environment' | 'file' | 'legacy' | 'mesh' | 'default';
  /** The flag, variable or key that it came from. */
  readonly name: string | null;
  readonly variable: string | null;
  readonly config: string | null;
}

/** All settings of a configuration, in the order of the documentation. */
export function describeSettings({ settings, origins }: Configuration): DescribedSetting[] {
  return SETTINGS.map((row) => {
    const value = settings[row.key];
    const origin = origins.get(row.key) ?? { source: 'default' as const, name: null };
    return {
      key: row.key,
      value: shownValue(value),
      ...origin,
      variable: row.env ?? null,
      config: row.config ?? null,
    };
  });
}

function shownValue(value: unknown): unknown {
  if (value instanceof Secret) return value.toJSON();
  if (Array.isArray(value)) return value.map(shownValue);
  return typeof value === 'string' ? shownUrl(value) : value;
}
