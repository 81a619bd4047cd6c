import { RULES_MAX } from '../../protocol/base/rule-limits.js';
import { type Rule, ruleKind } from '../../protocol/rules/rule-kind.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import { memberSql, type RecordSqlRow } from './kinds/record-table.js';
import type { SubjectTables } from './kinds/tables.js';
import { Statements } from './statements.js';

const RULES = "FROM records WHERE kind = 'rule'";
const OF = `${RULES} AND ${memberSql('rule_kind')} = ?`;

/**
 * The rules about actions inside the write transaction. Every store asks for those about writes, so a rule is read and
 * compared with its operation once, and again when its digest changes.
 */
export class RuleReads {
  private readonly statements: Statements;
  private readonly known = new Map<string, { readonly digest: Uint8Array; readonly rule: Rule }>();

  constructor(
    db: Connection,
    private readonly tables: SubjectTables,
  ) {
    this.statements = new Statements(db);
  }

  /** One more than `RULES_MAX` at most. Damaged rules are thrown, or skipped. */
  of(kind: string | null, skipDamaged: boolean): readonly Rule[] {
    const [where, asked] = kind === null ? [RULES, []] : [OF, [kind]];
    // A look for one row is much cheaper than a list, and most databases hold no rule.
    if (this.statements.get(`SELECT 1 ${where} LIMIT 1`).get(...asked) === undefined) return [];
    const rows = this.statements
      .get(`SELECT id, digest ${where} LIMIT ${RULES_MAX + 1}`)
      .all(...asked) as Pick<RecordSqlRow, 'id' | 'digest'>[];
    return rows.flatMap((row) => this.rule(row, skipDamaged) ?? []);
  }

  private rule({ id, digest }: Pick<RecordSqlRow, 'id' | 'digest'>, skipDamaged: boolean): Rule | null {
    const before = this.known.get(id);
    if (before !== undefined && digest !== null && isSame(before.digest, digest)) return before.rule;
    try {
      const row = this.tables.of(ruleKind.name).row(id);
      if (row === null || digest === null) return null;
      const rule = row.image as Rule;
      if (this.known.size >= 2 * RULES_MAX) this.known.clear();
      this.known.set(id, { digest, rule });
      return rule;
    } catch (error) {
      if (skipDamaged && error instanceof DamagedRowError) return null;
      throw error;
    }
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
