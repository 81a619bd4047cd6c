import assert from 'node:assert/strict';
import { z } from 'zod';
import type { RunningChild } from '../../actors/core/child.js';
import { loadSettings } from '../../node/config/load-settings.js';
import type { JobWorks } from '../../node/jobs/job-works.js';
import { openJobs } from '../../node/jobs/open-jobs.js';
import type { Services } from '../../node/pipeline/call.js';
import { ReadLimiter } from '../../node/pipeline/read-limits.js';
import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { type Job, jobKind } from '../../protocol/jobs/job-kind.js';
import type { JobTypes } from '../../protocol/jobs/job-types.js';
import type { JobOutcome } from '../../protocol/jobs/run-jobs.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import type { Connection } from '../../storage/sql/connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { FakeScheduler } from '../actors/fake-scheduler.js';
import { recordingLog } from '../storage/vectors/real-seams.js';
import { UNLIMITED } from './memories.js';
import { openTestDatabase } from './test-store.js';

/** Two types that need a model, and one that needs nothing. */
export const TYPES: JobTypes = {
  tag: { input: z.object({ n: z.int() }), lane: 'model', attempts: 3 },
  sum: { input: z.object({ n: z.int() }), lane: 'model', attempts: 2 },
  plain: { input: z.object({ n: z.int() }), lane: 'plain', attempts: 3 },
};

/** A process that does the jobs of the database. */
export interface JobProcess {
  readonly ended: readonly (readonly [type: string, became: JobOutcome])[];
  owns: boolean;
  stop(): Promise<void>;
}

/** A database with jobs, in virtual time. */
export class JobsNode {
  readonly scheduler: FakeScheduler;
  readonly store: InlineStore;
  readonly db: Connection;

  constructor(startMs = Date.parse('2026-03-01T12:00:00.000Z')) {
    this.scheduler = new FakeScheduler(startMs);
    this.db = openTestDatabase({
      ...{
        path: ':memory:',
        identity: { peerId: 'peer-00000000000000aa' },
        nowMs: startMs,
        crypto: systemCrypto,
      },
      ...{ freshEpoch: '00112233aabbccdd', busyTimeoutMs: 100 },
    });
    this.store = new InlineStore({
      ...{ db: this.db, clock: this.scheduler, scheduler: systemScheduler, random: systemRandom },
      ...{ crypto: systemCrypto, signer: null, shared: false, policy: UNLIMITED },
      reportBug: (error) => {
        throw error;
      },
    });
  }

  /** Queues jobs `<type>:<n>` as their causes do. */
  queue(type: string, numbers: readonly number[], caller = 'ai:one'): void {
    const instant = (at: number) => new Date(this.scheduler.nowMs() - numbers.length + at).toISOString();
    const insert = this.db.prepare(
      `INSERT INTO jobs (id, type, state, caller, local, input, due_at, created_at, runs, attempts, interruptions, waits, steps)
       VALUES (?, ?, 'queued', ?, 1, ?, ?, ?, 0, 0, 0, 0, '{}')`,
    );
    this.db.transaction(() => {
      for (const [at, n] of numbers.entries())
        insert.run(`${type}:${n}`, type, caller, JSON.stringify({ n }), instant(at), instant(at));
    })();
  }

  async start(works: JobWorks): Promise<JobProcess> {
    const ended: (readonly [string, JobOutcome])[] = [];
    const settings = loadSettings({}, { env: {} });
    const services = {
      ...{ store: this.store, clock: this.scheduler, random: systemRandom, crypto: systemCrypto },
      ...{ log: recordingLog(), settings, reads: new ReadLimiter({ settings, crypto: systemCrypto }) },
    } as unknown as Services;
    const process: JobProcess = { ended, owns: true, stop: () => running.stop() };
    const dispatcher = openJobs({
      ...{ services, scheduler: this.scheduler, owns: () => process.owns, types: TYPES, works },
      onEnd: (type, became) => void ended.push([type, became]),
    });
    const running: RunningChild = await dispatcher.spec.start(new AbortController().signal);
    return process;
  }

  /** Lets time pass; promises settle in between. */
  async pass(ms: number): Promise<void> {
    await this.scheduler.advance(ms);
    await this.scheduler.settle();
  }

  async job(id: string): Promise<Job> {
    const found = await this.all({ where: { id } });
    assert.ok(found[0], `there is a job ${id}`);
    return found[0];
  }

  async all(asked: object = {}): Promise<readonly Job[]> {
    const found = await this.store.query({
      ...{ kind: 'find-records', of: jobKind.name, viewer: null, now: '', limit: 100_000 },
      ...asked,
    });
    assert.ok(found.ok);
    return rowsOf(jobKind, found.value);
  }

  async states(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { state } of await this.all()) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  async change(change: 'pause' | 'resume' | 'cancel', which: { id: string } | { type: string | null }) {
    return this.store.execute({ kind: 'change-jobs', change, which });
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
