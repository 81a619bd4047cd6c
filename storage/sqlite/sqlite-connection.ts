import Database from 'better-sqlite3';
import { fail, type Result } from '../../protocol/base/result.js';
import { regexpLike } from '../../protocol/base/withheld.js';
import { diskFailure } from '../disk-failure.js';
import type { SelfCheckPage } from '../port.js';
import { AuditHeadFile, auditHeadPath } from '../sql/audit-head.js';
import type { Connection, Fault, TextRow, TextRows } from '../sql/connection.js';
import { diskFull, stayedLocked } from '../sql/failures.js';
import { FileIdentity } from './file-identity.js';
import { FreedSpace } from './freed-space.js';
import { selfCheck } from './self-check.js';
import { isBusy, isCorruption, isDiskError, isFull, isTaken, sqliteCode } from './sqlite-errors.js';
import { WalRelief } from './wal-relief.js';

/** A database of SQLite. */
export class SqliteConnection extends Database implements Connection {
  readonly engine = 'sqlite';
  #begin: Database.Statement | null = null;
  #file: FileIdentity | null = null;
  #relief: WalRelief | null = null;
  #texts: TextRows | null = null;
  #dataVersion: Database.Statement<[], number> | null = null;
  #wiper: FreedSpace | null = null;
  #used: Database.Statement<[], number> | null = null;
  #lastNumber: Database.Statement<[string], number> | null = null;

  constructor(path?: string | Buffer, options?: Database.Options) {
    super(path, options);
    // PostgreSQL has it.
    this.function('regexp_like', { deterministic: true }, (text: unknown, source: unknown) =>
      regexpLike(String(text), String(source)) ? 1 : 0,
    );
  }

  beginWrite(): void {
    this.#begin ??= this.prepare('BEGIN IMMEDIATE');
    this.#begin.run();
  }

  ahead(): void {}

  expectMemories(): void {}

  nextRid(): null {
    return null;
  }

  faultOf(error: unknown): Fault | null {
    if (isBusy(error)) return 'busy';
    if (isFull(error)) return 'full';
    if (isCorruption(error)) return 'corrupt';
    if (isTaken(error)) return 'taken';
    return isDiskError(error) ? 'failed' : null;
  }

  failureOf(error: unknown): Result<never> {
    if (isFull(error)) return diskFull();
    if (isBusy(error)) return stayedLocked();
    const code = sqliteCode(error);
    if (code === null) throw error;
    const disk = diskFailure(error, this.name);
    if (disk !== null) return fail(disk.code, `nothing was changed: ${disk.message}`);
    if (isCorruption(error)) {
      const message = `the database file is damaged (${code}): stop all its processes and run "mnemesh repair"`;
      return fail('DATABASE_ERROR', message, { corrupt: true });
    }
    return fail('DATABASE_ERROR', `the database refused the write (${code}); nothing was changed`);
  }

  /** The first call takes the identity of the file. */
  refusalOfWrites(nowMs: number): Result<never> | null {
    if (!this.memory) this.#file ??= new FileIdentity(this.name);
    if (this.#file !== null && !this.#file.isCurrent()) {
      const lost =
        'the database file was removed or replaced while it was open; nothing was changed. Restart this process to use the file that is there now';
      return fail('DATABASE_ERROR', lost, { file_replaced: true });
    }
    return this.relief.hasRoom(nowMs) ? null : diskFull();
  }

  makeRoom(nowMs: number): boolean {
    return this.relief.full(nowMs);
  }

  private get relief(): WalRelief {
    this.#relief ??= new WalRelief(this);
    return this.#relief;
  }

  othersCommits(): unknown {
    this.#dataVersion ??= this.prepare<[], number>('PRAGMA data_version').pluck();
    return this.#dataVersion.get();
  }

  insertion(sql: string): (...values: readonly unknown[]) => number {
    const statement = this.prepare<unknown[]>(sql);
    return (...values) => Number(statement.run(...values).lastInsertRowid);
  }

  graphEngine(): 'cte' {
    return 'cte';
  }

  lastNumberOf(table: string): number {
    this.#lastNumber ??= this.prepare<[string], number>(
      'SELECT seq FROM sqlite_sequence WHERE name = ?',
    ).pluck();
    return this.#lastNumber.get(table) ?? 0;
  }

  /** The table remembers it where it has numbers that are never used again. */
  setLastNumber(table: string, _column: string, last: number): void {
    const remembers = this.prepare(
      "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'",
    );
    if (last === 0 || remembers.get(table) === undefined) return;
    const { changes } = this.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?').run(
      last,
      table,
    );
    if (changes === 0) this.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, last);
  }

  wipeFreed(): boolean {
    this.#wiper ??= new FreedSpace(this);
    return this.#wiper.wipe();
  }

  usedBytes(): number {
    this.#used ??= this.prepare<[], number>(
      `SELECT (page_count - freelist_count) * page_size
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    ).pluck();
    return this.#used.get() ?? 0;
  }

  sizeBytes(): number {
    const pages = this.pragma('page_count', { simple: true }) as number;
    return pages * (this.pragma('page_size', { simple: true }) as number);
  }

  selfCheck(after: string | null): SelfCheckPage {
    return selfCheck(this, after);
  }

  get auditHeads(): AuditHeadFile | null {
    return this.memory ? null : new AuditHeadFile(auditHeadPath(this.name));
  }

  get texts(): TextRows {
    this.#texts ??= new FullTextTable(this);
    return this.#texts;
  }
}

const COLUMNS = '(rowid, title, content, tags, nst) VALUES (?, ?, ?, ?, ?)';

/** The table of FTS5. */
class FullTextTable implements TextRows {
  readonly #insertion;
  readonly #replacement;

  constructor(db: Database.Database) {
    this.#insertion = db.prepare(`INSERT INTO memories_fts ${COLUMNS}`);
    this.#replacement = db.prepare(`INSERT OR REPLACE INTO memories_fts ${COLUMNS}`);
  }

  insert({ rid, title, content, tags, nst }: TextRow): void {
    this.#insertion.run(rid, title, content, tags, nst);
  }

  replace({ rid, title, content, tags, nst }: TextRow): void {
    this.#replacement.run(rid, title, content, tags, nst);
  }
}
