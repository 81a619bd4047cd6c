import { FileSurface } from './file-surface.js';
import { HintSurface } from './hint-surface.js';
import { HttpSurface } from './http-surface.js';
import { exportOf, importRefused, importRequests } from './import-requests.js';
import { JoinSurface } from './join-surface.js';
import { LocalSocketSurface } from './local-surface.js';
import { McpSurface } from './mcp-surface.js';
import { startMeshTarget } from './mesh-target.js';
import { PeerSurface } from './peer-surface.js';
import type { Surface, SurfaceOptions } from './surface.js';
import { Target } from './targets.js';

/** Inputs for each surface; those that are not named are left alone. */
export type Counts = Partial<Record<SurfaceName, number>>;
export type SurfaceName = keyof typeof OPENERS;

export interface FuzzPlan {
  readonly seed: number;
  readonly counts: Counts;
  /** Slices of the run; each surface is proven after each. */
  readonly slices: number;
  readonly log: (line: string) => void;
}

/** The daemons of a run, started when the first surface needs them. */
class Targets {
  plain: Target | null = null;
  mesh: Awaited<ReturnType<typeof startMeshTarget>> | null = null;

  async api(): Promise<Target> {
    this.plain ??= await Target.start();
    return this.plain;
  }

  async peers() {
    this.mesh ??= await startMeshTarget();
    return this.mesh;
  }

  all(): Target[] {
    return [this.plain, this.mesh?.target ?? null].filter((target) => target !== null);
  }
}

const OPENERS = {
  http: async (targets: Targets, options: SurfaceOptions) => new HttpSurface(await targets.api(), options),
  mcp: async (targets: Targets, options: SurfaceOptions) =>
    McpSurface.open((await targets.api()).daemon.home, options),
  imports: async (targets: Targets, options: SurfaceOptions) => {
    const target = await targets.api();
    const draw = importRequests(await exportOf(target.daemon.base));
    return new HttpSurface(target, options, 'imports', draw, importRefused);
  },
  files: async (targets: Targets, options: SurfaceOptions) =>
    new FileSurface(await exportOf((await targets.api()).daemon.base), options),
  local: async (targets: Targets, options: SurfaceOptions) =>
    LocalSocketSurface.open(await targets.api(), options),
  joins: async (targets: Targets, options: SurfaceOptions) => new JoinSurface(await targets.peers(), options),
  peers: async (targets: Targets, options: SurfaceOptions) =>
    PeerSurface.open(await targets.peers(), options),
  hints: async (targets: Targets, options: SurfaceOptions) => new HintSurface(await targets.peers(), options),
} satisfies Record<string, (targets: Targets, options: SurfaceOptions) => Promise<Surface>>;

/** What a daemon may grow by in a run; in one of several slices, after the first. */
const GROWTH_BYTES_MAX = 256 * 1024 * 1024;

/** Sends drawn inputs to the surfaces by turns, and fails at the first fault; a failure names the seed. */
export async function fuzz({ seed, counts, slices, log }: FuzzPlan): Promise<void> {
  const targets = new Targets();
  const names = Object.keys(counts) as SurfaceName[];
  const surfaces: { readonly surface: Surface; readonly count: number; sent: number; ms: number }[] = [];
  let at = 'the start';
  try {
    for (const [index, name] of names.entries()) {
      at = name;
      const count = counts[name]!;
      const surface = await OPENERS[name](targets, { seed: seed + 1000 * index, count });
      surfaces.push({ surface, count, sent: 0, ms: 0 });
    }
    for (let slice = 1; slice <= slices; slice += 1) {
      for (const turn of surfaces) {
        at = turn.surface.name;
        const startedMs = performance.now();
        const upTo = Math.round((turn.count * slice) / slices);
        for (; turn.sent < upTo; ) {
          const size = Math.min(upTo - turn.sent, CHUNK);
          await turn.surface.send(size);
          turn.sent += size;
        }
        turn.ms += performance.now() - startedMs;
        await turn.surface.check();
        for (const target of targets.all()) await target.check();
      }
      if (slice === 1 && slices > 1) for (const target of targets.all()) target.filled();
      if (slices > 1)
        log(
          `slice ${slice} of ${slices}: ${targets
            .all()
            .map((target) => target.memory(GROWTH_BYTES_MAX))
            .join('; ')}`,
        );
    }
    for (const { surface, sent, ms } of surfaces) {
      at = surface.name;
      await surface.end();
      const rate = Math.round((1000 * sent) / ms);
      log(`${surface.name}: ${sent} in ${(ms / 1000).toFixed(1)} s (${rate}/s): ${surface.summary()}`);
    }
    for (const target of targets.all()) log(target.memory(GROWTH_BYTES_MAX));
    for (const target of targets.all()) await target.end();
  } catch (error) {
    for (const { daemon } of targets.all()) daemon.child.kill('SIGKILL');
    // Nothing that is still open may hold the process of the test.
    await Promise.allSettled(surfaces.map(({ surface }) => surface.end()));
    if (error instanceof Error)
      error.message = `${at}: ${error.message}\nFUZZ_SEED=${seed} draws the same again`;
    throw error;
  }
}

/** Inputs that are drawn at once. */
const CHUNK = 2000;

/** The seed that the environment names, or the given one. */
export function fuzzSeed(otherwise: number): number {
  const seed = Number(process.env['FUZZ_SEED'] ?? otherwise);
  if (!Number.isSafeInteger(seed)) throw new Error('FUZZ_SEED is no whole number');
  return seed;
}
