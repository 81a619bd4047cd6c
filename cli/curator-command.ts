import type { Caller } from '../node/identity/caller.js';
import type { LocalRunner } from '../node/local/local-runner.js';
import { curatorBegin, curatorPreview, curatorRollback } from '../node/operations/curator/curator.js';
import { jobsShow } from '../node/operations/meta/jobs.js';
import type { Operation } from '../node/pipeline/operation.js';
import { systemClock, systemScheduler } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import { CURATOR } from '../protocol/curation/curator.js';
import {
  CURATOR_INTERVAL_SECS,
  CURATOR_INTERVAL_SECS_MAX,
  CURATOR_INTERVAL_SECS_MIN,
} from '../protocol/curation/limits.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet } from './global-flags.js';
import { withLocalNode, withLocalRunner } from './local-node.js';
import { Pause } from './pause.js';
import { onSignals } from './signals.js';
import type { Terminal } from './terminal.js';
import { objectView } from './views/object-view.js';

/** How often the node is asked whether the cycle has ended. */
const ASK_MS = 250;
const ENDED: ReadonlySet<unknown> = new Set(['done', 'failed', 'cancelled', 'paused']);

/** Curates memories, and undoes that (reference-mcp-cli §2.2, §6.9). */
export const curatorCommand = defineCommand({
  name: 'curator',
  summary:
    'Have models tag memories, find contradictions, join look-alikes and write reflections; or undo that.',
  flags: [
    { name: 'once', kind: 'switch', doc: 'One cycle' },
    { name: 'daemon', kind: 'switch', doc: 'A cycle in each interval, until the process is ended' },
    {
      ...{ name: 'interval-secs', kind: 'value', value: 'seconds' },
      doc: `Seconds between cycles with --daemon, ${CURATOR_INTERVAL_SECS_MIN} to ${CURATOR_INTERVAL_SECS_MAX} (default ${CURATOR_INTERVAL_SECS})`,
    },
    { name: 'max-ops', kind: 'value', value: 'number', doc: 'Questions to a model in a cycle (default 100)' },
    {
      name: 'dry-run',
      kind: 'switch',
      doc: 'Only say what would be done: no model is asked, nothing is written',
    },
    {
      ...{ name: 'include-namespace', kind: 'value', value: 'namespace' },
      doc: 'Only this namespace; with /** at its end, it and all below it. May be repeated',
    },
    {
      ...{ name: 'exclude-namespace', kind: 'value', value: 'namespace' },
      doc: 'Not this namespace. May be repeated',
    },
    { name: 'rollback', kind: 'value', value: 'id', doc: 'Undo what the record with this id says' },
    {
      name: 'rollback-last',
      kind: 'value',
      value: 'number',
      doc: 'Undo the last so many things, the newest first',
    },
    { name: 'reflect', kind: 'switch', doc: 'Write reflections on observations that were recalled lately' },
    { name: 'namespace', short: 'n', kind: 'value', value: 'namespace', doc: 'Where --reflect looks' },
    { name: 'all-namespaces', kind: 'switch', doc: '--reflect looks everywhere' },
    {
      name: 'max-depth',
      kind: 'value',
      value: 'number',
      doc: 'Depth of a reflection at most, 1 to 3 (default 3)',
    },
  ],
  examples: [
    'curator --once --dry-run',
    'curator --once --include-namespace "team/**" --json',
    'curator --daemon --interval-secs 3600 --reflect --all-namespaces',
    'curator --rollback-last 1',
  ],
  run: async (parsed, terminal) => {
    const asked = askedBy(parsed);
    if (!asked.ok) return failed(asked.error);
    const { rollback, cycle, intervalMs } = asked.value;
    if (rollback !== null) return rolledBack(parsed, terminal, rollback);
    if (intervalMs === null) return once(parsed, terminal, cycle, new AbortController().signal);
    return endlessly(parsed, terminal, cycle, intervalMs);
  },
});

type Fields = Readonly<Record<string, unknown>>;

interface Asked {
  readonly rollback: Fields | null;
  readonly cycle: Fields;
  /** Null for one cycle. */
  readonly intervalMs: number | null;
}

const wrong = (message: string, ...fields: string[]): Result<never> =>
  fail('VALIDATION_FAILED', message, { fields });

/** Which values a flag has as whole numbers; the node checks their range. */
function numberOf(parsed: ParsedArguments, name: string): Result<number | undefined> {
  const text = flagValue(parsed, name);
  if (text === undefined) return ok(undefined);
  return /^\d{1,9}$/.test(text) ? ok(Number(text)) : wrong(`--${name} must be a whole number`, name);
}

function askedBy(parsed: ParsedArguments): Result<Asked> {
  const modes = ['once', 'daemon'].filter((name) => isSet(parsed, name));
  const undone = ['rollback', 'rollback-last'].filter((name) => parsed.flags.has(name));
  if (modes.length + undone.length !== 1)
    return wrong('give one of --once, --daemon, --rollback, --rollback-last', 'once', 'daemon', 'rollback');
  const numbers: Record<string, number | undefined> = {};
  for (const name of ['max-ops', 'max-depth', 'rollback-last', 'interval-secs']) {
    const number = numberOf(parsed, name);
    if (!number.ok) return failed(number.error);
    numbers[name] = number.value;
  }
  const id = flagValue(parsed, 'rollback');
  const last = numbers['rollback-last'];
  const rollback = undone.length === 0 ? null : given({ id, last });
  const reflects = isSet(parsed, 'reflect');
  const [namespace, everywhere] = [flagValue(parsed, 'namespace'), isSet(parsed, 'all-namespaces')];
  if (reflects !== (namespace !== undefined || everywhere))
    return wrong(
      reflects
        ? '--reflect needs one of --namespace, --all-namespaces'
        : '--namespace and --all-namespaces belong to --reflect',
      'namespace',
      'all-namespaces',
    );
  if (namespace !== undefined && everywhere)
    return wrong('give one of --namespace, --all-namespaces', 'namespace', 'all-namespaces');
  const cycle = given({
    ...{
      mode: reflects ? 'reflect' : 'curate',
      max_ops: numbers['max-ops'],
      max_depth: numbers['max-depth'],
    },
    include_namespaces: namespace === undefined ? parsed.flags.get('include-namespace') : [namespace],
    exclude_namespaces: parsed.flags.get('exclude-namespace'),
  });
  if (modes[0] !== 'daemon' && numbers['interval-secs'] !== undefined)
    return wrong('--interval-secs belongs to --daemon', 'interval-secs');
  // As in the reference, an interval outside of the range is moved into it.
  const seconds = Math.min(
    CURATOR_INTERVAL_SECS_MAX,
    Math.max(CURATOR_INTERVAL_SECS_MIN, numbers['interval-secs'] ?? CURATOR_INTERVAL_SECS),
  );
  return ok({ rollback, cycle, intervalMs: modes[0] === 'daemon' ? seconds * 1000 : null });
}

const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

async function called(
  runner: LocalRunner,
  caller: Caller,
  operation: Operation,
  input: Fields,
): Promise<Result<Fields>> {
  const answer = await runner.run(operation, { surface: 'cli', caller, unknownFields: 'refuse', input });
  return answer.ok ? ok(answer.value) : failed(answer.error);
}

async function rolledBack(
  parsed: ParsedArguments,
  terminal: Terminal,
  input: Fields,
): Promise<Result<number>> {
  return withLocalRunner(parsed, async (runner, caller) => {
    const answer = await called(runner, caller, curatorRollback, input);
    if (!answer.ok) return failed(answer.error);
    await print(parsed, terminal, answer.value);
    return ok((answer.value['failed'] as readonly unknown[]).length === 0 ? 0 : 1);
  });
}

const print = (parsed: ParsedArguments, terminal: Terminal, answer: Fields): Promise<void> =>
  terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : objectView(answer));

async function endlessly(
  parsed: ParsedArguments,
  terminal: Terminal,
  cycle: Fields,
  intervalMs: number,
): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, intervalMs);
  const stop = new AbortController();
  onSignals(systemClock, () => {
    stop.abort();
    pause.end();
  });
  while (!pause.ended && !terminal.closed) {
    const one = await once(parsed, terminal, cycle, stop.signal);
    if (!one.ok && !stop.signal.aborted) return one;
    await pause.take();
  }
  return ok(0);
}

/** One cycle: by the process that owns the database, or else by this one. */
async function once(
  parsed: ParsedArguments,
  terminal: Terminal,
  cycle: Fields,
  signal: AbortSignal,
): Promise<Result<number>> {
  if (isSet(parsed, 'dry-run')) {
    return withLocalRunner(parsed, async (runner, caller) => {
      const said = await called(runner, caller, curatorPreview, cycle);
      if (!said.ok) return failed(said.error);
      await print(parsed, terminal, said.value);
      return ok(0);
    });
  }
  const begun = await withLocalRunner<Fields>(parsed, (runner, caller) =>
    called(runner, caller, curatorBegin, cycle),
  );
  if (!begun.ok) return failed(begun.error);
  const { id, writer } = begun.value;
  for (let first = true; ; first = false) {
    if (writer === 'process') {
      const done = await doneHere(parsed, first, signal);
      if (!done.ok) return failed(done.error);
    }
    const job = await ended(parsed, String(id), writer === 'process', signal);
    if (!job.ok) return failed(job.error);
    if (job.value === null && !signal.aborted) continue;
    return said(parsed, terminal, String(id), job.value);
  }
}

async function doneHere(
  parsed: ParsedArguments,
  takesOver: boolean,
  signal: AbortSignal,
): Promise<Result<number>> {
  const { runJobsHere } = await import('../node/jobs/run-here.js');
  return withLocalNode(parsed, async (services) => {
    const done = await runJobsHere(services, { type: 'curator', caller: CURATOR, takesOver }, signal);
    return done.ok ? ok(0) : failed(done.error);
  });
}

/** The job when it has ended, or waits for more than its turn; null where this process should look for it again. */
async function ended(
  parsed: ParsedArguments,
  id: string,
  looksOnce: boolean,
  signal: AbortSignal,
): Promise<Result<Fields | null>> {
  return withLocalRunner<Fields | null>(parsed, async (runner, caller) => {
    const pause = new Pause(systemScheduler, ASK_MS);
    for (let looks = 0; ; looks += 1) {
      const shown = await called(runner, caller, jobsShow, { id });
      if (!shown.ok) return failed(shown.error);
      const job = shown.value['job'] as Fields;
      const waits = job['state'] === 'queued' && job['error_code'] !== undefined;
      if (ENDED.has(job['state']) || waits || signal.aborted) return ok(job);
      if (looksOnce && looks > 0) return ok(null);
      await pause.take();
    }
  });
}

async function said(
  parsed: ParsedArguments,
  terminal: Terminal,
  id: string,
  job: Fields | null,
): Promise<Result<number>> {
  if (job?.['state'] === 'done') {
    await print(parsed, terminal, job['result'] as Fields);
    return ok(0);
  }
  const why = job?.['error'] === undefined ? '' : `: ${String(job['error'])}`;
  return fail(
    'JOB_STATE_INVALID',
    `the cycle is ${String(job?.['state'] ?? 'queued')}${why}; "mnemesh jobs show ${id}" says more`,
  );
}
