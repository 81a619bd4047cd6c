import { instantFromMs } from '../../protocol/base/time.js';
import type { Role } from '../../protocol/kinds/kind.js';
import { linkId } from '../../protocol/links/link.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import { heldNamespaces } from '../../protocol/log/digest.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { KindDigests } from '../../protocol/log/ranges.js';
import { mayHold } from '../../protocol/log/scope.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { type LinkSqlRow, linkFromSql } from '../../storage/sql/kinds/link-table.js';
import type { Checks } from './checks.js';
import { type BornOperation, type Ledger, nameOf, subjectOf } from './ledger.js';
import { SIM_KINDS } from './sim-kinds.js';
import type { SimNode } from './sim-node.js';
import type { Invocation } from './workload.js';
import type { World } from './world.js';

/** Operations by which somebody wrote a text that must not be lost. */
const isEdit = ({ kind }: BornOperation): boolean => isContested(kind, 'image');
const isDeletion = ({ kind }: BornOperation): boolean => isContested(kind, 'removal');

function isContested(word: string, role: Role): boolean {
  const meaning = SIM_KINDS.ofWord(word);
  return meaning?.role === role && meaning.kind.contested.includes(word);
}

export interface EndParts {
  readonly world: World;
  readonly nodes: readonly SimNode[];
  readonly ledger: Ledger;
  readonly history: readonly Invocation[];
  readonly checks: Checks;
}

interface Look {
  readonly node: SimNode;
  readonly heads: string;
  readonly digests: KindDigests;
}

/** What keeps a mesh from being one; empty when it has converged. */
export async function differences(nodes: readonly SimNode[]): Promise<string[]> {
  const found: string[] = [];
  const looks: Look[] = [];
  for (const node of nodes) {
    const store = node.run?.services.store;
    if (store === undefined) {
      found.push(`${node.name} is down`);
      continue;
    }
    const digests = await store.query({ kind: 'read-digests' });
    const origins = await store.query({ kind: 'known-origins' });
    if (!digests.ok || !origins.ok) {
      found.push(`${node.name} does not answer`);
      continue;
    }
    looks.push({
      node,
      heads: JSON.stringify(sorted(origins.value.heads)),
      digests: digests.value.digests,
    });
    for (const alarm of node.alarms()) found.push(`${node.name} says: ${alarm}`);
    const unfinished = node.disk.db.prepare('SELECT 1 FROM erasures WHERE finished_at IS NULL').get();
    if (unfinished !== undefined) found.push(`${node.name} has not finished its erasures`);
  }
  const first = looks.find(({ node }) => node.parts.scope == null);
  for (const look of looks) {
    if (first === undefined) break;
    const names = `${first.node.name} and ${look.node.name}`;
    if (look.heads !== first.heads) found.push(`logs of ${names}: ${first.heads} ${look.heads}`);
    const scope = look.node.peer;
    const [theirs, own] = [within(scope, first.digests), within(scope, look.digests)];
    if (theirs !== own) found.push(`rows of ${names}: ${theirs} ${own}`);
    if (own !== JSON.stringify(entriesOf(look.digests)))
      found.push(`${look.node.name} has rows out of its scope: ${heldNamespaces(look.digests).join(' ')}`);
  }
  return found;
}

/** The digests of what a node may hold; kinds that go to every node are held by all. */
const within = (scope: Peer, digests: KindDigests) =>
  JSON.stringify(
    entriesOf(digests).filter(
      ([kind, namespace]) => SIM_KINDS.of(kind).reach === 'everybody' || mayHold(scope, namespace),
    ),
  );

/** Each digest with its kind and namespace, in order. */
const entriesOf = (digests: KindDigests) =>
  sorted(digests).flatMap(([kind, namespaces]) =>
    sorted(namespaces).map(([namespace, digest]) => [kind, namespace, digest] as const),
  );

const sorted = <T>(value: Readonly<Record<string, T>>) =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));

/** A row, and the text that only one write gave it. */
interface LiveRow {
  readonly key: string;
  readonly says: string;
}

/** The text of an operation that no other write has: the content of a memory, or the whole image of another kind. */
function saysOf({ kind: word, payload }: Pick<BornOperation, 'kind' | 'payload'>): string {
  const isMemory = SIM_KINDS.ofWord(word)?.kind.name === 'memory';
  return isMemory ? (JSON.parse(payload) as { content: string }).content : payload;
}

function rowsOf({ disk: { db } }: SimNode): ReadonlyMap<string, LiveRow> {
  const rows: LiveRow[] = [];
  const memories = db.prepare('SELECT id, content FROM memories').all() as { id: string; content: string }[];
  for (const { id, content } of memories) rows.push({ key: `memory ${id}`, says: content });
  for (const sql of db.prepare('SELECT * FROM memory_links').all() as LinkSqlRow[]) {
    const link = linkFromSql(sql);
    rows.push({ key: `link ${linkId(link)}`, says: linkKind.payload.text(link) });
  }
  const records = db.prepare('SELECT kind, id, payload FROM records').all() as Record<string, string>[];
  for (const { kind, id, payload } of records) rows.push({ key: `${kind} ${id}`, says: payload! });
  return new Map(rows.map((row) => [row.key, row]));
}

/** What a converged mesh owes to those who wrote. */
export async function checkPromises(parts: EndParts): Promise<void> {
  const { nodes, history, ledger } = parts;
  const promised = promisedElsewhere(history);
  for (const node of nodes) {
    const store = node.run!.services.store;
    const conflicts = await store.query({ kind: 'list-conflicts', limit: 100_000 });
    if (!conflicts.ok) throw new Error('list-conflicts failed');
    const losers = new Set(conflicts.value.map((conflict) => conflict.op_id));
    const rows = rowsOf(node);
    for (const invocation of history) {
      if (invocation.answer?.ok !== true) continue;
      for (const operation of invocation.operations) {
        if (goneWithDisk(parts, promised, operation)) continue;
        checkOperation(parts, node, operation, rows.get(subjectOf(operation)), losers);
      }
    }
    const log = logOf(node, 'true');
    // What went with who wrote it may be known by its header.
    const told = logOf(node, 'payload IS NOT NULL');
    for (const row of rows.values()) {
      const operations = ledger.bySubject.get(row.key) ?? [];
      checkRow(
        parts,
        node,
        row,
        operations.filter((operation) => isIn(told, operation) || !goneWithDisk(parts, promised, operation)),
      );
    }
    checkInLog(parts, node, log);
    checkErased(parts, node);
    await checkLinks(parts, node);
  }
}

/** The operations that somebody was told to be on another disk as well. */
function promisedElsewhere(history: readonly Invocation[]): ReadonlySet<BornOperation> {
  const told = history.filter(({ answer }) => {
    const acks = answer?.ok === true ? answer.value['quorum_acks'] : 0;
    return typeof acks === 'number' && acks >= 2;
  });
  return new Set(told.flatMap(({ operations }) => operations));
}

/** Written before its node's disk was lost, and never said to be anywhere else. */
function goneWithDisk(
  { checks }: EndParts,
  promised: ReadonlySet<BornOperation>,
  operation: BornOperation,
): boolean {
  if (promised.has(operation)) return false;
  if (checks.left.has(operation.node)) return true;
  const lostMs = checks.disksLost.get(operation.node);
  return lostMs !== undefined && operation.atMs <= lostMs;
}

function logOf(node: SimNode, condition: string): ReadonlySet<string> {
  const rows = node.disk.db
    .prepare(
      `SELECT origin || '/' || origin_seq AS id, hlc, kind, subject FROM operations WHERE ${condition}`,
    )
    .all();
  return new Set((rows as Parameters<typeof nameOf>[0][]).map(nameOf));
}

/** Under its number, or under that which it was given instead. */
function isIn(log: ReadonlySet<string>, operation: BornOperation): boolean {
  const { renamed } = operation;
  if (log.has(nameOf(operation))) return true;
  return renamed !== null && log.has(nameOf({ ...operation, id: operationId(renamed.origin, renamed.seq) }));
}

function checkOperation(
  { world, ledger }: EndParts,
  node: SimNode,
  operation: BornOperation,
  row: LiveRow | undefined,
  losers: ReadonlySet<string | null>,
): void {
  const others = (ledger.bySubject.get(subjectOf(operation)) ?? []).filter((other) => other !== operation);
  // What an erasure removes need not be there.
  if (isErasedOn(node, operation)) return;
  if (isEdit(operation)) {
    if (others.some((other) => ledger.hasSeen(other, operation))) return;
    const says = saysOf(operation);
    const { renamed } = operation;
    const lost = renamed !== null && losers.has(operationId(renamed.origin, renamed.seq));
    if (row?.says === says || losers.has(operation.id) || lost) return;
    const is = row === undefined ? 'there is no row' : `the row says ${row.says}`;
    world.violate(node.name, 'lost write', `${describe(operation)} is no loser and ${is}`);
  } else if (isDeletion(operation) && row !== undefined) {
    const reason = others.some(
      (other) =>
        isEdit(other) && (!ledger.hasSeen(operation, other) || ledger.hasSeenOldNameOnly(operation, other)),
    );
    if (!reason)
      world.violate(node.name, 'resurrection', `${describe(operation)}, and the row is there again`);
  }
}

function isErasedOn({ disk: { db } }: SimNode, { subject }: BornOperation): boolean {
  const sql = "SELECT 1 FROM tombstones WHERE kind = 'memory' AND id = ? AND word = 'erase'";
  return db.prepare(sql).get(subject) !== undefined;
}

/** What any write said of an erased memory is nowhere on the disk of a node that knows of the erasure. */
function checkErased({ world, ledger }: EndParts, node: SimNode): void {
  const { db } = node.disk;
  const texts = [
    ...['SELECT payload FROM operations', 'SELECT content FROM memories', 'SELECT payload FROM records'],
    ...['SELECT content FROM archived_memories', 'SELECT event FROM announced_events'],
  ].flatMap((sql) => db.prepare(sql).pluck().all() as (string | null)[]);
  const all = texts.join('\n');
  const erased = db.prepare("SELECT id FROM tombstones WHERE word = 'erase'").pluck().all() as string[];
  for (const id of erased) {
    for (const operation of ledger.bySubject.get(`memory ${id}`) ?? []) {
      const { content } = JSON.parse(operation.payload) as { content?: string };
      // Entities may say the same; a mark is of one write.
      if (content?.startsWith('mark ') === true && all.includes(content))
        world.violate(
          node.name,
          'erased content',
          `${describe(operation)} was erased and is here: ${content}`,
        );
    }
  }
}

/** A row says what an edit wrote that no other edit has replaced. */
function checkRow(
  { world, ledger }: EndParts,
  node: SimNode,
  row: LiveRow,
  operations: readonly BornOperation[],
): void {
  const edits = operations.filter((operation) => isEdit(operation));
  const current = edits.filter((edit) => !edits.some((other) => ledger.hasSeen(other, edit)));
  const texts = current.map(saysOf);
  if (texts.length > 0 && !texts.includes(row.says)) {
    world.violate(node.name, 'stale row', `${row.key} says ${row.says}, not one of ${texts.join(', ')}`);
  }
}

/** A link is shown at both of its ends, and only when both are there. */
async function checkLinks({ world }: EndParts, node: SimNode): Promise<void> {
  const { db } = node.disk;
  const { store, clock } = node.run!.services;
  const now = instantFromMs(clock.nowMs());
  const ids = db
    .prepare('SELECT id FROM memories WHERE expires_at IS NULL OR expires_at > ?')
    .pluck()
    .all(now) as string[];
  const alive = new Set(ids);
  const links = (db.prepare('SELECT * FROM memory_links').all() as LinkSqlRow[]).map(linkFromSql);
  const whole = links.filter(({ source_id, target_id }) => alive.has(source_id) && alive.has(target_id));
  const due = whole.filter(({ source_id, target_id }) => source_id !== target_id).map(linkId);
  const viewer = { all: true, agentId: null, asNamespace: null };
  const shown: string[] = [];
  for (const id of ids) {
    const found = await store.query({ kind: 'links-of-memory', id, limit: 100_000, viewer, now });
    if (!found.ok) throw new Error(`links-of-memory failed: ${found.error.message}`);
    shown.push(...found.value.links.map(linkId));
  }
  const [is, ought] = [shown.sort(), [...due, ...due].sort()].map((list) => list.join(' '));
  if (is !== ought) world.violate(node.name, 'links shown', `${is}, and it ought to be ${ought}`);
}

/** Every operation that was born is in every log, unless its disk was lost. */
function checkInLog({ world, ledger, checks }: EndParts, node: SimNode, known: ReadonlySet<string>): void {
  for (const operation of ledger.operations.values()) {
    const gone = checks.disksLost.has(operation.node) || checks.left.has(operation.node);
    if (isIn(known, operation) || gone) continue;
    world.violate(node.name, 'missing operation', describe(operation));
  }
}

const describe = ({ kind, id, subject, node }: BornOperation): string =>
  `${kind} ${id} of ${node} on ${subject}`;
