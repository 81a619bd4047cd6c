import { RULES_MAX } from '../../protocol/base/rule-limits.js';
import { type Rule, ruleKind } from '../../protocol/rules/rule-kind.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import { FindRows, recordSource } from './kinds/find-rows.js';
import type { RecordSqlRow } from './kinds/record-table.js';
import type { SubjectTables } from './kinds/tables.js';
import { Statements } from './statements.js';

const RULES = recordSource(ruleKind);
type Digested = Pick<RecordSqlRow, 'id' | 'digest'>;

/**
 * The rules about actions inside the write transaction. Every store asks for those about writes, so a rule is read and
 * compared with its operation once, and again when its digest changes.
 */
export class RuleReads {
  private readonly find: FindRows;
  private readonly known = new Map<string, { readonly digest: Uint8Array; readonly rule: Rule }>();

  constructor(
    db: Connection,
    private readonly tables: SubjectTables,
  ) {
    this.find = new FindRows(new Statements(db));
  }

  /** One more than `RULES_MAX` at most. Damaged rules are thrown, or skipped. */
  of(kind: string | null, skipDamaged: boolean): readonly Rule[] {
    const where = kind === null ? {} : { rule_kind: kind };
    // A look for one row is much cheaper than a list, and most databases hold no rule.
    if (!this.find.any(RULES, where)) return [];
    const rows = [...this.find.members(RULES, ['id', 'digest'], { where, limit: RULES_MAX + 1 })];
    return rows.flatMap((row) => this.rule(row as unknown as Digested, skipDamaged) ?? []);
  }

  private rule({ id, digest }: Digested, skipDamaged: boolean): Rule | null {
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
