import { z } from 'zod';
import { TITLE_LENGTH_MAX } from '../../protocol/base/limits.js';
import { type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantAfter } from '../../protocol/base/time.js';
import { excerpt, utf8Bytes } from '../../protocol/base/utf8.js';
import { audienceKey } from '../../protocol/curation/audience.js';
import { comparedWords } from '../../protocol/curation/clusters.js';
import { CURATOR, CURATOR_VIEWER } from '../../protocol/curation/curator.js';
import { JOINED_BYTES_MAX } from '../../protocol/curation/limits.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { Question } from '../models/models.js';
import { curatorReflect } from '../operations/curator/curator-writes.js';
import { contradictionQuestion } from '../operations/power/memory-detect-contradiction.js';
import { tagQuestion } from '../operations/power/tag-question.js';
import { summaryQuestion } from '../operations/shared/summary-question.js';
import { CURATOR_CALLER, type CuratorPen, isOfTheNode } from './curator-pen.js';
import type { RunOfJob } from './job-work.js';

const judged = z.object({ id: z.string(), mark: z.string() });
export type Judged = z.output<typeof judged>;

/** What became of one thing that the curator did; it is kept with the job, so that no other run does it again. */
export const outcome = z.object({
  how: z.enum(['done', 'refused', 'nothing']),
  /** Questions that were asked for it. */
  asked: z.int(),
  error: z.string().nullable(),
  code: z.string().nullable(),
  /** Two memories that contradict each other. */
  pair: z.object({ older: judged, newer: judged }).nullable(),
  rows: z.int(),
});
export type Outcome = z.output<typeof outcome>;

const outcomeOf = (how: Outcome['how'], more: Partial<Outcome> = {}): Result<Outcome> =>
  ok({ how, asked: 0, error: null, code: null, pair: null, rows: 0, ...more });

/** What was refused stands in the report; what the node cannot do now ends the run. */
const refused = (error: Failure, what: string, asked = 0): Result<Outcome> =>
  isOfTheNode(error)
    ? failed(error)
    : outcomeOf('refused', {
        ...{ asked, code: error.code, error: excerpt(`${what}: ${error.code}: ${error.message}`, 200) },
      });

const CONTRADICTIONS_MAX = 20;

/** Tags a memory, and compares it with the one that is most like it. */
export async function examine(
  pen: CuratorPen,
  asked: { readonly id: string; readonly adjacent: string | null; readonly at: string },
): Promise<Result<Outcome>> {
  const { id, adjacent, at } = asked;
  const found = await pen.row(id);
  if (!found.ok) return failed(found.error);
  const row = found.value;
  if (row === null) return outcomeOf('nothing');
  const neighbour = adjacent === null ? ok(null) : await pen.row(adjacent);
  if (!neighbour.ok) return failed(neighbour.error);
  const isLike = neighbour.value !== null && audienceKey(neighbour.value) === audienceKey(row);
  const other = isLike ? neighbour.value : null;
  const questions = other === null ? 1 : 2;
  const known = confirmed(row);
  // A run before this one wrote it, and was killed before it said so.
  if (row.metadata['curated_at'] === at) {
    const pair = other !== null && known.includes(other.id) ? pairOf(pen, row, other) : null;
    return outcomeOf('done', { asked: questions, pair });
  }
  if (row.metadata['auto_tags'] !== undefined) return outcomeOf('nothing');
  const tags = await pen.ask(tagQuestion(row));
  if (!tags.ok) return refused(tags.error, `tags of ${id}`, 1);
  const contradicts = other === null ? ok(false) : await pen.ask(contradictionQuestion(row, other));
  if (!contradicts.ok && contradicts.error.code === 'SHUTTING_DOWN') return failed(contradicts.error);
  const isPair = other !== null && contradicts.ok && contradicts.value;
  const contradictions = isPair ? [...new Set([...known, other.id])].slice(-CONTRADICTIONS_MAX) : known;
  const curated = {
    ...{ auto_tags: tags.value, curated_at: at },
    ...(isPair ? { confirmed_contradictions: contradictions } : {}),
  };
  const { namespace, version } = row;
  const allowed = await pen.consult('pre_store', namespace, {
    namespace,
    metadata: { ...row.metadata, ...curated },
  });
  if (!allowed.ok) return refused(allowed.error, `tags of ${id}`, questions);
  const command = { kind: 'curate-metadata', id, version, found: curated, viewer: CURATOR_VIEWER } as const;
  const written = await pen.write(`examine ${id}`, command);
  if (!written.ok) return refused(written.error, `tags of ${id}`, questions);
  const failure = contradicts.ok ? null : contradicts.error;
  return outcomeOf('done', {
    asked: questions,
    pair: isPair ? pairOf(pen, row, other) : null,
    code: failure?.code ?? null,
    error: failure === null ? null : excerpt(`comparison of ${id}: ${failure.code}: ${failure.message}`, 200),
  });
}

function confirmed({ metadata }: MemoryRow): readonly string[] {
  const known = metadata['confirmed_contradictions'];
  return Array.isArray(known) ? known.filter((each): each is string => typeof each === 'string') : [];
}

const isOlder = (one: MemoryRow, other: MemoryRow): boolean =>
  one.created_at === other.created_at
    ? one.created_hlc < other.created_hlc
    : one.created_at < other.created_at;

function pairOf(pen: CuratorPen, one: MemoryRow, other: MemoryRow): Outcome['pair'] {
  const [older, newer] = isOlder(one, other) ? [one, other] : [other, one];
  const judgedAs = (row: MemoryRow) => ({ id: row.id, mark: pen.markOf(row) });
  return { older: judgedAs(older), newer: judgedAs(newer) };
}

/** True where an earlier run of the cycle has made the record, and so what it is about. */
async function isRecorded(pen: CuratorPen, recordId: string): Promise<Result<boolean>> {
  const found = await pen.row(recordId);
  return found.ok ? ok(found.value !== null) : failed(found.error);
}

/** Archives the older memory of a pair, while both say what the model read. */
export async function forget(pen: CuratorPen, pair: NonNullable<Outcome['pair']>): Promise<Result<Outcome>> {
  const { older, newer } = pair;
  const name = `forget ${older.id}`;
  const recordId = pen.idOf(name);
  const before = await isRecorded(pen, recordId);
  if (!before.ok) return failed(before.error);
  if (before.value) return outcomeOf('done');
  const versions = [];
  for (const { id, mark } of [older, newer]) {
    const row = await pen.row(id);
    if (!row.ok) return failed(row.error);
    if (row.value === null || pen.markOf(row.value) !== mark) return outcomeOf('nothing');
    versions.push(row.value);
  }
  const [one, other] = versions as [MemoryRow, MemoryRow];
  const left = await pen.leftBy('forget', one.namespace, [one.id]);
  if (!left.ok) return refused(left.error, name);
  if (left.value.length === 0) return outcomeOf('nothing');
  const allowed = await pen.consult('pre_archive', one.namespace, { id: one.id });
  if (!allowed.ok) return refused(allowed.error, name);
  const written = await pen.write(name, {
    ...{ kind: 'curate-forget', recordId, viewer: CURATOR_VIEWER },
    ...{ older: { id: one.id, version: one.version }, newer: { id: other.id, version: other.version } },
  });
  return written.ok ? outcomeOf('done', { rows: 1 }) : refused(written.error, name);
}

const SUMMARY_RULES = {
  feature: 'curator',
  system:
    'You join notes that say nearly the same into one. Write one note that keeps every fact, name, number and decision of all of them, without repetitions, in their language. Write its text only, without a heading.',
  maxTokens: 2000,
} as const;

/** A summary that leaves out what all the notes say is none. */
function joiningQuestion(rows: readonly MemoryRow[]): Question<string> {
  const question = summaryQuestion(rows, SUMMARY_RULES);
  const [first, ...others] = rows.map(({ title, content }) => comparedWords(`${title} ${content}`));
  const common = [...first!].filter((word) => others.every((words) => words.has(word)));
  return {
    ...question,
    read: (answer) => {
      const read = question.read(answer);
      if (!read.ok) return read;
      const words = comparedWords(read.value);
      const kept = common.filter((word) => words.has(word)).length;
      return kept * 2 >= common.length
        ? read
        : { ok: false, problem: 'it leaves out most of what all the notes say.' };
    },
  };
}

const TITLE_ROOM = 32;
const titleOf = (word: string, title: string): string =>
  excerpt(`[${word}] ${title}`, TITLE_LENGTH_MAX - TITLE_ROOM);

/** Has a model join memories, and archives them. */
export async function join(
  pen: CuratorPen,
  name: string,
  asked: { readonly ids: readonly string[]; readonly longTtlSeconds: number | null },
): Promise<Result<Outcome>> {
  const recordId = pen.idOf(`${name} record`);
  const before = await isRecorded(pen, recordId);
  if (!before.ok) return failed(before.error);
  if (before.value) return outcomeOf('done', { asked: 1, rows: asked.ids.length });
  const all = await rowsOf(pen, asked.ids);
  if (!all.ok) return failed(all.error);
  const [first] = all.value;
  if (all.value.length < 2 || new Set(all.value.map(audienceKey)).size > 1) return outcomeOf('nothing');
  const { namespace } = first!;
  const left = await pen.leftBy(
    'consolidate',
    namespace,
    all.value.map(({ id }) => id),
  );
  if (!left.ok) return refused(left.error, name);
  const rows = all.value.filter(({ id }) => left.value.includes(id));
  if (rows.length < 2) return outcomeOf('nothing');
  const ids = rows.map(({ id }) => id);
  const allowed = await pen.consult('pre_consolidate', namespace, { namespace, candidate_ids: ids });
  if (!allowed.ok) return refused(allowed.error, name);
  const summary = await pen.ask(joiningQuestion(rows));
  if (!summary.ok) return refused(summary.error, name, 1);
  const seconds = asked.longTtlSeconds;
  const written = await pen.write(name, {
    ...{ kind: 'curate-consolidation', recordId, viewer: CURATOR_VIEWER },
    consolidation: {
      ...{ kind: 'consolidate-memories', ids, summary: summary.value, onConflict: 'version' },
      versions: rows.map(({ version }) => version),
      result: {
        ...{ id: pen.idOf(`${name} result`), title: titleOf('consolidated', rows[0]!.title), namespace },
        ...{ tier: 'long', expiresAt: seconds === null ? null : instantAfter(pen.now, seconds) },
      },
      ...{ agentId: CURATOR, viewer: CURATOR_VIEWER, archive: true },
    },
  });
  return written.ok ? outcomeOf('done', { asked: 1, rows: ids.length }) : refused(written.error, name, 1);
}

/** The memories of a cluster that are there, and short enough to be read whole. */
async function rowsOf(pen: CuratorPen, ids: readonly string[]): Promise<Result<MemoryRow[]>> {
  const rows: MemoryRow[] = [];
  for (const id of ids) {
    const found = await pen.row(id);
    if (!found.ok) return failed(found.error);
    if (found.value !== null && utf8Bytes(found.value.content) <= JOINED_BYTES_MAX) rows.push(found.value);
  }
  return ok(rows);
}

/** Changes the priority of a memory by one. */
export async function adjust(pen: CuratorPen, id: string, step: 1 | -1): Promise<Result<Outcome>> {
  const name = `priority ${id}`;
  const recordId = pen.idOf(name);
  const before = await isRecorded(pen, recordId);
  if (!before.ok) return failed(before.error);
  if (before.value) return outcomeOf('done');
  const row = await pen.row(id);
  if (!row.ok) return failed(row.error);
  if (row.value === null) return outcomeOf('nothing');
  const { version, namespace, priority } = row.value;
  const allowed = await pen.consult('pre_store', namespace, { namespace, priority: priority + step });
  if (!allowed.ok) return refused(allowed.error, name);
  const command = { kind: 'curate-priority', id, version, step, recordId, viewer: CURATOR_VIEWER } as const;
  const written = await pen.write(name, command);
  return written.ok ? outcomeOf('done') : refused(written.error, name);
}

const REFLECTION_RULES = {
  feature: 'reflect',
  system:
    'You read notes about one matter. Write what follows from them together and from none of them alone, in a few sentences, in their language. Do not invent facts. Write the text only, without a heading.',
  maxTokens: 800,
} as const;

/** Has a model write a reflection on memories. */
export async function reflect(
  run: RunOfJob,
  pen: CuratorPen,
  name: string,
  ids: readonly string[],
): Promise<Result<Outcome>> {
  const rows = await rowsOf(pen, ids);
  if (!rows.ok) return failed(rows.error);
  const [first] = rows.value;
  if (first === undefined || rows.value.length < ids.length) return outcomeOf('nothing');
  const { namespace, title } = first;
  const text = await pen.ask(summaryQuestion(rows.value, REFLECTION_RULES));
  if (!text.ok) return refused(text.error, name, 1);
  const said = { source_ids: [...ids], title: titleOf('reflection', title), content: text.value, namespace };
  const mark = pen.idOf(name).slice(0, 8);
  const written = await run.call(curatorReflect, {
    ...{ name, input: { ...said, title: `${said.title} (${mark})` }, caller: CURATOR_CALLER },
  });
  if (!written.ok) return refused(written.error, name, 1);
  return outcomeOf('done', { asked: 1, rows: ids.length });
}
