import assert from 'node:assert/strict';
import { join } from 'node:path';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { Dice } from './dice.js';
import { drawRequest, type FuzzRequest } from './http-requests.js';
import { fault, MemoryWatch, replayRefused } from './loop.js';
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
  let unchanged = 0;
  const heap = new MemoryWatch('heap', () => metric(port, /^nodejs_heap_size_used_bytes (\S+)$/m));
  const send = async (request: FuzzRequest, index: number): Promise<Exchanged> => {
    const answer = await exchange(port, request.bytes, request.whole, ANSWER_WITHIN_MS);
    const problem = httpProblem(answer, request.whole);
    if (problem !== null) {
      const bytes = JSON.stringify(request.bytes.toString('latin1').slice(0, 3000));
      fault(seed, `request ${index}: ${problem}`, request.label, bytes, daemon.errors().slice(-2000));
    }
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
        unchanged += await replayRefused(path, refused, BATCH, async (again) => {
          const answers = await Promise.all(again.map((request) => send(request, -1)));
          return answers.map(({ answers: all }) => isRefused(all));
        });
        refused = [];
        await heap.at(sent, requests);
      }
    }
    const restarts = await metric(port, /^svc_actor_restarts_total.* ([1-9]\d*)$/m);
    assert.equal(restarts, null, 'an actor had to be restarted');
    log(
      `seed ${seed}: ${requests} requests, by status ${JSON.stringify([...counts].sort((a, b) => a[0] - b[0]))}`,
    );
    log(`${unchanged} refused requests were sent again and changed nothing`);
    assert.ok(unchanged > requests / 10, 'the replay proves too little');
    log(await heap.end());
    assert.doesNotMatch(daemon.errors(), /"level":50/, 'nothing was logged as an error');
  } finally {
    await daemon.end('SIGTERM');
  }
  assert.deepEqual(auditLog(path), []);
}

/** A mutated request that ended without an answer may have been carried out. */
const isRefused = (answers: readonly RawAnswer[]) =>
  answers.length > 0 && answers.every(({ status }) => status >= 400);

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
