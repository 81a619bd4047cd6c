import { createHash } from 'node:crypto';
import type { Command, Query } from '../../../protocol/release.js';

/** What is asked of a store. Queries of a list tell one after the other. */
export type Step = Command | Query | readonly Query[];

/** Steps that follow each other in one database. */
export interface Scene {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** The row numbers and the sizes are each engine's own. */
const OWN = new Set(['rid', 'throughRid', 'db_size_bytes', 'used_bytes', 'file_bytes']);

/** Ids that are drawn; those of the scenes begin with zeros. */
const DRAWN = /^(?!00000000)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const SHOWN_MAX = 90;

/** An answer as text: its beginning, and the digest of the whole. */
export function toldOf(answer: unknown): string {
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (OWN.has(key)) return undefined;
    if (typeof value === 'string' && DRAWN.test(value)) return 'drawn';
    return ArrayBuffer.isView(value) ? Buffer.from(value.buffer as ArrayBuffer).toString('base64') : value;
  });
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX)}… ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
