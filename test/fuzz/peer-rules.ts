import { createHash, createPublicKey, verify } from 'node:crypto';
import { writeEnvelopeBytes } from '../../protocol/identity/write-envelope.js';
import type { Connection } from '../../storage/sql/connection.js';
import { agentKey, signedStoreBody } from '../support/signing.js';
import { openBeside } from '../support/test-store.js';
import { holds, type MeshTarget } from './mesh-target.js';
import { markOf } from './peer-messages.js';

/** Only the node itself writes here; the scoped member may not even read it. */
export const FORBIDDEN_NAMESPACE = 'secret/s';

/** What the node itself wrote before anybody else: ids that a scope forbids, and ids that it permits. */
export async function ownMemories(base: string): Promise<{ forbidden: string[]; shared: string[] }> {
  const victim = agentKey('ai:victim');
  const post = async (path: string, body: object, method = 'POST', as = 'ai:victim') => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': as };
    const response = await fetch(`${base}${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
    return (JSON.parse(text) as { id?: string }).id ?? '';
  };
  await post('/agents', { agent_id: 'ai:victim', agent_type: 'ai:coder' });
  await post('/agents/ai:victim/pubkey', { pubkey_b64: victim.publicKeyText }, 'PUT', 'ai:root');
  const store = (namespace: string, title: string) => {
    const fields = { title, content: `${title} of the node`, namespace };
    return post('/memories', signedStoreBody(victim, fields, new Date().toISOString()));
  };
  const forbidden: string[] = [];
  const shared: string[] = [];
  for (let count = 0; count < 8; count += 1) {
    forbidden.push(await store(FORBIDDEN_NAMESPACE, `secret ${count}`));
    shared.push(await store('team/a', `shared ${count}`), await store('open/x', `open ${count}`));
  }
  return { forbidden, shared };
}

interface Row {
  readonly id: string;
  readonly namespace: string;
  readonly title: string;
  readonly memory_kind: string;
  readonly content: string;
  readonly metadata: string;
  readonly write_signature: string | null;
}

interface ForbiddenRow {
  readonly id: string;
}

/**
 * What a database holds against the rules: operations and rows of the scoped member outside its scope, attested rows
 * without the signature, and changes of what only the node itself writes.
 */
export function meshProblems(mesh: MeshTarget, forbiddenBefore: string | null) {
  const db = openBeside({ path: mesh.target.path });
  try {
    const problems: string[] = [];
    for (const member of mesh.hostile) {
      const applied = db
        .prepare(
          "SELECT origin, origin_seq, kind, namespace FROM operations WHERE origin LIKE ? AND parked IS NULL AND kind <> 'epoch'",
        )
        .all(`${member.peer.peerId}/%`) as { namespace: string }[];
      for (const each of applied)
        if (!holds(member, each.namespace)) problems.push(`applied: ${JSON.stringify(each)}`);
      for (const table of ['memories', 'archived_memories']) {
        const rows = db
          .prepare(`SELECT id, namespace FROM ${table} WHERE instr(content, ?) > 0 OR instr(title, ?) > 0`)
          .all(markOf(member), markOf(member)) as Row[];
        for (const row of rows)
          if (!holds(member, row.namespace)) problems.push(`${table}: ${JSON.stringify(row)}`);
      }
    }
    const attested = db
      .prepare("SELECT * FROM memories WHERE metadata ->> '$.attest_level' = 'agent_attested'")
      .all() as Row[];
    for (const row of attested)
      if (!isSigned(row)) problems.push(`attested without a signature: ${JSON.stringify(row)}`);
    const rows = db
      .prepare(
        'SELECT id, title, content, metadata, version, origin, origin_seq FROM memories WHERE namespace = ? ORDER BY id',
      )
      .all(FORBIDDEN_NAMESPACE) as ForbiddenRow[];
    problems.push(...changedRows(db, forbiddenBefore, rows));
    const forbiddenRows = JSON.stringify(rows);
    return { problems, forbiddenRows };
  } finally {
    db.close();
  }
}

/**
 * Rows of the forbidden namespace that were written, changed or removed since: each with every operation on it, so that a
 * run shows where the change came from.
 */
function changedRows(db: Connection, before: string | null, rows: readonly ForbiddenRow[]): string[] {
  if (before === null) return [];
  const was = new Map((JSON.parse(before) as ForbiddenRow[]).map((row) => [row.id, JSON.stringify(row)]));
  const is = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
  const changed = [...new Set([...was.keys(), ...is.keys()])].filter((id) => was.get(id) !== is.get(id));
  const operationsOn = db.prepare('SELECT * FROM operations WHERE subject = ? ORDER BY commit_sequence');
  return changed.map(
    (id) =>
      `forbidden row ${id} was ${was.get(id)} and is ${is.get(id)}: ${JSON.stringify(operationsOn.all(id))}`,
  );
}

/** True when the signature in a row is one over its fields, by the key in the row. */
function isSigned({ namespace, title, memory_kind: kind, content, metadata, write_signature }: Row): boolean {
  const { agent_id: agentId } = JSON.parse(metadata) as { agent_id: string };
  const signed = JSON.parse(write_signature ?? '{}') as Record<string, string>;
  const contentSha256 = createHash('sha256').update(content).digest();
  const createdAt = signed['created_at'] ?? '';
  const bytes = writeEnvelopeBytes({ agentId, namespace, title, kind, createdAt, contentSha256 });
  const der = Buffer.concat([
    Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(signed['public_key'] ?? '', 'base64'),
  ]);
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify(null, bytes, key, Buffer.from(signed['signature'] ?? '', 'base64'));
  } catch {
    return false;
  }
}
