import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadAnswer, LoadFigures, LoadPlan, LoadResult, LoadStream } from './load-plan.js';
import type { Workspace } from './workspace.js';

/** The agent that the load acts as: named, because a nameless one is written to the log. */
export const AGENT = 'ai:bench';
const HEADERS = { 'x-agent-id': AGENT };

/** The load generator's process, from the outside. */
export class LoadGenerator {
  private constructor(
    private readonly child: ChildProcess,
    private readonly workspace: Workspace,
  ) {}

  static start(workspace: Workspace): LoadGenerator {
    const child = fork(fileURLToPath(new URL('./load-generator.js', import.meta.url)), { execArgv: [] });
    return new LoadGenerator(workspace.adopt(child), workspace);
  }

  /** Makes one load; rejects when a server cannot be reached or understood. */
  run(
    port: number,
    times: Pick<LoadPlan, 'warmupMs' | 'durationMs'>,
    streams: readonly LoadStream[],
    requestsMax: number | null = null,
  ) {
    const plan: LoadPlan = { host: '127.0.0.1', port, headers: HEADERS, ...times, requestsMax, streams };
    return new Promise<LoadResult>((resolve, reject) => {
      const gone = () => reject(new Error('the load generator ended'));
      this.child.once('exit', gone);
      this.child.once('message', (message) => {
        this.child.off('exit', gone);
        const answer = message as LoadAnswer;
        if ('result' in answer) resolve(answer.result);
        else reject(new Error(`the load generator failed: ${answer.error}`));
      });
      this.child.send(plan);
    });
  }

  stop(): Promise<void> {
    return this.workspace.end(this.child);
  }
}

const NOTHING = {
  ratePerSecond: null,
  reads: [],
  suffix: false,
  storeEvery: 0,
  namespaces: [],
  storeLabel: 'store',
  signAs: null,
  signedAhead: 0,
  mark: null,
} as const;

/** Eight hex digits, so that two runs on one database do not meet in their titles. */
export const titlePrefix = () =>
  `cap-${Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`;

/** Clients that store and do nothing else. */
export function storing(clients: number, namespace: string, ratePerSecond: number | null = null): LoadStream {
  return {
    ...NOTHING,
    clients,
    ratePerSecond,
    storeEvery: 1,
    namespaces: [namespace],
    titlePrefix: titlePrefix(),
  };
}

/** The same with signatures of the agent of the load. */
export function signing(stream: LoadStream, times: { warmupMs: number; durationMs: number }): LoadStream {
  const seconds = (times.warmupMs + times.durationMs) / 1000;
  return { ...stream, signAs: AGENT, signedAhead: Math.ceil(seconds * SIGNED_PER_SECOND) };
}

/** A run may last this long at most. */
const COUNTED_RUN_MS = 120_000;

/** A number of signed stores, as fast as the answers come; `marked` counts those that met their quorum. */
export function signedStores(load: LoadGenerator, port: number, clients: number, count: number) {
  const stream = {
    ...storing(clients, SIGNED_NAMESPACE),
    signAs: AGENT,
    // Each client may be about to begin one more when the last of them is taken.
    signedAhead: count + clients,
    mark: '"quorum_acks"',
  };
  return load.run(port, { warmupMs: 0, durationMs: COUNTED_RUN_MS }, [stream], count);
}

const SIGNED_NAMESPACE = 'bench/mesh';

/** More than a daemon takes. */
const SIGNED_PER_SECOND = 8000;

/** Clients that recall. With `storeEvery`, one request of so many is a store instead. */
export function recalling(
  clients: number,
  reads: LoadStream['reads'],
  rest: Partial<LoadStream> = {},
): LoadStream {
  return { ...NOTHING, clients, reads, titlePrefix: titlePrefix(), ...rest };
}

/** The path of a recall; the query stands last so that a word can be appended. */
export function recallPath(query: string, namespace: string | null, limit: number): string {
  const scope = namespace === null ? '' : `&namespace=${encodeURIComponent(namespace)}`;
  return `/api/v1/recall?limit=${limit}${scope}&q=${encodeURIComponent(query)}`;
}

/** The figures of one label. */
export function figuresOf(result: LoadResult, label: string): LoadFigures {
  const figures = result.figures.find((entry) => entry.label === label);
  if (figures === undefined) throw new Error(`no figures were taken for ${label}`);
  return figures;
}

/** Answers per second of a server that has no reason to fail. */
export function limitPerSecond({ figures }: LoadResult): number {
  for (const entry of figures) {
    const failed = failures(entry);
    if (failed !== null) throw new Error(`the bare server failed: ${failed}`);
  }
  return figures.reduce((sum, { perSecond }) => sum + perSecond, 0);
}

/** Failures as one short text for a table, null when there are none. */
export function failures({ failed }: LoadFigures): string | null {
  const entries = Object.entries(failed);
  return entries.length === 0 ? null : entries.map(([status, count]) => `${status}: ${count}`).join(', ');
}
