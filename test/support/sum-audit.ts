import { systemCrypto } from '../../node/seams.js';
import type { Connection } from '../../storage/sql/connection.js';
import { type KindFacts, MEMORY } from './kind-facts.js';
import type { StoredRow } from './stored-rows.js';

/**
 * The bytes of each holder and namespace are the sum over its memories (title, content and metadata) and over the texts of
 * its records of charged kinds.
 */
export function auditQuotas(
  db: Connection,
  rows: readonly StoredRow[],
  kinds: readonly KindFacts[],
): string[] {
  const held = new Map<string, number>();
  for (const stored of rows) {
    const { owner, texts } = chargedOf(stored, kinds);
    if (typeof owner !== 'string') continue;
    const key = `${holderOf(owner)} ${stored.namespace}`;
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    held.set(key, (held.get(key) ?? 0) + bytes);
  }
  const problems: string[] = [];
  const uses = db
    .prepare('SELECT agent_id, namespace, current_storage_bytes AS bytes FROM agent_quotas')
    .all();
  for (const use of uses as { agent_id: string; namespace: string; bytes: number }[]) {
    const key = `${use.agent_id} ${use.namespace}`;
    const expected = held.get(key) ?? 0;
    if (use.bytes !== expected)
      problems.push(`quota of ${key} says ${use.bytes} bytes, its rows have ${expected}`);
    held.delete(key);
  }
  for (const key of held.keys()) problems.push(`${key} has rows and no quota`);
  return problems;
}

/** Who pays for a row, and for which texts. */
function chargedOf(
  { kind, row, text }: StoredRow,
  kinds: readonly KindFacts[],
): { readonly owner: unknown; readonly texts: readonly string[] } {
  if (kind === MEMORY.name) {
    const metadata = JSON.parse(String(row['metadata'])) as Record<string, unknown>;
    const texts = [String(row['title']), String(row['content']), JSON.stringify(metadata)];
    return { owner: metadata['agent_id'], texts };
  }
  const member = kinds.find(({ name }) => name === kind)?.charged ?? null;
  return {
    owner: member === null ? null : (JSON.parse(text) as Record<string, unknown>)[member],
    texts: [text],
  };
}

/** Ids that the service made for a process or a request share a quota (docs/decisions/identity.md). */
function holderOf(agent: string): string {
  const made = /^(.*:pid-)\d+(-[0-9a-f]{8})?$/.exec(agent) ?? /^(.*:req-)[0-9a-f]{8}$/.exec(agent);
  return made === null ? agent : `${made[1]}*`;
}

/** The digest of each kind and namespace is the sum (exclusive or) over its rows, and says how many there are. */
export function auditDigests(db: Connection, stored: readonly StoredRow[]): string[] {
  const sums = new Map<string, { readonly sum: Buffer; entries: number }>();
  for (const { kind, namespace, subject, text } of stored) {
    const key = `${kind} in ${namespace}`;
    const entry = sums.get(key) ?? { sum: Buffer.alloc(32), entries: 0 };
    const digest = systemCrypto.sha256(`${subject}\n${text}`);
    for (let i = 0; i < 32; i += 1) entry.sum[i] = entry.sum[i]! ^ digest[i]!;
    entry.entries += 1;
    sums.set(key, entry);
  }
  const problems: string[] = [];
  const rows = db.prepare('SELECT kind, namespace, digest, entries FROM namespace_digests').all();
  type Digest = { kind: string; namespace: string; digest: Buffer; entries: number };
  for (const { kind, namespace, digest, entries } of rows as Digest[]) {
    const key = `${kind} in ${namespace}`;
    const due = sums.get(key);
    if (due?.sum.equals(digest) !== true || due.entries !== entries)
      problems.push(`the digest of ${key} is not that of its rows`);
    sums.delete(key);
  }
  for (const key of sums.keys()) problems.push(`${key} has rows and no digest`);
  return problems;
}
