import type { Connection, Statement } from './connection.js';

/** Prepared statements by their text, for queries whose text depends on which filters are set. */
export class Statements {
  private readonly byText = new Map<string, Statement>();

  constructor(private readonly db: Connection) {}

  get(sql: string): Statement {
    let statement = this.byText.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.byText.set(sql, statement);
    }
    return statement;
  }

  /** Runs reads that belong together: they all see the same commits. */
  snapshot<T>(read: () => T): T {
    return this.db.inTransaction ? read() : this.db.transaction(read)();
  }
}
