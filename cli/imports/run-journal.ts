import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../node/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { isObject } from '../mine/text-of.js';

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

  static folderOf = (dbPath: string): string => `${dbPath}.imports`;

  /** Begins a run, or goes on with one of the same source that did not end. */
  static begin(dbPath: string, beginning: Beginning): RunJournal {
    const folder = RunJournal.folderOf(dbPath);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const open = runsOf(dbPath).find(
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

  end(done: Readonly<Record<string, number>>): void {
    this.append({ done, ended_at: instantFromMs(systemClock.nowMs()) });
  }

  static undone(dbPath: string, run: string): void {
    new RunJournal(RunJournal.folderOf(dbPath), run).append({
      undone_at: instantFromMs(systemClock.nowMs()),
    });
  }

  private append(line: Readonly<Record<string, unknown>>): void {
    // A line that a killed run left unfinished must not swallow this one.
    const text = `\n${JSON.stringify(line)}\n`;
    appendFileSync(fileOf(this.folder, this.run), text, { mode: 0o600 });
  }
}

/** The runs on a database, the last one first. */
export function runsOf(dbPath: string): ImportRun[] {
  const folder = RunJournal.folderOf(dbPath);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const run = name.replace(/\.jsonl$/, '');
      return NAME.test(run) ? [runOf(folder, run)] : [];
    })
    .sort((left, right) => (left.run < right.run ? 1 : -1));
}

/** A run by its id; null when this database knows none of that name. */
export function runNamed(dbPath: string, run: string): ImportRun | null {
  const folder = RunJournal.folderOf(dbPath);
  return NAME.test(run) && existsSync(fileOf(folder, run)) ? runOf(folder, run) : null;
}

function runOf(folder: string, run: string): ImportRun {
  const said: Record<string, unknown> = {};
  const rows: string[] = [];
  for (const line of readFileSync(fileOf(folder, run), 'utf8').split('\n')) {
    const value = parsed(line);
    if (!isObject(value)) continue;
    if (Array.isArray(value['rows'])) rows.push(...value['rows'].filter((uri) => typeof uri === 'string'));
    else Object.assign(said, value);
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
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
