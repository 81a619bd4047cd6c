import type { Dice } from './dice.js';
import type { FuzzRequest } from './http-requests.js';
import { mutate } from './mutate.js';
import { parse } from './oracle.js';
import type { RawAnswer } from './raw-http.js';
import { mutateTree } from './tree.js';
import type { Values } from './values.js';

/** The lists of an export. */
export interface ExportDocument {
  readonly memories: readonly Record<string, unknown>[];
  readonly links: readonly unknown[];
  readonly records?: readonly unknown[];
  readonly [member: string]: unknown;
}

const AS_ADMIN = { 'content-type': 'application/json', 'x-agent-id': 'ai:root' };

/** Stores some memories and a link through the API, and answers the export of them. */
export async function exportOf(base: string): Promise<ExportDocument> {
  const ids: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const body = {
      title: `exported ${count}`,
      content: 'text',
      tags: ['a', 'b'],
      namespace: 'team/a',
      metadata: { topic: 'x' },
    };
    const response = await fetch(`${base}/memories`, {
      method: 'POST',
      headers: AS_ADMIN,
      body: JSON.stringify(body),
    });
    ids.push(((await response.json()) as { id: string }).id);
  }
  const link = {
    source_id: ids[0],
    target_id: ids[1],
    relation: 'related_to',
    created_at: '2026-01-01T00:00:00Z',
  };
  await fetch(`${base}/import`, {
    method: 'POST',
    headers: AS_ADMIN,
    body: JSON.stringify({ memories: [], links: [link] }),
  });
  return (await (await fetch(`${base}/export`, { headers: AS_ADMIN })).json()) as ExportDocument;
}

/** An export with changes: of the whole document, of one row, or of its bytes. */
export function mutatedExport(document: ExportDocument, dice: Dice, values: Values): Buffer {
  const rows = dice.chance(0.5) ? document.memories : [dice.pick(document.memories)];
  const fresh = rows.map((row) =>
    dice.chance(0.4) ? { ...row, id: dice.uuid(), title: `imported ${dice.below(2 ** 31)}` } : row,
  );
  const right: Record<string, unknown> = { ...document, memories: fresh };
  if (rows.length === 1 || dice.chance(0.3)) right['links'] = [];
  const lists = ['memories', 'links', 'records'].filter((name) => Array.isArray(right[name]));
  const roll = dice.unit();
  if (roll < 0.7) {
    const name = dice.pick(lists);
    right[name] = mutateTree(right[name], dice, values);
  } else if (roll < 0.85) return Buffer.from(JSON.stringify(mutateTree(right, dice, values)));
  if (dice.chance(0.1)) right['trust_source'] = true;
  const bytes = Buffer.from(JSON.stringify(right));
  return dice.chance(0.1) ? mutate(bytes, dice) : bytes;
}

/** Draws requests that import changed exports. */
export const importRequests =
  (document: ExportDocument) =>
  (dice: Dice, values: Values): FuzzRequest => {
    const body = mutatedExport(document, dice, values);
    const head = [
      'POST /api/v1/import HTTP/1.1',
      'Host: 127.0.0.1',
      'x-agent-id: ai:root',
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
    return { bytes, label: 'POST /import', whole: true, head: false };
  };

/** True when an import took nothing: it was refused as a whole, or each of its rows was. */
export function importRefused([answer]: readonly RawAnswer[]): boolean {
  if (answer === undefined) return false;
  if (answer.status >= 400 || answer.body === null) return answer.status >= 400;
  const { imported, links, records = 0 } = parse(answer.body) as Record<string, number>;
  return imported === 0 && links === 0 && records === 0;
}
