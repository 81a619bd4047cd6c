import { randomBytes } from 'node:crypto';
import { signerOf } from '../../node/identity/key-file.js';
import { systemClock, systemCrypto } from '../../node/seams.js';
import type { ActionState } from '../../protocol/coordination/action-kind.js';
import type { NewAction } from '../../protocol/coordination/plan-actions.js';
import { transitionEnvelopeBytes } from '../../protocol/coordination/signed.js';
import type { TransitionAction } from '../../protocol/coordination/transition-action.js';
import { type Command, KINDS } from '../../protocol/release.js';
import { Reader } from '../../storage/sql/reader.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { OPERATOR } from '../support/memories.js';
import type { Bench, BenchContext } from './bench.js';
import { type BenchDatabase, databasePath, openBenchDatabase } from './database.js';
import { groupCommitRate, perSecond, syncsPerSecond } from './limits.js';
import type { BenchResult } from './report.js';
import { interpolated, type Percentiles, percentiles, rounded } from './statistics.js';

const ACTIONS = 10_000;
/** Actions of one chain, of which each waits for the one before. */
const CHAIN = 10;
const BATCHES = [1, 64];
const NAMESPACE = 'bench';
const BY = 'ai:bench';
const SIGNER = signerOf(new Uint8Array(32).fill(7));

/** What actions and leases cost, and the bare writer, the disk and the bare index beside them. */
export const coordinationBench: Bench = {
  name: 'coordination',
  summary: 'Lease operations, signed transitions, and the frontier of 10,000 actions.',
  usage: '[--rows 10000] [--seconds 4] [--iterations 200]',
  run: runCoordination,
};

interface Rate {
  readonly label: string;
  /** Per second, with so many commands to a commit. */
  readonly perSecond: readonly number[];
}

interface Board {
  readonly label: string;
  readonly frontier: Percentiles;
  readonly next: Percentiles;
  readonly bare: Percentiles;
  readonly shown: number;
}

async function runCoordination({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const count = options.rows?.[0] ?? (options.quick ? 1000 : ACTIONS);
  const samples = options.quick ? 20 : (options.iterations ?? 200);
  const durationMs = (options.quick ? 0.5 : (options.seconds ?? 4)) * 1000;
  const folder = workspace.folder();
  const syncs = syncsPerSecond(folder, durationMs / 2);
  const commits = BATCHES.map((rows) => groupCommitRate(workspace.folder(), rows, durationMs / 2));
  const rates: Rate[] = [];
  for (const [label, act] of Object.entries(ACTS)) {
    progress.step(`coordination: ${label}`);
    rates.push({
      label,
      perSecond: BATCHES.map((batch) => rateOf(workspace.folder(), act, batch, durationMs)),
    });
  }
  const boards: Board[] = [];
  for (const [label, chain] of [
    ['every action waits for nothing', 1],
    [`chains of ${CHAIN}`, CHAIN],
    ['one chain', count],
  ] as const) {
    progress.step(`coordination: ${count} actions, ${label}`);
    boards.push(boardOf(workspace.folder(), count, chain, samples, label));
  }
  return report({ count, samples, syncs, commits, rates, boards });
}

const wanted = (id: string): NewAction => ({
  ...{ id, namespace: NAMESPACE, actionKind: 'work', title: `work ${id}`, payload: { n: 1 }, priority: 0 },
  ...{ agentId: null, metadata: {} },
});
const create = (id: string): Command => ({
  ...{ kind: 'create-action', action: wanted(id), by: BY, viewer: OPERATOR },
});

/** A move as the node makes and signs it that takes the request. */
function move(id: string, from: ActionState, to: ActionState): TransitionAction {
  const nonce = randomBytes(16).toString('base64');
  const at = new Date().toISOString();
  const claimed_by = to === 'pending' ? null : BY;
  const data = { action_id: id, namespace: NAMESPACE, from, to, claimed_by, at, nonce };
  return {
    ...{ kind: 'transition-action', id, namespace: NAMESPACE, from, to, by: BY, operator: false, nonce, at },
    claimedBy: claimed_by,
    signature: Buffer.from(SIGNER.sign(transitionEnvelopeBytes(data))).toString('base64'),
    publicKey: Buffer.from(SIGNER.publicKey).toString('base64'),
  };
}

const actor = { by: BY, operator: false } as const;
/** What is done with an action in one round; the rounds alternate. */
const ACTS: Readonly<Record<string, (id: string, round: number) => Command>> = {
  'make an action': (id, round) => create(`${id}-${round}`),
  'transition (claim, give back)': (id, round) =>
    round % 2 === 0 ? move(id, 'pending', 'claimed') : move(id, 'claimed', 'pending'),
  'lease acquire': (id) => ({ kind: 'acquire-lease', id, ttlSecs: 60, ...actor }),
  'lease renew': (id, round) => ({
    ...{ kind: round === 0 ? 'acquire-lease' : 'renew-lease', id, ttlSecs: 60, ...actor },
  }),
};

function rateOf(
  folder: string,
  act: (id: string, round: number) => Command,
  batch: number,
  durationMs: number,
): number {
  const database = openBenchDatabase(databasePath(folder), 'FULL', 'peer-00000000000000aa');
  const ids = Array.from({ length: batch }, (_, at) => `action-${at}`);
  let round = 0;
  const write = () => {
    database.write(ids.map((id) => act(id, round)));
    round += 1;
    return batch;
  };
  try {
    database.write(ids.map(create));
    perSecond(durationMs / 4, write);
    return perSecond(durationMs, write);
  } finally {
    database.close();
  }
}

function fillBoard(database: BenchDatabase, count: number, chain: number): void {
  const idOf = (at: number) => `action-${String(at).padStart(6, '0')}`;
  for (let from = 0; from < count; from += 500) {
    const places = Array.from({ length: Math.min(500, count - from) }, (_, at) => from + at);
    database.write(places.map((at) => create(idOf(at))));
    const edges = places.filter((at) => at % chain !== 0);
    // The search for circles goes along the whole chain, so long ones are made without it.
    for (const at of edges) putEdge(database, idOf(at), idOf(at - 1));
  }
}

/** An edge as a row alone, which is all that readers see of it. */
function putEdge({ db }: BenchDatabase, from_action: string, to_action: string): void {
  const edge = { from_action, to_action, edge_type: 'requires', namespace: NAMESPACE };
  db.prepare(
    `INSERT INTO records (kind, id, namespace, owner_id, payload, hlc, origin, origin_seq, seen, digest)
     VALUES ('action_edge', ?, ?, ?, ?, '', '', 0, '{}', NULL)`,
  ).run(
    `${from_action}|${to_action}|requires`,
    NAMESPACE,
    BY,
    JSON.stringify({ ...edge, created_by: BY, created_at: '2026-01-01T00:00:00.000Z' }),
  );
}

function boardOf(folder: string, count: number, chain: number, samples: number, label: string): Board {
  const path = databasePath(folder);
  const database = openBenchDatabase(path, 'NORMAL', 'peer-00000000000000aa');
  fillBoard(database, count, chain);
  database.db.exec('ANALYZE');
  database.close();
  const db = openReader(path);
  try {
    const reader = new Reader(db, systemCrypto, KINDS, systemClock);
    const asked = { kind: 'action-frontier', namespace: NAMESPACE, viewer: OPERATOR, agentId: null } as const;
    let shown = 0;
    const frontier = (limit: number, stuckMax: number) => () => {
      const answer = reader.run({ ...asked, limit, stuckMax });
      if (!answer.ok) throw new Error(answer.error.message);
      shown = Math.max(shown, answer.value.actions.length);
    };
    const bare = db.prepare(
      `SELECT id, payload FROM records WHERE kind = 'action' AND namespace = ? ORDER BY rid LIMIT 20`,
    );
    return {
      label,
      frontier: timed(samples, frontier(20, 20)),
      next: timed(samples, frontier(1, 0)),
      bare: timed(samples, () =>
        bare.all(NAMESPACE).map((row) => JSON.parse((row as { payload: string }).payload)),
      ),
      shown,
    };
  } finally {
    db.close();
  }
}

function timed(samples: number, act: () => unknown): Percentiles {
  for (let warmUp = 0; warmUp < 5; warmUp += 1) act();
  const times = Array.from({ length: samples }, () => {
    const start = performance.now();
    act();
    return performance.now() - start;
  });
  return percentiles(times, interpolated);
}

interface Figures {
  readonly count: number;
  readonly samples: number;
  readonly syncs: number;
  readonly commits: readonly number[];
  readonly rates: readonly Rate[];
  readonly boards: readonly Board[];
}

function report({ count, samples, syncs, commits, rates, boards }: Figures): BenchResult {
  const perCommit = BATCHES.map((batch) => `${batch} to a commit, /s`);
  return {
    tables: [
      {
        title: 'coordination: commands in the writer, each commit synced',
        columns: ['command', ...perCommit],
        rows: [
          ...rates.map((rate) => [rate.label, ...rate.perSecond]),
          ['limit: stores of memories in the same writer', ...commits],
          ['limit: syncs of the disk', ...BATCHES.map((batch) => syncs * batch)],
        ],
        notes: ['a transition is signed by the node that takes it and verified by the home'],
      },
      {
        title: `coordination: the frontier of ${count} actions in one reader`,
        columns: [
          ...['board', 'frontier of 20 p50 ms', 'p95 ms', 'next p50 ms', 'p95 ms'],
          ...['limit: 20 rows read and parsed p50 ms', 'shown'],
        ],
        rows: boards.map(({ label, frontier, next, bare, shown }) => [
          ...[label, frontier.p50, frontier.p95, next.p50, next.p95, bare.p50, shown],
        ]),
        notes: [`${samples} samples each; where one chain waits, every action has to be looked at`],
      },
    ],
    json: {
      actions: count,
      samples,
      commands: rates.map((rate) => ({
        label: rate.label,
        per_second: rate.perSecond.map((each) => rounded(each)),
      })),
      commits_per_second: commits.map((each) => rounded(each)),
      syncs_per_second: rounded(syncs),
      frontiers: boards.map(({ label, frontier, next, bare, shown }) => ({
        ...{ label, shown, p50_ms: rounded(frontier.p50, 3), p95_ms: rounded(frontier.p95, 3) },
        ...{ next_p50_ms: rounded(next.p50, 3), next_p95_ms: rounded(next.p95, 3) },
        bare_p50_ms: rounded(bare.p50, 3),
      })),
    },
  };
}
