import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../node/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { isObject, type Json, objectsOf } from '../mine/text-of.js';
import type { ReadyLink } from './source-links.js';

/** What a call of an import of an export made and changed. */
export interface ExportChanges {
  /** New memories and changed ones, by id, with the version that the import left. */
  readonly made: Readonly<Record<string, number>>;
  readonly changed: Readonly<Record<string, number>>;
  readonly links: readonly ReadyLink[];
  /** New and changed records, which are not taken back. */
  readonly records: number;
}

/** What is known of a run of `import`. */
export interface ImportRun {
  readonly run: string;
  readonly format: string;
  readonly path: string;
  readonly namespace: string;
  /** Names the source, the namespace and the caller. */
  readonly source: string;
  readonly began_at: string;
  /** Null for a run that did not come to its end. */
  readonly ended_at: string | null;
  readonly undone_at: string | null;
  /** What it did; null until it ended. */
  readonly done: Readonly<Record<string, number>> | null;
  /** The `source_uri` of the memories that it wanted to write. */
  readonly rows: readonly string[];
  /** What each call of an import of an export did, or was about to do when it was killed. */
  readonly calls: readonly ExportChanges[];
  /** The memories that got their text back when it was taken back, with the version that this left. */
  readonly restored: Readonly<Record<string, number>>;
}

type Beginning = Pick<ImportRun, 'format' | 'path' | 'namespace' | 'source'>;

const NAME = /^[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$/;
const fileOf = (folder: string, run: string) => join(folder, `${run}.jsonl`);

/**
 * The runs of `import` on a database, one file each in a folder beside it. A file says what a run wants to write before
 * it writes it, so a run that was killed can be taken back; what it did write says each memory itself.
 */
export class RunJournal {
  private constructor(
    private readonly folder: string,
    readonly run: string,
  ) {}

  static folderOf = (database: string): string => `${database}.imports`;

  /** Begins a run, or goes on with one of the same source that did not end. */
  static begin(database: string, beginning: Beginning): RunJournal {
    const folder = RunJournal.folderOf(database);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const open = runsOf(database).find(
      (run) => run.source === beginning.source && run.ended_at === null && run.undone_at === null,
    );
    if (open !== undefined) return new RunJournal(folder, open.run);
    const now = instantFromMs(systemClock.nowMs());
    const stamp = now.slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
    const journal = new RunJournal(folder, `${stamp}-${Buffer.from(systemRandom.bytes(2)).toString('hex')}`);
    journal.append({ ...beginning, began_at: now });
    return journal;
  }

  /** Says which rows come next. */
  rows(uris: readonly string[]): void {
    this.append({ rows: uris });
  }

  /** Says what a call is about to make and change. */
  plan(changes: ExportChanges): void {
    this.append({ plan: changes });
  }

  /** Says what a call did; it takes the place of the plan where that was written. */
  settle(changes: ExportChanges, planned: boolean): void {
    this.append({ settled: changes, planned });
  }

  end(done: Readonly<Record<string, number>>): void {
    this.append({ done, ended_at: instantFromMs(systemClock.nowMs()) });
  }

  static undone(database: string, run: string, restored: ReadonlyMap<string, number>): void {
    new RunJournal(RunJournal.folderOf(database), run).append({
      undone_at: instantFromMs(systemClock.nowMs()),
      ...(restored.size === 0 ? {} : { restored: Object.fromEntries(restored) }),
    });
  }

  private append(line: Readonly<Record<string, unknown>>): void {
    // A line that a killed run left unfinished must not swallow this one.
    const text = `\n${JSON.stringify(line)}\n`;
    appendFileSync(fileOf(this.folder, this.run), text, { mode: 0o600 });
  }
}

/** The runs on a database, the last one first. */
export function runsOf(database: string): ImportRun[] {
  const folder = RunJournal.folderOf(database);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const run = name.replace(/\.jsonl$/, '');
      return NAME.test(run) ? [runOf(folder, run)] : [];
    })
    .sort((left, right) => (left.run < right.run ? 1 : -1));
}

/** A run by its id; null when this database knows none of that name. */
export function runNamed(database: string, run: string): ImportRun | null {
  const folder = RunJournal.folderOf(database);
  return NAME.test(run) && existsSync(fileOf(folder, run)) ? runOf(folder, run) : null;
}

function runOf(folder: string, run: string): ImportRun {
  const said: Record<string, unknown> = {};
  const rows: string[] = [];
  const calls: ExportChanges[] = [];
  for (const line of readFileSync(fileOf(folder, run), 'utf8').split('\n')) {
    const value = parsed(line);
    if (!isObject(value)) continue;
    if (Array.isArray(value['rows'])) rows.push(...value['rows'].filter((uri) => typeof uri === 'string'));
    else if (isObject(value['plan'])) calls.push(changesOf(value['plan']));
    else if (isObject(value['settled'])) {
      if (value['planned'] === true) calls.pop();
      calls.push(changesOf(value['settled']));
    } else Object.assign(said, value);
  }
  const text = (key: string) => (typeof said[key] === 'string' ? said[key] : '');
  return {
    run,
    ...{ format: text('format'), path: text('path'), namespace: text('namespace'), source: text('source') },
    began_at: text('began_at'),
    ended_at: text('ended_at') || null,
    undone_at: text('undone_at') || null,
    done: isObject(said['done']) ? (said['done'] as Record<string, number>) : null,
    rows: [...new Set(rows)],
    calls,
    restored: versions(said['restored']),
  };
}

const versions = (value: unknown) => (isObject(value) ? (value as Record<string, number>) : {});

/** True where the version of a memory is the one that taking back a later run left. */
export const isBroughtBack = (
  later: readonly ImportRun[],
  { id, version }: { readonly id: string; readonly version: number },
): boolean => later.some(({ restored }) => Object.hasOwn(restored, id) && restored[id] === version);

function changesOf({ made, changed, links, records }: Json): ExportChanges {
  return {
    ...{ made: versions(made), changed: versions(changed) },
    links: objectsOf(links) as unknown as readonly ReadyLink[],
    records: typeof records === 'number' ? records : 0,
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
