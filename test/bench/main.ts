import { availableParallelism, loadavg } from 'node:os';
import type { Bench } from './bench.js';
import { COMPARED, compareBuilds } from './compare.js';
import { type BenchOptions, type Chosen, parseOptions, UsageError } from './options.js';
import { progressFor } from './progress.js';
import { type BenchResult, renderTable } from './report.js';
import { rounded } from './statistics.js';
import { Workspace } from './workspace.js';

/** Loaded by name: a benchmark's imports must not weigh on the others. */
const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  start: async () => (await import('./start.js')).startBench,
  store: async () => (await import('./store.js')).storeBench,
  policy: async () => (await import('./policy.js')).policyBench,
  look: async () => (await import('./look.js')).lookBench,
  agents: async () => (await import('./agents.js')).agentsBench,
  recall: async () => (await import('./recall.js')).recallBench,
  events: async () => (await import('./events.js')).eventsBench,
  coordination: async () => (await import('./coordination.js')).coordinationBench,
  intelligence: async () => (await import('./intelligence.js')).intelligenceBench,
  graph: async () => (await import('./graph.js')).graphBench,
  mixed: async () => (await import('./mixed.js')).mixedBench,
  hybrid: async () => (await import('./hybrid.js')).hybridBench,
  vectors: async () => (await import('./vectors-bench.js')).vectorsBench,
  mesh: async () => (await import('./mesh.js')).meshBench,
  catchup: async () => (await import('./catchup.js')).catchupBench,
  inprocess: async () => (await import('./inprocess.js')).inprocessBench,
  paraphrase: async () => (await import('./paraphrase.js')).paraphraseBench,
  score: async () => (await import('./score.js')).scoreBench,
  notes: async () => (await import('./notes.js')).notesBench,
  passages: async () => (await import('./passages.js')).passagesBench,
  retrieval: async () => (await import('./retrieval.js')).retrievalBench,
};

const OPTIONS = `Options: --json, --quick, --seconds <n>, --clients <n,n>, --nodes <n,n>, --rows <n,n>, --scale <n>, --iterations <n>, --warmup <n>,
--keyword, --signed, --tasks session,turn, --questions <n>, --db-cache <folder>, --folder <parent of temporary folders>,
--store-url <server of PostgreSQL, for store, recall and graph>, --cpu-prof <folder for the profiles of daemons and MCP servers>

npm run bench -- compare <folder of another build> [name...] [--pairs 3] [options] runs both builds in turn, and prints ratios with their spread.`;

/** Not a benchmark: it runs those of two builds. */
const COMPARE = 'compare';

async function main(): Promise<void> {
  const { chosen, options } = parseOptions(
    process.argv.slice(2),
    new Set([...Object.keys(BENCHES), COMPARE]),
  );
  const [first, ...others] = chosen;
  if (first?.name === COMPARE) return await compare(first, others, options);
  const all = chosen.length === 0;
  const loaded = await Promise.all(
    (all ? Object.keys(BENCHES).map((name): Chosen => ({ name, args: [] })) : chosen).map(
      async ({ name, args }) => ({ bench: await BENCHES[name]!(), args }),
    ),
  );
  if (all && !options.json) {
    console.log(
      'Benchmarks: npm run bench -- <name...> [options]. Without a name, the short form of each:\n',
    );
    for (const { bench } of loaded)
      console.log(`  ${bench.name.padEnd(10)} ${bench.summary}\n  ${' '.repeat(10)} ${bench.usage}`);
    console.log(`\n${OPTIONS}\n`);
  }
  // Figures of a machine with other work are ratios at best; the reader has to know.
  const machine = { cores: availableParallelism(), load_average: rounded(loadavg()[0]!) };
  if (!options.json)
    console.log(`${machine.cores} cores, load average ${machine.load_average} before the run`);
  const progress = progressFor(options.json);
  const documents: Record<string, unknown> = {};
  for (const { bench, args } of loaded) {
    if (all && bench.alone === true) continue;
    const workspace = new Workspace(options.folder);
    const interrupted = () => {
      void workspace.abandon().finally(() => process.exit(130));
    };
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    let result: BenchResult;
    try {
      result = await bench.run({
        options: all ? { ...options, quick: true } : options,
        args,
        progress,
        workspace,
      });
    } finally {
      progress.end();
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      await workspace.close();
    }
    documents[bench.name] = result.json;
    if (!options.json) for (const table of result.tables) console.log(`\n${renderTable(table)}`);
  }
  if (!options.json) return;
  const names = Object.keys(documents);
  console.log(JSON.stringify(names.length === 1 ? documents[names[0]!] : documents, null, 2));
}

async function compare(
  { args }: Chosen,
  named: readonly Chosen[],
  { pairs, json }: BenchOptions,
): Promise<void> {
  const [folder, ...further] = args;
  if (folder === undefined || further.length > 0)
    throw new UsageError('compare takes the folder of one other build, and then names of benchmarks');
  const benches = named.length === 0 ? COMPARED : named.map(({ name }) => name);
  const words = new Set([COMPARE, folder, ...benches]);
  const own = process.argv.slice(2).filter((word) => !words.has(word) && word !== '--json');
  const at = own.findIndex((word) => word === '--pairs' || word.startsWith('--pairs='));
  if (at !== -1) own.splice(at, own[at] === '--pairs' ? 2 : 1);
  const progress = progressFor(json);
  const ended = new AbortController();
  const end = () => ended.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  const comparison = { folder, benches, pairs, options: own };
  const result = await compareBuilds(comparison, progress, ended.signal).finally(() => progress.end());
  if (json) console.log(JSON.stringify(result.json, null, 2));
  else for (const table of result.tables) console.log(`\n${renderTable(table)}`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
