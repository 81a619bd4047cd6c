import { uuidOfDigest } from '../../protocol/base/ids.js';
import { type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { CURATOR, CURATOR_VIEWER } from '../../protocol/curation/curator.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { Caller } from '../identity/caller.js';
import type { Question } from '../models/models.js';
import { type CuratorCommand, curatorWrite } from '../operations/curator/curator-writes.js';
import { consult, vetoOf } from '../pipeline/run-hooks.js';
import type { RunOfJob } from './job-work.js';

/** The curator as a caller. */
export const CURATOR_CALLER: Caller = {
  ...{ agentId: CURATOR, claimed: 'explicit', viewer: CURATOR_VIEWER, admin: false, local: true },
};

/** Failures that are of the node and not of what is curated: the cycle ends, and goes on later. */
const OF_THE_NODE: ReadonlySet<string> = new Set([
  ...['JOB_ENDED', 'SHUTTING_DOWN', 'UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL', 'STORAGE_READ_ONLY'],
  ...['CLOCK_AHEAD', 'HOME_UNREACHABLE', 'INTERNAL'],
]);

export const isOfTheNode = ({ code }: Failure): boolean => OF_THE_NODE.has(code);

/** What one run of a cycle reads, asks and writes with. */
export class CuratorPen {
  readonly #run: RunOfJob;

  constructor(run: RunOfJob) {
    this.#run = run;
  }

  get now(): string {
    return instantFromMs(this.#run.services.clock.nowMs());
  }

  /** The id of what a step of this cycle makes: a repeated step makes it again. */
  idOf(name: string): string {
    return uuidOfDigest(this.#run.services.crypto.sha256Hex(`mnemesh/${this.#run.id} ${name}`));
  }

  /** Tells one text from another. */
  markOf({ title, content }: Pick<MemoryRow, 'title' | 'content'>): string {
    return this.#run.services.crypto.sha256Hex(`${title}\n${content}`).slice(0, 32);
  }

  /** A memory; null where it is gone. */
  async row(id: string): Promise<Result<MemoryRow | null>> {
    const found = await this.#run.services.store.query({
      ...{ kind: 'get-memory', id, linksMax: 0, viewer: CURATOR_VIEWER, now: this.now },
    });
    if (found.ok) return ok(found.value.memory.id === id ? found.value.memory : null);
    return found.error.code === 'NOT_FOUND' ? ok(null) : failed(found.error);
  }

  ask<T>(question: Question<T>): Promise<Result<T>> {
    const { services, deadlineMs, signal } = this.#run;
    return services.models.ask(question, { deadlineMs, signal });
  }

  /** Asks the hooks of an event; what they rewrite, or their denial. */
  async consult(
    event: HookEvent,
    namespace: string,
    payload: Readonly<Record<string, unknown>>,
  ): Promise<Result<Readonly<Record<string, unknown>>>> {
    const { hooks, store, clock, log } = this.#run.services;
    if (!hooks.has(event)) return ok({});
    const asking = { hooks, store, clock, log, agentId: CURATOR, now: this.now, endMs: this.#run.deadlineMs };
    const verdict = await consult(asking, { event, namespace, payload });
    return 'denial' in verdict ? failed(vetoOf(event, verdict.denial)) : ok(verdict.delta);
  }

  /** The memories that the hooks before a pass leave of its candidates: none but those that were named. */
  async leftBy(
    passName: string,
    namespace: string,
    ids: readonly string[],
  ): Promise<Result<readonly string[]>> {
    const payload = { pass_name: passName, candidate_ids: ids, namespace };
    const said = await this.consult('pre_compaction', namespace, payload);
    if (!said.ok) return failed(said.error);
    const left = said.value['candidate_ids'];
    return ok(Array.isArray(left) ? ids.filter((id) => left.includes(id)) : ids);
  }

  async write(name: string, command: CuratorCommand): Promise<Result<string>> {
    const written = await this.#run.call(curatorWrite, { name, input: { command }, caller: CURATOR_CALLER });
    return written.ok ? ok(String(written.value['id'])) : failed(written.error);
  }
}
