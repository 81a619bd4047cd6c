import { isReservedNamespace } from '../../../protocol/base/ids.js';
import {
  EXCEPTED_LOOKED_AT_MAX,
  EXCEPTED_NAMESPACES_MAX,
  STANDARDS_ATTACHED_BYTES_MAX,
} from '../../../protocol/base/limits.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import { governanceOf, policiesOf } from '../../../protocol/namespaces/effective-policy.js';
import { type Excepted, exceptedAt } from '../../../protocol/namespaces/excepted.js';
import type {
  AttachedStandard,
  AttachedStandards,
  ExceptedNamespaces,
  GovernanceAt,
  ReadStandards,
  RemovedStandards,
  ShownStandard,
} from '../../../protocol/namespaces/queries.js';
import { EVERYWHERE, standardChain } from '../../../protocol/namespaces/standard-chain.js';
import type { Answers } from '../../../protocol/release.js';
import { DamagedRowError } from '../damage.js';
import { memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The standards of a chain of namespaces by namespace. Throws DamagedRowError for one that cannot be read. */
class Standards {
  private readonly known = new Map<string, Standard | null>();

  constructor(private readonly statements: Statements) {}

  of(namespace: string): Standard | null {
    const known = this.known.get(namespace);
    if (known !== undefined) return known;
    const sql = this.statements
      .get(`SELECT payload FROM records WHERE kind = 'standard' AND id = ?`)
      .get(namespace) as Pick<RecordSqlRow, 'payload'> | undefined;
    const standard = sql === undefined ? null : (recordImageOf(standardKind, sql) as Standard | null);
    if (sql !== undefined && standard === null) throw new DamagedRowError(standardKind.name, namespace);
    this.known.set(namespace, standard);
    return standard;
  }

  chainOf(namespace: string): readonly string[] {
    return standardChain(namespace, (at) => this.of(at)?.parent_namespace ?? null);
  }
}

interface Pinned {
  readonly title: string;
  readonly content: string;
  readonly priority: number;
}

/** The memory that a standard pins; null when it is gone or the viewer may not see it. */
function pinnedBy(
  statements: Statements,
  id: string,
  { viewer, now }: { readonly viewer: Viewer; readonly now: string },
): Pinned | null {
  const gate = visibleRows('m', viewer, now);
  const sql = `SELECT m.title, m.content, m.priority FROM memories m WHERE m.id = @id AND ${gate.sql}`;
  return (statements.get(sql).get({ ...gate.parameters, id }) as Pinned | undefined) ?? null;
}

/** The standards of a namespace or of its chain that pin a memory or have a policy. */
export function readStandards({ statements }: QueryParts, query: ReadStandards): Answers['read-standards'] {
  const standards = new Standards(statements);
  const chain = query.inherit ? standards.chainOf(query.namespace) : [query.namespace];
  const shown = chain.flatMap((namespace): ShownStandard[] => {
    const standard = standards.of(namespace);
    if (standard === null || (standard.standard_id === null && standard.governance === null)) return [];
    const { standard_id: id, parent_namespace: parent, governance, set_by } = standard;
    const memory = id === null ? null : pinnedBy(statements, id, query);
    const missing = id !== null && memory === null;
    const { all, agentId, within, withheld } = query.viewer;
    const isWhole = within === undefined && withheld === undefined;
    const isOwn = isWhole && (all || (set_by !== null && set_by === agentId));
    // To others a memory that they do not see is no standard.
    if (missing && !isOwn) {
      const said = { standard_id: null, memory: null, missing: false };
      return governance === null ? [] : [{ namespace, parent, governance, ...said }];
    }
    return [{ namespace, standard_id: id, parent, governance, memory, missing }];
  });
  return { chain, standards: shown };
}

/** What the policies of namespaces say together. */
export function governanceAt(
  { statements }: QueryParts,
  { namespaces }: GovernanceAt,
): Answers['governance-at'] {
  // Most databases hold no standard, and every store asks.
  if (!hasStandards(statements)) return { governance: namespaces.map(() => ({})) };
  const standards = new Standards(statements);
  const at = (namespace: string) => standards.of(namespace);
  const governance = namespaces.map((namespace) =>
    isReservedNamespace(namespace) ? {} : governanceOf(policiesOf(namespace, at)),
  );
  return { governance };
}

const hasStandards = (statements: Statements): boolean =>
  statements.get(`SELECT 1 FROM records WHERE kind = 'standard' LIMIT 1`).get() !== undefined;

/** The standards that a recall carries. Where they are too long, those of the nearest namespaces come first. */
export function attachedStandards(
  { statements }: QueryParts,
  query: AttachedStandards,
): Answers['attached-standards'] {
  // Most databases hold no standard, and every recall asks.
  if (!hasStandards(statements)) return { standards: [] };
  const standards = new Standards(statements);
  const attached: AttachedStandard[] = [];
  let bytes = 0;
  for (const namespace of standards.chainOf(query.namespace ?? EVERYWHERE).toReversed()) {
    const id = standards.of(namespace)?.standard_id ?? null;
    const memory = id === null ? null : pinnedBy(statements, id, query);
    if (id === null || memory === null) continue;
    const { title, content } = memory;
    bytes += Buffer.byteLength(content);
    if (bytes > STANDARDS_ATTACHED_BYTES_MAX) break;
    attached.push({ namespace, id, title, content });
  }
  return { standards: attached.reverse() };
}

/** The namespaces below a standard in which not all of it counts. */
export function exceptedNamespaces(
  { statements }: QueryParts,
  { namespace, viewer }: ExceptedNamespaces,
): Answers['excepted-namespaces'] {
  const standards = new Standards(statements);
  const standard = standards.of(namespace);
  if (standard === null) return { excepted: [], truncated: false };
  // Names below sort between `team/` and `team0`.
  const below = namespace === EVERYWHERE ? 'id <> @namespace' : 'id > @from AND id < @to';
  const ids = statements
    .get(
      `SELECT id FROM records WHERE kind = 'standard' AND ${below} AND (@all = 1 OR owner_id = @agent)
       ORDER BY id LIMIT @limit`,
    )
    .pluck()
    .all({
      ...(namespace === EVERYWHERE ? { namespace } : { from: `${namespace}/`, to: `${namespace}0` }),
      ...{ all: viewer.all ? 1 : 0, agent: viewer.agentId, limit: EXCEPTED_LOOKED_AT_MAX },
    }) as string[];
  const excepted: Excepted[] = [];
  for (const id of ids) {
    const found = exceptedAt(id, standard, (at) => standards.of(at));
    if (found === null) continue;
    if (excepted.length === EXCEPTED_NAMESPACES_MAX) return { excepted, truncated: true };
    excepted.push(found);
  }
  return { excepted, truncated: ids.length === EXCEPTED_LOOKED_AT_MAX };
}

/** Namespaces whose standard pins a memory that is not here any more. */
export function removedStandards(
  { statements }: QueryParts,
  { limit }: RemovedStandards,
): Answers['removed-standards'] {
  const pinned = memberSql('standard_id');
  const rows = statements
    .get(
      `SELECT id FROM records WHERE kind = 'standard' AND ${pinned} IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = ${pinned})
         AND EXISTS (SELECT 1 FROM tombstones t WHERE t.kind = 'memory' AND t.id = ${pinned})
       ORDER BY id LIMIT ?`,
    )
    .all(limit) as { readonly id: string }[];
  return { namespaces: rows.map(({ id }) => id) };
}
