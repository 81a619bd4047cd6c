import { Agent, request } from 'node:http';
import { systemClock, systemCrypto } from '../../node/seams.js';
import { KG_LIMIT, KG_LIMIT_MAX } from '../../protocol/base/limits.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import { KINDS } from '../../protocol/release.js';
import type { Connection } from '../../storage/sql/connection.js';
import { Reader } from '../../storage/sql/reader.js';
import { addLinks, addMemories } from '../support/graph.js';
import { OPERATOR, tenant } from '../support/memories.js';
import type { Bench, BenchContext } from './bench.js';
import { placeOf } from './place.js';
import { seededRandom } from './random.js';
import type { BenchResult } from './report.js';
import { type ServerProcess, startDaemonProcess } from './servers.js';
import { interpolated, type Percentiles, percentiles, rounded } from './statistics.js';

const ROWS = 10_000;
const LINKS_PER_ROW = 5;
const HUB_LINKS = 50_000;
const HUB = 'hub';
const WARM_UP = 10;
/** Over the hub a question takes as long as its budget lets it, up to a second. */
const HUB_SAMPLES = 20;
/** Sees the hub, and none of the memories that it links to. */
const STRANGER = tenant('ai:stranger');

/** Walks of the knowledge graph, and the engine's own recursive query of the same walk. */
export const graphBench: Bench = {
  name: 'graph',
  summary: 'kg_query, timeline and find_paths on 10,000 rows with 50,000 links, and a hub of 50,000 links.',
  usage: '[--rows 10000] [--iterations 200] [--store-url postgres://…]',
  run: runGraph,
};

interface Step {
  readonly label: string;
  /** In the reader, on one thread. */
  readonly reader: Percentiles;
  /** The processor's mean time of the same, which other work on the machine lengthens less. */
  readonly cpuMs: number;
  /** Through the daemon, one client. */
  readonly http: Percentiles | null;
  /** The bare query of the same walk. */
  readonly bare: Percentiles | null;
  /** Links and memories of the last answer, and those that it looked at. */
  readonly rows: number;
  readonly spent: number;
  readonly stopped: string | null;
}

async function runGraph({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const rows = options.rows?.[0] ?? (options.quick ? 1000 : ROWS);
  const hubLinks = options.quick ? 5000 : HUB_LINKS;
  const place = await placeOf(options, workspace);
  progress.step(`graph: ${rows} rows, ${rows * LINKS_PER_ROW} links, a hub of ${hubLinks}`);
  const written = place.writing();
  build(written.db, rows, hubLinks);
  written.close();
  const daemon = await startDaemonProcess(workspace, place.home, place.env, options.cpuProf);
  const db = place.reading();
  const samples = options.quick ? 20 : options.iterations;
  try {
    const said = (line: string) => progress.step(`graph: ${line}`);
    const bench = new GraphSteps(db, daemon, rows, samples, said);
    const steps: Step[] = [];
    for (const depth of [1, 3, 5]) {
      progress.step(`graph: walks of depth ${depth}`);
      steps.push(await bench.walk(depth, KG_LIMIT), await bench.walk(depth, KG_LIMIT_MAX));
    }
    progress.step('graph: timeline and paths');
    steps.push(await bench.timeline(), await bench.paths(4), await bench.paths(7));
    progress.step('graph: the hub');
    const hub = new GraphSteps(db, daemon, rows, Math.min(samples, HUB_SAMPLES), said);
    steps.push(await hub.hub(OPERATOR, 'hub'), await hub.hub(STRANGER, 'hub, every target hidden'));
    steps.push(await hub.hubPaths());
    return report(steps, rows, hubLinks, samples);
  } finally {
    db.close();
    await daemon.stop();
    await place.end();
  }
}

const idOf = (index: number) =>
  `${index.toString(16).padStart(8, '0')}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;

function build(db: Connection, rows: number, hubLinks: number): void {
  const random = seededRandom(15);
  const draw = () => Math.floor(random() * rows);
  addMemories(
    db,
    Array.from({ length: rows }, (_, index) => idOf(index)),
  );
  const links = new Map<string, [string, string, string]>();
  while (links.size < rows * LINKS_PER_ROW) {
    const [source, target] = [draw(), draw()];
    if (source !== target) links.set(`${source} ${target}`, [idOf(source), idOf(target), 'related_to']);
  }
  addLinks(db, [...links.values()]);
  const leaves = Array.from({ length: hubLinks }, (_, index) => `leaf-${index}`);
  addMemories(db, [HUB]);
  addMemories(db, leaves, 'ai:owner');
  addLinks(
    db,
    leaves.map((leaf) => [HUB, leaf, 'related_to'] as const),
  );
  addLinks(db, [[idOf(0), HUB, 'related_to']]);
  db.exec('ANALYZE');
}

/** What one answer cost. */
interface Cost {
  readonly rows: number;
  readonly spent: number;
  readonly stopped: string | null;
}

class GraphSteps {
  private readonly reader: Reader;
  private readonly now = new Date().toISOString();
  private readonly random = seededRandom(51);

  constructor(
    private readonly db: Connection,
    private readonly daemon: ServerProcess,
    private readonly rowCount: number,
    private readonly samples: number,
    private readonly said: (line: string) => void,
  ) {
    this.reader = new Reader(db, systemCrypto, KINDS, systemClock);
  }

  walk(depth: number, limit: number): Promise<Step> {
    const bare = this.db.prepare(BARE_WALK);
    return this.step(`kg_query, depth ${depth}, limit ${limit}`, {
      reader: (id) => this.walkFrom(id, depth, limit, OPERATOR),
      http: (id) => ['POST', '/kg/query', { source_id: id, max_depth: depth, limit }],
      bare: (id) => bare.all({ id, depth, limit, now: this.now }),
    });
  }

  timeline(): Promise<Step> {
    return this.step('kg_timeline', {
      reader: (id) => {
        const span = { since: null, until: null, believedAt: null, limit: 200 };
        const answer = this.reader.run({
          kind: 'graph-timeline',
          id,
          viewer: OPERATOR,
          now: this.now,
          ...span,
        });
        if (!answer.ok) throw new Error(answer.error.message);
        return { ...answer.value, rows: answer.value.events.length };
      },
      http: (id) => ['GET', `/kg/timeline?source_id=${id}`, null],
    });
  }

  paths(depth: number): Promise<Step> {
    return this.step(`find_paths, depth ${depth}`, {
      reader: (id) => this.pathsFrom(id, this.drawn(), depth),
      http: (id) => ['POST', '/find_paths', { source_id: id, target_id: this.drawn(), max_depth: depth }],
    });
  }

  hub(viewer: Viewer, label: string): Promise<Step> {
    const agent = { 'x-agent-id': viewer.agentId ?? 'ai:owner' };
    return this.step(`kg_query, depth 3: ${label}`, {
      reader: () => this.walkFrom(HUB, 3, KG_LIMIT, viewer),
      http: () => ['POST', '/kg/query', { source_id: HUB, max_depth: 3 }, agent],
    });
  }

  hubPaths(): Promise<Step> {
    return this.step('find_paths, depth 4: over the hub', {
      reader: () => this.pathsFrom('leaf-1', idOf(0), 4),
      http: () => ['POST', '/find_paths', { source_id: 'leaf-1', target_id: idOf(0) }],
    });
  }

  private drawn(): string {
    return idOf(Math.floor(this.random() * this.rowCount));
  }

  private walkFrom(id: string, maxDepth: number, limit: number, viewer: Viewer): Cost {
    const moment = { validAt: this.now, believedAt: null };
    const bounds = { maxDepth, limit, allowedAgents: null, relations: null };
    const answer = this.reader.run({ kind: 'walk-graph', id, viewer, now: this.now, moment, ...bounds });
    if (!answer.ok) throw new Error(answer.error.message);
    return { ...answer.value, rows: answer.value.memories.length };
  }

  private pathsFrom(id: string, targetId: string, maxDepth: number): Cost {
    const moment = { validAt: this.now, believedAt: null };
    const bounds = { targetId, maxDepth, maxResults: 10 };
    const answer = this.reader.run({
      kind: 'find-paths',
      id,
      viewer: OPERATOR,
      now: this.now,
      moment,
      ...bounds,
    });
    if (!answer.ok) throw new Error(answer.error.message);
    return { ...answer.value, rows: answer.value.paths.length };
  }

  private async step(
    label: string,
    calls: {
      readonly reader: (id: string) => Cost;
      readonly http: (id: string) => HttpCall;
      readonly bare?: (id: string) => unknown;
    },
  ): Promise<Step> {
    const ids = Array.from({ length: this.samples }, () => this.drawn());
    let cost: Cost | null = null;
    const timed = async (act: (id: string) => unknown) => {
      for (const id of ids.slice(0, WARM_UP)) await act(id);
      const times: number[] = [];
      for (const id of ids) {
        const start = performance.now();
        await act(id);
        times.push(performance.now() - start);
      }
      return percentiles(times, interpolated);
    };
    const before = process.cpuUsage();
    const reader = await timed((id) => {
      cost = calls.reader(id);
    });
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000 / (ids.length + WARM_UP);
    const bare = calls.bare === undefined ? null : await timed(calls.bare);
    // The daemon ends idle connections.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { rows, spent, stopped } = cost as unknown as Cost;
    const http = await timed((id) => this.send(agent, calls.http(id), stopped !== null));
    agent.destroy();
    this.said(`${label}: reader p50 ${rounded(reader.p50)}, p95 ${rounded(reader.p95)} ms; ${spent} links`);
    return { label, reader, cpuMs, http, bare, rows, spent, stopped };
  }

  private send(
    agent: Agent,
    [method, path, body, headers = { 'x-agent-id': 'ai:owner' }]: HttpCall,
    stops: boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        ...{ agent, host: '127.0.0.1', port: this.daemon.port, method, path: `/api/v1${path}` },
        headers: { ...headers, ...(body === null ? {} : { 'content-type': 'application/json' }) },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        response.resume();
        response.on('end', () => {
          // A question that its budget stops is answered 422, with the part that was found.
          if (response.statusCode === (stops ? 422 : 200)) resolve();
          else reject(new Error(`${method} ${path} answered ${response.statusCode}`));
        });
      });
      outgoing.end(body === null ? undefined : JSON.stringify(body));
    });
  }
}

type HttpCall = readonly [
  method: string,
  path: string,
  body: object | null,
  headers?: Readonly<Record<string, string>>,
];

/** The walk as one recursive query, without a gate and without a budget. */
const BARE_WALK = `
  WITH RECURSIVE walk (id, relation, valid_from, valid_until, observed_by, created_at, depth, path) AS (
    SELECT target_id, relation, valid_from, valid_until, observed_by, created_at, 1, @id || '->' || target_id
    FROM memory_links WHERE source_id = @id AND (valid_until IS NULL OR valid_until > @now)
    UNION ALL
    SELECT l.target_id, l.relation, l.valid_from, l.valid_until, l.observed_by, l.created_at, w.depth + 1,
      w.path || '->' || l.target_id
    FROM walk w JOIN memory_links l ON l.source_id = w.id
    WHERE w.depth < @depth AND (l.valid_until IS NULL OR l.valid_until > @now) AND instr(w.path, l.target_id) = 0
  )
  SELECT w.*, m.title, m.namespace FROM walk w JOIN memories m ON m.id = w.id
  ORDER BY w.depth, coalesce(w.valid_from, w.created_at), w.created_at LIMIT @limit`;

function report(steps: readonly Step[], rows: number, hubLinks: number, samples: number): BenchResult {
  return {
    tables: [
      {
        title: `graph: ${rows} rows, ${rows * LINKS_PER_ROW} links, a hub of ${hubLinks} links`,
        columns: [
          ...['question', 'reader p50 ms', 'p95 ms', 'CPU ms', 'HTTP p50 ms', 'p95 ms'],
          ...['limit: bare SQL p50 ms', 'p95 ms', 'rows', 'links read', 'stopped by'],
        ],
        rows: steps.map(({ label, reader, cpuMs, http, bare, rows: found, spent, stopped }) => [
          ...[label, reader.p50, reader.p95, cpuMs, http?.p50 ?? null, http?.p95 ?? null],
          ...[bare?.p50 ?? null, bare?.p95 ?? null, found, spent, stopped],
        ]),
        notes: [
          `${samples} samples each, ${Math.min(samples, HUB_SAMPLES)} over the hub; rows and links read are those of the last one`,
          'bare SQL: the same walk as one recursive query, without visibility and without a budget',
        ],
      },
    ],
    json: {
      rows,
      links: rows * LINKS_PER_ROW,
      hub_links: hubLinks,
      samples,
      results: steps.map(({ label, reader, cpuMs, http, bare, rows: found, spent, stopped }) => ({
        label,
        reader_p50_ms: rounded(reader.p50, 3),
        reader_p95_ms: rounded(reader.p95, 3),
        reader_cpu_ms: rounded(cpuMs, 3),
        http_p50_ms: http === null ? null : rounded(http.p50, 3),
        http_p95_ms: http === null ? null : rounded(http.p95, 3),
        bare_p50_ms: bare === null ? null : rounded(bare.p50, 3),
        bare_p95_ms: bare === null ? null : rounded(bare.p95, 3),
        rows: found,
        links_read: spent,
        stopped,
      })),
    },
  };
}
