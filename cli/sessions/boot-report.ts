import type { Settings } from '../../node/config/settings.js';
import { databaseName } from '../../node/config/store-url.js';
import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { bootFacts } from '../../node/operations/meta/boot-facts.js';
import { memorySessionStart } from '../../node/operations/meta/memory-session-start.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { systemClock, systemScheduler } from '../../node/seams.js';
import { VERSION } from '../../node/version.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { ParsedArguments } from '../arguments.js';
import { settingsFor } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { failureOf } from '../report-failure.js';
import { folderNamespace } from './folder-namespace.js';

export interface BootAsked {
  /** Null for that of the folder. */
  readonly namespace: string | null;
  readonly folder: string;
  readonly limit: number;
  /** 0 for no bound. */
  readonly budgetTokens: number;
  /** Whole rows, bounded by the tokens of their content; else titles. */
  readonly whole: boolean;
  /** Without facts about the node only the memories are looked up. */
  readonly facts: boolean;
}

export interface Standard {
  readonly namespace: string;
  readonly id: string;
  readonly title: string;
  readonly content: string;
}

export interface BootRow {
  readonly id: string;
  readonly tier: string;
  readonly namespace: string;
  readonly title: string;
  readonly priority: number;
  readonly updated_at: string;
  readonly similar_count?: number;
}

/** What `boot` prints (reference-mcp-cli §2.2, session). */
export interface BootReport {
  /** info: there is no memory; warn: the node cannot be asked. */
  readonly status: 'ok' | 'info' | 'warn';
  readonly version: string;
  readonly db_path: string | null;
  readonly schema_version: string;
  readonly schema_supported: string;
  readonly total_memories: string;
  readonly tier: string;
  readonly embedder: string;
  readonly reranker: string;
  readonly llm: string;
  readonly latency_ms: number;
  readonly namespace: string | null;
  readonly count: number;
  readonly note: string | null;
  readonly fell_back_to_global: boolean;
  readonly standards: readonly Standard[];
  readonly memories: readonly BootRow[];
}

const UNKNOWN = 'unknown';
const SCHEMA = `v${SCHEMA_VERSION}`;

const NOTHING: Omit<BootReport, 'status' | 'note' | 'latency_ms'> = {
  version: VERSION,
  db_path: null,
  schema_version: UNKNOWN,
  schema_supported: SCHEMA,
  ...{ total_memories: UNKNOWN, tier: UNKNOWN, embedder: UNKNOWN, reranker: UNKNOWN, llm: UNKNOWN },
  ...{ namespace: null, count: 0, fell_back_to_global: false, standards: [], memories: [] },
};

/** An agent does not wait longer for its memories. */
const WITHIN_MS = 5_000;
const NO_BOUND = 1_000_000_000;

/** Asks the node for the memories of a session start. Null where boot is switched off; it never fails, but warns. */
export async function bootReport(parsed: ParsedArguments, asked: BootAsked): Promise<BootReport | null> {
  const beganMs = systemClock.monotonicMs();
  const report = (dbPath: string | null, found: Found): BootReport => ({
    ...NOTHING,
    db_path: dbPath,
    ...found,
    latency_ms: Math.round(systemClock.monotonicMs() - beganMs),
  });
  let dbPath: string | null = null;
  try {
    const settings = settingsFor(parsed);
    if (!settings.bootEnabled) return null;
    dbPath = databaseName(settings);
    const gathering = withLocalRunner(parsed, (runner, caller) =>
      gather({ runner, caller, settings }, asked),
    );
    const late = `the node did not answer within ${WITHIN_MS / 1000} s`;
    const found = await withinMs(gathering, WITHIN_MS, fail('UNAVAILABLE', late));
    if (found.ok) return report(dbPath, redacted(found.value, settings));
    return report(dbPath, { status: 'warn', note: found.error.message });
  } catch (error) {
    return report(dbPath, { status: 'warn', note: failureOf(error).message });
  }
}

type Found = Pick<BootReport, 'status' | 'note'> & Partial<BootReport>;

interface Node {
  readonly runner: LocalRunner;
  readonly caller: Caller;
  readonly settings: Settings;
}

async function gather(node: Node, asked: BootAsked): Promise<Result<Found>> {
  const [facts, rows] = await Promise.all([asked.facts ? factsOf(node) : {}, rowsOf(node, asked)]);
  return rows.ok ? ok({ ...facts, ...rows.value }) : failed(rows.error);
}

async function rowsOf(node: Node, asked: BootAsked): Promise<Result<Found>> {
  const usual = node.settings.defaultNamespace;
  const namespace = asked.namespace ?? folderNamespace(asked.folder) ?? usual;
  const own = await startIn(node, namespace, asked);
  if (!own.ok) return own;
  const fallsBack = own.value.memories.length === 0 && namespace !== usual;
  const fallback = fallsBack ? await startIn(node, usual, asked) : own;
  if (!fallback.ok) return fallback;
  const { memories } = fallback.value;
  const standards = [own.value, ...(fallsBack ? [fallback.value] : [])]
    .flatMap((start) => start.standards)
    .filter((one, index, all) => all.findIndex(({ id }) => id === one.id) === index);
  const kept = asked.whole ? memories : withinBudget(memories, standards, asked.budgetTokens);
  const empty = kept.length === 0 && standards.length === 0;
  return ok({
    status: empty ? 'info' : 'ok',
    note: noteOf(namespace, usual, fallsBack, kept.length),
    namespace,
    count: kept.length,
    fell_back_to_global: fallsBack && kept.length > 0,
    standards,
    memories: kept,
  });
}

function noteOf(namespace: string, usual: string, fellBack: boolean, count: number): string | null {
  const none = `no memories in ${namespace}`;
  if (count > 0) return fellBack ? `${none}; these are from ${usual}` : null;
  return namespace === usual ? none : `${none} or ${usual}`;
}

interface Start {
  readonly standards: readonly Standard[];
  readonly memories: readonly BootRow[];
}

async function startIn(node: Node, namespace: string, asked: BootAsked): Promise<Result<Start>> {
  const answer = await ask(node, memorySessionStart, {
    namespace,
    limit: asked.limit,
    content: asked.whole ? 'full' : 'none',
    budget_tokens: asked.budgetTokens === 0 ? NO_BOUND : asked.budgetTokens,
  });
  if (!answer.ok) return failed(answer.error);
  const { standard, standards } = answer.value;
  return ok({
    standards: [
      ...(standard === undefined ? [] : [standard]),
      ...((standards ?? []) as object[]),
    ] as Standard[],
    memories: answer.value['memories'] as BootRow[],
  });
}

/** Characters of a line beside its texts, and characters of a token. */
const LINE_CHARACTERS = 80;
const TOKEN_CHARACTERS = 4;

/** The rows whose lines fit beside the standards; the first is always there. */
function withinBudget(rows: readonly BootRow[], standards: readonly Standard[], tokens: number) {
  if (tokens === 0) return rows;
  const charactersMax = tokens * TOKEN_CHARACTERS;
  let used = standards.reduce((sum, one) => sum + one.title.length + one.content.length, 0);
  const over = rows.findIndex(({ title, namespace }, index) => {
    used += title.length + namespace.length + LINE_CHARACTERS;
    return index > 0 && used > charactersMax;
  });
  return over === -1 ? rows : rows.slice(0, over);
}

async function factsOf(node: Node): Promise<Partial<BootReport>> {
  const answer = await ask(node, bootFacts, {});
  if (!answer.ok) return {};
  const { tier, embedder, reranker, llm, schema, total } = answer.value as Readonly<Record<string, string>>;
  return {
    tier: tier!,
    ...{ embedder: embedder!, reranker: reranker!, llm: llm! },
    schema_version: schema === null ? UNKNOWN : `v${schema}`,
    total_memories: total === null ? UNKNOWN : String(total),
  };
}

const ask = ({ runner, caller }: Node, operation: Operation, input: Record<string, unknown>) =>
  runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });

function withinMs<T>(work: Promise<T>, ms: number, late: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = systemScheduler.after(ms, () => resolve(late), { keepAlive: true });
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

const REDACTED = '<redacted>';

/** The report without texts, where the operator wants that. */
function redacted(found: Found, { bootRedactTitles }: Settings): Found {
  if (!bootRedactTitles) return found;
  const { memories = [], standards = [] } = found;
  return {
    ...found,
    standards: standards.map((one) => ({ ...one, title: REDACTED, content: '' })),
    memories: memories.map((row) => ({ ...row, title: REDACTED, content: '', tags: [], metadata: {} })),
  };
}
