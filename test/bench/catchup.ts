import { applyRate } from './apply-rate.js';
import type { Bench, BenchContext } from './bench.js';
import { CatchupWork } from './catchup-work.js';
import { databasePath, openBenchDatabase } from './database.js';
import { DeletedWatch } from './deleted-watch.js';
import { verifications } from './mesh-limits.js';
import { BenchMesh, type NodeUse } from './mesh-processes.js';
import type { BenchResult } from './report.js';
import type { Roots } from './roots.js';
import { rounded } from './statistics.js';

const OPERATIONS = 50_000;
/** Of what the other node has seen, some is deleted while it is away. */
const HELD_SHARE = 0.15;
const CONVERGE_WAIT_MS = 600_000;
const WATCHED = 200;
const DURABILITY = 'OFF';

/** How fast a node catches up that was away, and that it serves nothing that was deleted meanwhile. */
export const catchupBench: Bench = {
  name: 'catchup',
  summary: 'A node of a mesh comes back after many operations: how fast it has them.',
  usage: '[--rows 50000] [--signed] [--cpu-prof folder]',
  run: runCatchup,
};

interface Caught {
  readonly operations: number;
  readonly signed: boolean;
  /** From the start of its process to equal roots, and from its first new operation. */
  readonly seconds: number;
  readonly secondsFromFirst: number;
  readonly use: readonly NodeUse[];
  readonly deleted: number;
  readonly asked: number;
  readonly servedAgain: number;
  /** Deleted rows that are in one of the databases at the end. */
  readonly leftOver: number;
  readonly dlqDepth: number;
  readonly applyPerSecond: number;
  readonly verificationsPerSecond: number;
}

async function runCatchup({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const operations = options.rows?.[0] ?? (options.quick ? 2000 : OPERATIONS);
  progress.step('catchup: two nodes are formed');
  const mesh = await BenchMesh.form(workspace, 2, {}, options.cpuProf, (done) => progress.at(done, 2));
  const [stays, leaves] = [mesh.node(1), mesh.node(2)];
  const roots = mesh.roots();
  const peerId = (await mesh.status(stays)).peer_id!;
  // As a process of the command line would write beside the daemon, without waiting for the disk.
  const database = openBenchDatabase(databasePath(stays.home), DURABILITY, peerId);
  const work = new CatchupWork(database, options.signed);
  progress.step('catchup: what both have');
  work.prepare(Math.ceil(operations * HELD_SHARE));
  await roots.untilEqual(CONVERGE_WAIT_MS);
  await mesh.stop(leaves);
  progress.step('catchup: operations while one is away');
  work.away(operations, (done) => progress.at(done, operations));
  database.close();

  progress.step('catchup: it comes back');
  const known = () => operationsOf(roots, 1, peerId);
  const before = known();
  const from = performance.now();
  let first = 0;
  const starting = mesh.start(leaves);
  const used = mesh.measure();
  // What was both stored and deleted while it was away it may serve in between, once it has heard of the one alone.
  const watch = new DeletedWatch(stays, leaves, sample(work.deletedHeld));
  const equal = roots.untilEqual(CONVERGE_WAIT_MS, () => {
    const now = known();
    progress.at(now - before, operations);
    if (first === 0 && now > before) first = performance.now();
  });
  await starting;
  watch.start();
  await equal;
  const end = performance.now();
  const use = used();
  await watch.stop();
  await watch.atTheEnd(sample(work.deletedFresh));
  const dlqDepth = await mesh.dlqDepth();
  const leftOver = [...work.deletedHeld, ...work.deletedFresh].filter((id) => isThere(roots, id)).length;
  roots.close();
  await mesh.end();
  progress.step('catchup: limits');
  const limits = {
    applyPerSecond: applyRate(databasePath(stays.home), workspace.folder(), peerId),
    verificationsPerSecond: verifications(options.quick ? 200 : 1000),
  };
  return report({
    operations,
    signed: options.signed,
    seconds: (end - from) / 1000,
    secondsFromFirst: (end - first) / 1000,
    use,
    deleted: work.deletedHeld.length + work.deletedFresh.length,
    asked: watch.asked,
    servedAgain: watch.servedAgain.length,
    leftOver,
    dlqDepth,
    ...limits,
  });
}

/** Operations of a peer that a node has. */
function operationsOf(roots: Roots, index: number, peerId: string): number {
  const { heads } = roots.ask(index, { kind: 'known-origins' });
  return Object.entries(heads).reduce(
    (sum, [origin, { seq }]) => (origin.startsWith(`${peerId}/`) ? sum + seq : sum),
    0,
  );
}

/** Every so-manieth, so that rows from the beginning to the end are among them. */
function sample(ids: readonly string[]): string[] {
  const step = Math.max(1, Math.floor(ids.length / WATCHED));
  return ids.filter((_, index) => index % step === 0);
}

function isThere(roots: Roots, id: string): boolean {
  return [0, 1].some((index) => roots.has(index, id));
}

function report(caught: Caught): BenchResult {
  const { operations, seconds, secondsFromFirst, use } = caught;
  const rate = operations / seconds;
  const cpu = (at: number) => `${Math.round(((use[at]?.cpuSeconds ?? 0) / seconds) * 100)} %`;
  return {
    tables: [
      {
        title: `catchup: a node of two comes back after ${operations} ${caught.signed ? 'signed' : 'unsigned'} operations`,
        columns: [
          'operations/s',
          'seconds',
          'ops/s from its first',
          'deleted',
          'asked for',
          'served again',
          'left over',
          'DLQ',
          'limit: apply alone/s',
          'CPU sender',
          'CPU receiver',
          'MiB receiver',
        ],
        rows: [
          [
            Math.round(rate),
            rounded(seconds),
            Math.round(operations / secondsFromFirst),
            caught.deleted,
            caught.asked,
            caught.servedAgain,
            caught.leftOver,
            caught.dlqDepth,
            Math.round(caught.applyPerSecond),
            cpu(0),
            cpu(1),
            use[1]?.residentMib ?? null,
          ],
        ],
        notes: [
          'operations/s: from the start of its process, Node included, until rows and root digests are equal',
          'apply alone: the same operations from one database into another in this process, without signatures or network',
          `${Math.round(caught.verificationsPerSecond)} Ed25519 verifications/s on one core; a signed store or edit needs one`,
          'of ten operations six store, two edit and two delete; half of the deleted rows it had before it left',
        ],
      },
    ],
    json: {
      operations,
      signed: caught.signed,
      per_second: rounded(rate, 1),
      seconds: rounded(seconds, 3),
      per_second_from_first: rounded(operations / secondsFromFirst, 1),
      deleted_rows: caught.deleted,
      deleted_rows_asked: caught.asked,
      deleted_rows_served_again: caught.servedAgain,
      deleted_rows_left_over: caught.leftOver,
      dlq_depth: caught.dlqDepth,
      limits: {
        apply_alone_per_second: rounded(caught.applyPerSecond, 1),
        ed25519_verifications_per_second: Math.round(caught.verificationsPerSecond),
      },
      per_node: use.map(({ cpuSeconds, residentMib }) => ({
        cpu_seconds: cpuSeconds === null ? null : rounded(cpuSeconds),
        cpu: cpuSeconds === null ? null : rounded(cpuSeconds / seconds),
        resident_mib: residentMib,
      })),
    },
  };
}
