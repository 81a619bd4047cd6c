import { makerOf } from '../../protocol/kinds/home.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { peerOfOrigin } from '../../protocol/log/wire-operation.js';
import type { EndParts } from './end-checks.js';
import type { BornOperation } from './ledger.js';
import type { Lease } from './sim-kinds.js';
import type { SimNode } from './sim-node.js';

const leaseOf = ({ payload }: Pick<BornOperation, 'payload'>) => JSON.parse(payload) as Partial<Lease>;
const numberOf = (operation: BornOperation): number => leaseOf(operation).home_number ?? 0;

/** Words of kinds that only homes write, besides pending actions. */
const HOME_WORDS = new Set(['grant.put', 'action.put', 'lease.put']);

/** What subjects with a home owe: only the home wrote them, and no token was granted twice. */
export function checkHomes(parts: EndParts): void {
  const { world, ledger, nodes } = parts;
  // Also those whose number was given again when a disk was put back.
  const written = [...ledger.bySubject.values()].flat();
  const adopted = new Set(
    written
      .filter(({ kind }) => kind === 'adoption.put')
      .map(({ origin, subject }) => `${peerOfOrigin(origin)} ${subject}`),
  );
  const grants = written.filter(({ kind }) => kind === 'grant.put');
  for (const grant of written.filter(({ kind }) => HOME_WORDS.has(kind))) {
    const author = peerOfOrigin(grant.origin);
    const maker = makerOf(grant.subject);
    const number = numberOf(grant);
    const isHome = number === 0 ? author === maker : adopted.has(`${author} ${author}/${maker}/${number}`);
    if (!isHome) world.violate(grant.node, 'not home', `${grant.id} writes ${grant.subject}`);
  }
  checkTokens(parts);
  checkExecutions(parts, adopted);
  for (const node of nodes) checkRows(parts, node, grants);
}

/** Two clients never hold one token. A home whose disk was lost may have forgotten what it granted. */
function checkTokens({ world, history, checks }: EndParts): void {
  if (checks.disksLost.size > 0) return;
  const granted = new Set<string>();
  for (const { name, subject, answer, node } of history) {
    if (name !== 'sim_grant' || answer?.ok !== true) continue;
    const grant = `${subject} ${String(answer.value['token'])}`;
    if (granted.has(grant)) world.violate(node.name, 'granted twice', grant);
    granted.add(grant);
  }
}

interface Executed {
  readonly status: string;
  readonly memory_id: string | null;
  readonly home_number?: number;
}

/**
 * Only the home decides an action, and it executes it once. A home that took over may execute what the lost one executed
 * without telling another node, and a home whose disk was lost may have forgotten that it did.
 */
function checkExecutions({ world, ledger, checks }: EndParts, adopted: ReadonlySet<string>): void {
  const operations = [...ledger.operations.values()];
  const stores = new Map<string, number>();
  for (const { kind, subject } of operations)
    if (kind === 'store') stores.set(subject, (stores.get(subject) ?? 0) + 1);
  const homes = new Map<string, Set<number>>();
  for (const { id, kind, subject, origin, payload, node } of operations) {
    if (kind !== 'pending.put') continue;
    const said = JSON.parse(payload) as Executed;
    const number = said.home_number ?? 0;
    const [author, maker] = [peerOfOrigin(origin), makerOf(subject)];
    const isHome = number === 0 ? author === maker : adopted.has(`${author} ${author}/${maker}/${number}`);
    if (!isHome) world.violate(node, 'not home', `${id} decides ${subject}`);
    if (said.status !== 'approved' || said.memory_id === null) continue;
    const numbers = homes.get(said.memory_id) ?? new Set();
    homes.set(said.memory_id, numbers.add(number));
  }
  if (checks.disksLost.size > 0) return;
  for (const [memoryId, numbers] of homes) {
    const count = stores.get(memoryId) ?? 0;
    if (count > numbers.size)
      world.violate('mesh', 'executed twice', `${memoryId} was stored ${count} times`);
  }
}

interface LeaseRow {
  readonly id: string;
  readonly payload: string;
}

/** The id of an operation, or the one that it was given instead. */
const currentId = ({ id, renamed }: BornOperation): string =>
  renamed === null ? id : operationId(renamed.origin, renamed.seq);

/** A lease is what its latest home granted last, wherever the operations of that home are known. */
function checkRows({ world }: EndParts, node: SimNode, grants: readonly BornOperation[]): void {
  const { db } = node.disk;
  const known = new Set(
    db.prepare("SELECT origin || '/' || origin_seq FROM operations WHERE parked IS NULL").pluck().all(),
  );
  const rows = db.prepare("SELECT id, payload FROM records WHERE kind = 'grant'").all() as LeaseRow[];
  for (const row of rows) {
    const own = grants.filter((grant) => grant.subject === row.id && known.has(currentId(grant)));
    const latest = Math.max(...own.map(numberOf));
    const tokens = own
      .filter((grant) => numberOf(grant) === latest)
      .map((grant) => leaseOf(grant).token ?? 0);
    const held = leaseOf(row).token;
    if (own.length > 0 && held !== Math.max(...tokens)) {
      world.violate(node.name, 'stale lease', `${row.id} says ${held}, not ${Math.max(...tokens)}`);
    }
  }
}
