import { lookAlikeNotes } from '../support/look-alike-notes.js';
import type { Bench, BenchContext } from './bench.js';
import { McpAgent } from './mcp-agent.js';
import type { BenchResult } from './report.js';
import { startDaemonProcess } from './servers.js';
import { percentiles, rounded } from './statistics.js';

const STORES = 2000;
/** Each way is measured this often, in turn, because other work of the machine comes and goes. */
const ROUNDS = 2;

/** What the look for near duplicates costs a store: look-alike notes in a row over MCP beside a daemon that embeds. */
export const lookBench: Bench = {
  name: 'look',
  summary: 'Stores in a row over MCP beside a daemon, with and without the look for near duplicates.',
  usage: '',
  run: runLook,
};

interface LookRow {
  readonly look: boolean;
  readonly times: readonly number[];
  readonly failed: number;
}

async function runLook(context: BenchContext): Promise<BenchResult> {
  const { options, progress } = context;
  const stores = options.quick ? 60 : STORES;
  const rows: LookRow[] = [];
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round += 1) {
    for (const look of [false, true]) {
      progress.step(`look: ${look ? 'with' : 'without'}, round ${round + 1}`);
      rows.push({ look, ...(await storeInARow(context, look, stores)) });
    }
  }
  const merged = [false, true].map((look) => {
    const own = rows.filter((row) => row.look === look);
    const times = percentiles(own.flatMap((row) => row.times));
    return { look, times, failed: own.reduce((sum, row) => sum + row.failed, 0) };
  });
  const [without, together] = merged;
  const more = together!.times.p50 - without!.times.p50;
  return {
    tables: [
      {
        title: `look: ${stores} look-alike notes in a row over MCP beside a daemon with the built-in embedder`,
        columns: ['look', 'p50 ms', 'p99 ms', 'errors'],
        rows: merged.map(({ look, times, failed }) => [
          look ? 'with' : 'without',
          times.p50,
          times.p99,
          failed,
        ]),
        notes: [`the look adds ${rounded(more, 2)} ms to the p50; the goal is at most 1 ms`],
      },
    ],
    json: {
      stores,
      more_p50_ms: rounded(more, 3),
      rows: merged.map(({ look, times, failed }) => ({ look, p50_ms: times.p50, p99_ms: times.p99, failed })),
    },
  };
}

async function storeInARow({ workspace, options }: BenchContext, look: boolean, stores: number) {
  const home = workspace.folder();
  const env = { SVC_EMBED_BACKEND: 'builtin', SVC_NEAR_DUPLICATE: look ? 'flag' : 'off' };
  const daemon = await startDaemonProcess(workspace, home, env, options.cpuProf);
  const agent = await McpAgent.start(workspace, home, 'bench-look', { cpuProf: options.cpuProf });
  const times: number[] = [];
  let failed = 0;
  for (const note of lookAlikeNotes(stores)) {
    const start = performance.now();
    const failure = await agent.failureOf('memory_store', { ...note, namespace: 'bench/look' });
    if (failure === null) times.push(performance.now() - start);
    else failed += 1;
  }
  await agent.stop();
  await daemon.stop();
  return { times, failed };
}
