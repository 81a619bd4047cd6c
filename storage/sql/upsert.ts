/** A statement that puts a row in the place of the one with its key, if there is one. */
export function upsert(table: string, key: readonly string[], columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ${replacing(key, columns)}`;
}

/** The end of an insertion that lets its row take the place of the one with its key. */
export function replacing(key: readonly string[], columns: readonly string[]): string {
  const others = columns.filter((column) => !key.includes(column));
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`;
}
