import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { databasePath } from './database.js';
import { Roots } from './roots.js';
import { cpuSeconds, residentMib } from './servers.js';
import type { Workspace } from './workspace.js';

/** A node as `cli/dev/mesh-nodes.mjs` makes it. */
export interface MeshProcess {
  readonly number: number;
  readonly home: string;
  /** Base address for agents. */
  readonly api: string;
  readonly child: ChildProcess;
}

interface MeshNodes {
  readonly nodes: readonly MeshProcess[];
  add(): Promise<MeshProcess>;
  start(node: MeshProcess): Promise<void>;
}

interface MeshNodesModule {
  readonly MeshNodes: new (options: {
    readonly folder: string;
    readonly environment: (home: string) => NodeJS.ProcessEnv;
    readonly flags: readonly string[];
    readonly execArgv: (node: MeshProcess) => readonly string[];
    readonly adopt: (child: ChildProcess) => ChildProcess;
  }) => MeshNodes;
  statusOf(node: MeshProcess): Promise<StatusAnswer>;
}

interface StatusAnswer {
  readonly peer_id?: string;
  readonly replication?: {
    readonly dlqDepth: number;
    readonly underReplicated: number;
    readonly peers: readonly { readonly state: string; readonly lagOperations: number }[];
  } | null;
}

/** The scripts of developers lie beside the build, not in it. */
const MODULE = new URL('../../../cli/dev/mesh-nodes.mjs', import.meta.url).href;
const HEALTHY_WAIT_MS = 60_000;
const POLL_MS = 20;

/** What a node used between two looks. */
export interface NodeUse {
  readonly cpuSeconds: number | null;
  readonly residentMib: number | null;
}

/** A mesh of real daemons with certificates of its own, on loopback. */
export class BenchMesh {
  private constructor(
    private readonly module: MeshNodesModule,
    private readonly processes: MeshNodes,
    private readonly workspace: Workspace,
  ) {}

  /** Forms a mesh and waits until its nodes reach each other. Profiles of nodes 1 and 2 go to folders of `cpuProf`. */
  static async form(
    workspace: Workspace,
    size: number,
    env: Readonly<Record<string, string>>,
    cpuProf: string | null,
    formed: (nodes: number) => void,
  ): Promise<BenchMesh> {
    const module = (await import(MODULE)) as MeshNodesModule;
    const processes = new module.MeshNodes({
      folder: workspace.folder(),
      environment: (home) => ({
        PATH: process.env['PATH'],
        HOME: home,
        SVC_HOME: home,
        SVC_NO_CONFIG: '1',
        SVC_LOG_LEVEL: 'warn',
        SVC_REQUIRE_AGENT_ATTESTATION: '0',
        SVC_EMBED_BACKEND: 'none',
        SVC_MAX_MEMORIES_PER_DAY: '1000000000',
        SVC_MAX_STORAGE_BYTES: '1000000000000',
        ...env,
      }),
      flags: ['--quorum-writes', '2'],
      execArgv: ({ number }) =>
        cpuProf === null || number > 2 ? [] : profiling(join(cpuProf, `node-${number}`)),
      adopt: (child) => workspace.adopt(child),
    });
    const mesh = new BenchMesh(module, processes, workspace);
    for (let number = 1; number <= size; number += 1) {
      await processes.add();
      formed(number);
    }
    await mesh.healthy();
    return mesh;
  }

  get nodes(): readonly MeshProcess[] {
    return this.processes.nodes;
  }

  node(number: number): MeshProcess {
    return this.nodes[number - 1]!;
  }

  status(node: MeshProcess): Promise<StatusAnswer> {
    return this.module.statusOf(node);
  }

  /** The states of the nodes' databases, side by side. */
  roots(): Roots {
    return new Roots(this.nodes.map(({ home }) => databasePath(home)));
  }

  /** What is owed after failed deliveries, at all nodes together. */
  async dlqDepth(): Promise<number> {
    const all = await Promise.all(this.nodes.map((node) => this.status(node)));
    return all.reduce((sum, { replication }) => sum + (replication?.dlqDepth ?? 0), 0);
  }

  /** Waits until every node reaches every other. */
  async healthy(): Promise<void> {
    const end = performance.now() + HEALTHY_WAIT_MS;
    for (const node of this.nodes) {
      for (;;) {
        const peers = (await this.status(node)).replication?.peers ?? [];
        if (peers.length === this.nodes.length - 1 && peers.every(({ state }) => state === 'healthy')) break;
        if (performance.now() > end) throw new Error(`node ${node.number} does not reach its peers`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
  }

  stop(node: MeshProcess): Promise<void> {
    return this.workspace.end(node.child);
  }

  start(node: MeshProcess): Promise<void> {
    return this.processes.start(node);
  }

  async end(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.stop(node)));
  }

  /** Begins to count processor time; the answer says what each node used since, a process that began later all of its. */
  measure(): () => NodeUse[] {
    const before = this.nodes.map(({ child }) => ({ child, seconds: cpuSeconds(child) }));
    return () =>
      this.nodes.map(({ child }, at) => {
        const [from, to] = [before[at]?.child === child ? before[at].seconds : 0, cpuSeconds(child)];
        return {
          cpuSeconds: from === null || to === null ? null : to - from,
          residentMib: residentMib(child),
        };
      });
  }
}

function profiling(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}
