import assert from 'node:assert/strict';
import { join } from 'node:path';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { Dice } from './dice.js';
import { digestOf, settledDigest } from './digest.js';
import { drawRequest, type FuzzRequest } from './http-requests.js';
import { httpProblem, parse } from './oracle.js';
import { type Exchanged, exchange, type RawAnswer } from './raw-http.js';
import { Values } from './values.js';

export interface FuzzPlan {
  readonly seed: number;
  readonly requests: number;
  /** How often what was refused is sent again to see that it changes nothing, in requests. */
  readonly replayEvery: number;
  readonly log: (line: string) => void;
}

const BATCH = 40;
const ANSWER_WITHIN_MS = 10_000;
/** What the heap may grow by after the first tenth of a run. */
const HEAP_GROWTH_BYTES_MAX = 96 * 1024 * 1024;

/**
 * Sends drawn requests to a real daemon and fails at the first answer that is a fault, no answer, or not in the error
 * table, and at a refused request that changed a row. A failure names the seed and holds the request's bytes.
 */
export async function fuzzHttp({ seed, requests, replayEvery, log }: FuzzPlan): Promise<void> {
  const home = temporaryFolder('fuzz-http');
  const path = join(home, 'mnemesh.db');
  const port = await freePort();
  const daemon = await startDaemonProcess(home, port, {
    SVC_ADMIN_AGENT_IDS: 'ai:root',
    SVC_ADMIN_HEADER_TRUST: '1',
    SVC_LOG_LEVEL: 'error',
  });
  const dice = new Dice(seed);
  const values = new Values(dice);
  const counts = new Map<number, number>();
  let refused: FuzzRequest[] = [];
  let heapAtFirst = 0;
  let unchanged = 0;
  const send = async (request: FuzzRequest, index: number): Promise<Exchanged> => {
    const answer = await exchange(port, request.bytes, request.whole, ANSWER_WITHIN_MS);
    const problem = httpProblem(answer, request.whole);
    if (problem !== null) fail(seed, index, request, problem, daemon.errors());
    return answer;
  };
  try {
    for (let sent = 0; sent < requests; sent += BATCH) {
      const batch = Array.from({ length: BATCH }, () => drawRequest(dice, values));
      const answers = await Promise.all(batch.map((request, index) => send(request, sent + index)));
      for (const [index, { answers: all }] of answers.entries()) {
        for (const { status, body } of all) {
          counts.set(status, (counts.get(status) ?? 0) + 1);
          if (status < 400 && body !== null) harvest(parse(body), values);
        }
        if (isRefused(all)) refused.push(batch[index]!);
      }
      assert.equal(daemon.child.exitCode, null, `the daemon ended: ${daemon.errors()}`);
      if ((sent + BATCH) % replayEvery < BATCH) {
        unchanged += await replay(path, refused, send);
        refused = [];
        if (heapAtFirst === 0 && sent >= requests / 10) heapAtFirst = await heapBytes(port);
      }
    }
    const heap = await heapBytes(port);
    const restarts = await metric(port, /^svc_actor_restarts_total.* ([1-9]\d*)$/m);
    assert.equal(restarts, null, 'an actor had to be restarted');
    log(
      `seed ${seed}: ${requests} requests, by status ${JSON.stringify([...counts].sort((a, b) => a[0] - b[0]))}`,
    );
    log(`${unchanged} refused requests were sent again and changed nothing`);
    assert.ok(unchanged > requests / 10, 'the replay proves too little');
    log(`heap ${mebibytes(heapAtFirst)} after the first tenth, ${mebibytes(heap)} at the end`);
    if (heapAtFirst > 0) assert.ok(heap - heapAtFirst < HEAP_GROWTH_BYTES_MAX, 'the heap grew');
    assert.doesNotMatch(daemon.errors(), /"level":50/, 'nothing was logged as an error');
  } finally {
    await daemon.end('SIGTERM');
  }
  assert.deepEqual(auditLog(path), []);
}

/** A mutated request that ended without an answer may have been carried out. */
const isRefused = (answers: readonly RawAnswer[]) =>
  answers.length > 0 && answers.every(({ status }) => status >= 400);

const REPLAYS_MAX = 4;

/**
 * What was refused once is refused again and leaves every row and the log as they were. A request that succeeds the
 * second time (its title is free, its id exists now) is left out, and the others are sent anew. Answers how many did.
 */
async function replay(
  path: string,
  refused: readonly FuzzRequest[],
  send: (request: FuzzRequest, index: number) => Promise<Exchanged>,
): Promise<number> {
  let left = refused;
  for (let round = 0; round < REPLAYS_MAX; round += 1) {
    const before = await settledDigest(path);
    const accepted = new Set<FuzzRequest>();
    for (let at = 0; at < left.length; at += BATCH) {
      const batch = left.slice(at, at + BATCH);
      const answers = await Promise.all(batch.map((request) => send(request, -1)));
      for (const [index, { answers: all }] of answers.entries()) {
        if (!isRefused(all)) accepted.add(batch[index]!);
      }
    }
    if (accepted.size === 0) {
      assert.equal(digestOf(path), before, 'refused requests changed the database');
      return left.length;
    }
    left = left.filter((request) => !accepted.has(request));
  }
  return 0;
}

function harvest(value: unknown, values: Values): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === 'id' && typeof member === 'string') values.remember(member);
    else if (typeof member === 'object') harvest(member, values);
  }
}

async function metric(port: number, pattern: RegExp): Promise<number | null> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const found = pattern.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

/** The least of a few looks: between two collections the heap holds what nobody needs. */
async function heapBytes(port: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 20; look += 1) {
    least = Math.min(least, (await metric(port, /^nodejs_heap_size_used_bytes (\S+)$/m)) ?? least);
  }
  return least;
}

const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function fail(seed: number, index: number, request: FuzzRequest, problem: string, errors: string): never {
  const shown = request.bytes.toString('latin1');
  const message = [
    `seed ${seed}, request ${index}: ${problem}`,
    request.label,
    JSON.stringify(shown.slice(0, 3000)),
    errors.slice(-2000),
  ];
  throw new Error(message.join('\n'));
}
