import { EXPORT_BYTES_MAX, EXPORT_LINKS_MAX, EXPORT_PAGE_SIZE } from '../../protocol/base/limits.js';
import type { Failure } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { RecordPlace } from '../../protocol/kinds/record.js';
import type { Link } from '../../protocol/links/link.js';
import type { AnswerOf } from '../../protocol/release.js';
import type {
  ExportLinkPlace,
  ExportLinks,
  ExportMemories,
  ExportPlace,
  ExportRecords,
} from '../../protocol/transfer/queries.js';
import type { ReadServices } from '../pipeline/call.js';
import { exportedLink, exportedMemory, exportedRecord } from './export-json.js';

/** The store failed in the middle of a document. */
export class ExportFailedError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** What an export holds. */
export interface Exported {
  readonly viewer: Viewer;
  /** A namespace or subtree; null for everything. */
  readonly namespace: string | null;
}

/**
 * A whole export as the text of one JSON document, piece by piece: never more than a page in memory. A document has all
 * memories before the links, so the links follow in a second pass, then the records, if any. Throws ExportFailedError.
 */
export async function* exportDocument(
  services: ReadServices,
  { viewer, namespace }: Exported,
  onProgress: (memories: number) => void,
): AsyncGenerator<string, { memories: number; links: number; records: number; omitted: number }, undefined> {
  const startedAt = instantFromMs(services.clock.nowMs());
  let memories = 0;
  let omitted = 0;
  yield '{"memories":[';
  for await (const page of memoryPages(services, { viewer, namespace })) {
    yield joined(page.memories.map(exportedMemory), memories);
    memories += page.memories.length;
    omitted += page.damaged?.length ?? 0;
    onProgress(memories);
  }
  yield '],"links":[';
  let links = 0;
  for await (const page of linkPages(services, { viewer, namespace })) {
    yield joined(page.map(exportedLink), links);
    links += page.length;
  }
  let records = 0;
  for await (const page of recordPages(services, namespace)) {
    omitted += page.damaged?.length ?? 0;
    if (page.records.length === 0) continue;
    if (records === 0) yield '],"records":[';
    yield joined(page.records.map(exportedRecord), records);
    records += page.records.length;
  }
  const left = omitted === 0 ? '' : `,"omitted_damaged":${omitted}`;
  yield `],"count":${memories}${left},"exported_at":${JSON.stringify(startedAt)}}\n`;
  return { memories, links, records, omitted };
}

const joined = (rows: readonly object[], before: number): string =>
  (before > 0 && rows.length > 0 ? ',' : '') + rows.map((row) => JSON.stringify(row)).join(',');

async function* memoryPages(
  services: ReadServices,
  exported: Exported,
): AsyncGenerator<AnswerOf<ExportMemories>> {
  let after: ExportPlace | null = null;
  for (;;) {
    const page: AnswerOf<ExportMemories> = await read(services, {
      kind: 'export-memories',
      ...exported,
      now: instantFromMs(services.clock.nowMs()),
      after,
      limit: EXPORT_PAGE_SIZE,
      bytesMax: EXPORT_BYTES_MAX,
    });
    yield page;
    if (!page.more || page.last === null) return;
    after = page.last;
  }
}

async function* linkPages(services: ReadServices, exported: Exported): AsyncGenerator<readonly Link[]> {
  let after: ExportLinkPlace | null = null;
  do {
    const page: AnswerOf<ExportLinks> = await read(services, {
      kind: 'export-links',
      ...exported,
      now: instantFromMs(services.clock.nowMs()),
      after,
      until: null,
      limit: EXPORT_LINKS_MAX,
    });
    yield page.links;
    after = page.next;
  } while (after !== null);
}

async function* recordPages(
  services: ReadServices,
  namespace: string | null,
): AsyncGenerator<AnswerOf<ExportRecords>> {
  let after: RecordPlace | null = null;
  for (;;) {
    const page: AnswerOf<ExportRecords> = await read(services, {
      kind: 'export-records',
      namespace,
      after,
      limit: EXPORT_PAGE_SIZE,
      bytesMax: EXPORT_BYTES_MAX,
    });
    yield page;
    if (!page.more || page.last === null) return;
    after = page.last;
  }
}

const read: Read = async (services, query) => {
  const answer = await services.store.query(query);
  if (!answer.ok) throw new ExportFailedError(answer.error);
  return answer.value;
};

type Read = <Q extends ExportMemories | ExportLinks | ExportRecords>(
  services: ReadServices,
  query: Q,
) => Promise<AnswerOf<Q>>;
