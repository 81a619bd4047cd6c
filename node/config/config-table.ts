/** A TOML table as the parser hands it out. */
export type Table = Readonly<Record<string, unknown>>;

/** Version of the sectioned form (interface §2.12). */
export const CONFIG_SCHEMA_VERSION = 2;

/** Sections that must say where their key is, and may not hold it. */
export const SECRET_SECTIONS: readonly string[] = [
  'llm',
  'llm.auto_tag',
  'embeddings',
  'reranker',
  'telemetry',
];

/** The value at a dotted key; undefined where there is none. */
export function valueAt(values: Table, dotted: string): unknown {
  let value: unknown = values;
  for (const part of dotted.split('.')) {
    if (!isTable(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
