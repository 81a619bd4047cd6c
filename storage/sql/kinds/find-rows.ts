import type { Registry, Viewer } from '../../../protocol/base/viewer.js';
import { isWithheld } from '../../../protocol/base/withheld.js';
import { isWithin } from '../../../protocol/base/within.js';
import type { Condition, Find, FindValue, Where } from '../../../protocol/kinds/find.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { LocalKind } from '../../../protocol/kinds/local-kind.js';
import { DamagedRowError } from '../damage.js';
import { registry } from '../registered.js';
import type { Statements } from '../statements.js';
import { type SqlFragment, visibleRows } from '../visibility.js';
import { literal, type RecordSqlRow, recordImageOf, recordSql } from './record-table.js';

type SqlRow = Readonly<Record<string, FindValue>>;
type Parameters = Record<string, FindValue>;

/** Where the rows of a kind are, for finds. */
export interface RowSource<R extends object = object> {
  readonly name: string;
  readonly table: string;
  /** Which rows of the table are of the kind. */
  readonly own: string;
  readonly key: readonly string[];
  /** Lists of members that an index has, in its order. */
  readonly indexes: readonly (readonly string[])[];
  readonly sqlOf: (member: string) => string;
  /** Members that can be NULL. */
  readonly optional: ReadonlySet<string>;
  /** Throws DamagedRowError for a row that cannot be read. */
  readonly rowOf: (sql: SqlRow) => R;
  /** Which rows a viewer may see: in SQL, and of the row itself. */
  gate(viewer: Viewer, now: string): SqlFragment;
  isVisible(row: R, viewer: Viewer, isRegistered: Registry): boolean;
}

type Finding = Omit<Find, 'of'>;

const EVERY_ROW: SqlFragment = { sql: 'TRUE', parameters: {} };

/** The rows of a record kind. Without a rule of its own, a record shows with the memories that it names. */
export function recordSource<I extends object>(kind: Kind<I>): RowSource<I> {
  if (typeof kind.table === 'string') throw new Error(`kind "${kind.name}" is not kept in records`);
  const { isVisible, memoryMembers: members } = kind;
  return {
    ...{ name: kind.name, table: 'records', own: `kind = '${literal(kind.name)}'` },
    ...{ key: ['id'], sqlOf: recordSql },
    indexes: [['namespace'], ...kind.table.indexes.map((index) => index.members)],
    optional: new Set(kind.payload.optional),
    rowOf: (sql) => {
      const image = recordImageOf(kind as unknown as Kind, sql as unknown as RecordSqlRow);
      if (image === null) throw new DamagedRowError(kind.name, String(sql['id']));
      return image as I;
    },
    gate: (viewer, now) => {
      if (isVisible !== undefined || members.length === 0) return EVERY_ROW;
      const { sql, parameters } = visibleRows('m', viewer, now);
      const each = members.map(
        (member) => `EXISTS (SELECT 1 FROM memories m WHERE m.id = ${outer(member)} AND ${sql})`,
      );
      return { sql: each.join(' AND '), parameters };
    },
    isVisible: isVisible ?? ((_image, viewer) => members.length > 0 || viewer.all),
  };
  function outer(member: string): string {
    return `iif(json_valid(records.payload), records.payload ->> '$.${literal(member)}', NULL)`;
  }
}

/** The rows of a local kind. */
export function localSource<R extends object>(kind: LocalKind<R>): RowSource<R> {
  const booleans = Object.keys(kind.members).filter((member) => kind.members[member] === 'boolean');
  return {
    ...{ name: kind.name, table: literal(kind.table), own: 'TRUE', key: kind.key, sqlOf: literal },
    indexes: kind.indexes.map((index) => index.members),
    optional: new Set(Object.keys(kind.members).filter((member) => kind.members[member]!.endsWith('?'))),
    rowOf: (sql) => {
      if (booleans.length === 0) return sql as R;
      return { ...sql, ...Object.fromEntries(booleans.map((member) => [member, sql[member] === 1])) } as R;
    },
    gate: () => EVERY_ROW,
    isVisible: kind.isVisible,
  };
}

/** True for a row of a namespace that rules keep from the viewer. */
const isKept = (viewer: Viewer, { namespace }: SqlRow): boolean =>
  typeof namespace === 'string' && isWithheld(viewer, namespace);

/** Finds rows on one connection. */
export class FindRows {
  constructor(private readonly statements: Statements) {}

  /** The rows that show to a viewer, as they are taken; null is the node itself, which sees all. */
  *rows<R extends object>(
    source: RowSource<R>,
    find: Finding,
    seen: { readonly viewer: Viewer; readonly now: string } | null = null,
  ): Generator<{ readonly row: R; readonly sql: SqlRow }> {
    let left = find.limit;
    const isGated = seen !== null;
    // What the rows themselves decide is not known to SQL.
    const limit = isGated ? null : left;
    const isRegistered = registry(this.statements);
    const found = this.select(source, '*', { ...find, limit: limit ?? Number.MAX_SAFE_INTEGER }, seen);
    for (const sql of found) {
      if (left <= 0) return;
      const row = this.rowOf(source, sql, find);
      if (row === null) continue;
      if (seen !== null && !isPlaced(sql, seen.viewer)) continue;
      if (seen !== null && !source.isVisible(row, seen.viewer, isRegistered)) continue;
      if (seen?.viewer.withheld !== undefined && isKept(seen.viewer, sql)) continue;
      left -= 1;
      yield { row, sql };
    }
  }

  private rowOf<R extends object>(source: RowSource<R>, sql: SqlRow, { skipDamaged }: Finding): R | null {
    try {
      return source.rowOf(sql);
    } catch (error) {
      if (skipDamaged === true && error instanceof DamagedRowError) return null;
      throw error;
    }
  }

  /** All rows of a find at once, as far as they show. */
  all<R extends object>(
    source: RowSource<R>,
    find: Finding,
    seen: { readonly viewer: Viewer; readonly now: string } | null = null,
  ): readonly R[] {
    return [...this.rows(source, find, seen)].map(({ row }) => row);
  }

  /** Some members of rows, without the rest of the row, which may be long. */
  *members<M extends string>(
    source: RowSource,
    members: readonly M[],
    find: Finding,
  ): Generator<Readonly<Record<M, FindValue>>> {
    const columns = members.map((member) => `${source.sqlOf(member)} AS ${literal(member)}`).join(', ');
    yield* this.select(source, columns, find) as Iterable<Readonly<Record<M, FindValue>>>;
  }

  /** The row with a key; null where there is none. */
  one<R extends object>(source: RowSource<R>, key: readonly FindValue[]): R | null {
    const where = Object.fromEntries(source.key.map((member, index) => [member, key[index]!]));
    return this.all(source, { where, limit: 1 })[0] ?? null;
  }

  /** How many rows meet the conditions, `max` at most: SQLite makes a table for a bound, which one row does not need. */
  count(source: RowSource, where: Where = {}, max: number | null = null): number {
    if (max === 1) return this.any(source, where) ? 1 : 0;
    const { sql, parameters } = whereOf(source, where);
    const rows = `FROM ${source.table} WHERE ${source.own}${sql}`;
    const text =
      max === null ? `SELECT count(*) ${rows}` : `SELECT count(*) FROM (SELECT 1 ${rows} LIMIT @max)`;
    return this.statements
      .get(text)
      .pluck()
      .get(max === null ? parameters : { ...parameters, max }) as number;
  }

  /** A look for one row, which is much cheaper than a list. */
  any(source: RowSource, where: Where = {}): boolean {
    const { sql, parameters } = whereOf(source, where);
    const text = `SELECT 1 FROM ${source.table} WHERE ${source.own}${sql} LIMIT 1`;
    return this.statements.get(text).get(parameters) !== undefined;
  }

  private select(
    source: RowSource,
    columns: string,
    find: Finding,
    seen: { readonly viewer: Viewer; readonly now: string } | null = null,
  ): Iterable<SqlRow> {
    const { where = {}, order, after, limit, skip = 0 } = find;
    expectIndex(source, where, order?.by ?? null);
    const asked = whereOf(source, where);
    const gate = seen === null ? EVERY_ROW : source.gate(seen.viewer, seen.now);
    const place = after === undefined ? { sql: '', parameters: {} } : afterOf(source, order, after);
    const text = `SELECT ${columns} FROM ${source.table} WHERE ${source.own}${asked.sql}${place.sql} AND ${gate.sql}
      ORDER BY ${orderOf(source, where, order)} LIMIT @limit OFFSET @skip`;
    const parameters = { ...asked.parameters, ...place.parameters, ...gate.parameters, limit, skip };
    return this.statements.get(text).iterate(parameters) as Iterable<SqlRow>;
  }
}

/** To a token for some namespaces a record elsewhere does not exist, and no row that lies in none. */
const isPlaced = ({ namespace }: SqlRow, { within }: Viewer): boolean =>
  within === undefined || (typeof namespace === 'string' && isWithin(namespace, within));

/** The place of a row in the order of a find. */
export function placeOf(
  source: RowSource,
  { order }: Pick<Find, 'order'>,
  sql: SqlRow,
  row: object,
): readonly FindValue[] {
  const given = (member: string) => sql[member] ?? ((row as SqlRow)[member] as FindValue) ?? null;
  const members = order === undefined || source.key.includes(order.by) ? [] : [order.by];
  return [...members, ...source.key].map(given);
}

/** A find without an index would look at every row of its kind: a bug of its caller. */
function expectIndex({ name, key, indexes }: RowSource, where: Where, by: string | null): void {
  const isGiven = (member: string) => Object.hasOwn(where, member) && isValue(where[member]!);
  const leadsTo = (member: string) =>
    [key, ...indexes].some((all) => all.includes(member) && all.slice(0, all.indexOf(member)).every(isGiven));
  const asked = Object.keys(where);
  const isIndexed = by === null ? asked.length === 0 || asked.some(leadsTo) : leadsTo(by);
  if (!isIndexed)
    throw new Error(`kind "${name}" has no index for ${[...asked, by ?? 'its key'].join(', ')}`);
}

const isValue = (condition: Condition): condition is FindValue =>
  condition === null || typeof condition !== 'object';

/** Conditions as SQL, each with AND before it. */
export function whereOf(
  source: Pick<RowSource, 'sqlOf'>,
  where: Where,
): { sql: string; parameters: Parameters } {
  const parameters: Parameters = {};
  const texts = Object.entries(where).map(([member, condition]) => {
    const sql = source.sqlOf(member);
    const named = (word: string, value: FindValue) => {
      const name = `${word}_${member}`;
      parameters[name] = value;
      return `@${name}`;
    };
    if (condition === null) return ` AND ${sql} IS NULL`;
    if (isValue(condition)) return ` AND ${sql} = ${named('is', condition)}`;
    if ('in' in condition || 'notIn' in condition) {
      const [word, values] = 'in' in condition ? ['IN', condition.in] : ['NOT IN', condition.notIn];
      // An empty list has no type.
      if (values.length === 0) return word === 'IN' ? ' AND FALSE' : '';
      const value = values.every((each) => typeof each === 'number') ? 'CAST(value AS INTEGER)' : 'value';
      return ` AND ${sql} ${word} (SELECT ${value} FROM json_each(${named('of', JSON.stringify(values))}))`;
    }
    const bounds = (['from', 'after', 'to', 'before'] as const).filter(
      (bound) => condition[bound] !== undefined,
    );
    return bounds
      .map((bound) => ` AND ${sql} ${COMPARED[bound]} ${named(bound, condition[bound]!)}`)
      .join('');
  });
  return { sql: texts.join(''), parameters };
}

const COMPARED = { from: '>=', after: '>', to: '<=', before: '<' } as const;

/** True for a condition that no NULL meets, or that only NULL meets. */
const excludesNull = (condition: Condition | undefined): boolean =>
  condition !== undefined &&
  !(
    condition !== null &&
    typeof condition === 'object' &&
    'notIn' in condition &&
    condition.notIn.length === 0
  );

/** NULL is before all values. PostgreSQL has no index for that order, so it is asked for only where a NULL can come. */
function orderOf({ key, sqlOf, optional }: RowSource, where: Where, order: Find['order']): string {
  const word = order?.descending === true ? ' DESC' : '';
  const isNullable = order !== undefined && optional.has(order.by) && !excludesNull(where[order.by]);
  const nulls = isNullable ? ` NULLS ${word === '' ? 'FIRST' : 'LAST'}` : '';
  const first = order === undefined ? [] : [`${sqlOf(order.by)}${word}${nulls}`];
  return [...first, ...key.filter((member) => member !== order?.by).map(sqlOf)].join(', ');
}

function afterOf({ key, sqlOf }: RowSource, order: Find['order'], after: readonly FindValue[]) {
  const parameters: Parameters = {};
  const by = order !== undefined && !key.includes(order.by) ? [order.by] : [];
  const members = [...by, ...key];
  if (after.length !== members.length) throw new Error(`a place has ${members.length} values`);
  const word = (member: string) => (member === order?.by && order.descending === true ? '<' : '>');
  const texts = members.map((member, at) => {
    parameters[`place_${member}`] = after[at]!;
    const equal = members.slice(0, at).map((each) => `${sqlOf(each)} = @place_${each}`);
    return [...equal, `${sqlOf(member)} ${word(member)} @place_${member}`].join(' AND ');
  });
  return { sql: ` AND (${texts.join(' OR ')})`, parameters };
}
