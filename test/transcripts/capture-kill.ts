import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { openBeside } from '../support/test-store.js';

const SESSIONS = 16;
/** Turns of one reflection that is replayed. */
const REFLECTED = 200;

export interface CaptureLoad {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface CaptureReport {
  readonly sent: number;
  readonly acknowledged: number;
  /** Acknowledged in a second while the daemon ran. */
  readonly rate: number;
  readonly repeated: number;
  /** Milliseconds from sending to the answer. */
  readonly medianMs: number;
  readonly p99Ms: number;
}

interface Turn {
  readonly session: string;
  readonly index: number;
  readonly at: string;
}

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

const contentOf = ({ session, index }: Turn) =>
  `In turn ${index} of ${session} we looked at the build, found step ${index * 7} slow, and wrote down why.`;

const bodyOf = (turn: Turn) => ({
  ...{ host_session_id: turn.session, host_turn_index: turn.index, host_kind: 'shell' },
  ...{ role: turn.index % 2 === 0 ? 'user' : 'assistant', content: contentOf(turn), timestamp_iso: turn.at },
});

const key = ({ session, index }: Turn) => `${session} ${index}`;

/** Sends requests over a few connections that stay open, as the processes of hosts do. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  post(base: string, path: string, body: object): Promise<Answer> {
    const text = JSON.stringify(body);
    const headers = {
      ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
      'x-agent-id': 'ai:host',
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${base}${path}`, { method: 'POST', agent: this.#agent, headers }, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          answer += piece;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode!, body: JSON.parse(answer) as Answer['body'] }),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** What was acknowledged: the memory of each turn. */
type Acknowledged = Map<string, { readonly turn: Turn; readonly id: string }>;

/** Sends turns at a steady rate, whatever the answers take, until the time is over or the daemon is gone. */
async function load(
  daemon: DaemonProcess,
  client: Client,
  { perSecond, seconds }: CaptureLoad,
  {
    acknowledged,
    first,
    latencies,
  }: { readonly acknowledged: Acknowledged; readonly first: number; readonly latencies: number[] },
  killAfterMs: number | null,
): Promise<{ readonly sent: readonly Turn[]; readonly ms: number }> {
  const sent: Turn[] = [];
  const pending: Promise<void>[] = [];
  const begun = performance.now();
  let gone = false;
  const send = async (turn: Turn) => {
    const at = performance.now();
    try {
      const { status, body } = await client.post(daemon.base, '/capture_turn', bodyOf(turn));
      assert.ok(status === 201, `turn ${key(turn)} answered ${status} ${JSON.stringify(body)}`);
      acknowledged.set(key(turn), { turn, id: String(body['memory_id']) });
      latencies.push(performance.now() - at);
    } catch (error) {
      // The daemon was killed before it answered: the outcome is unknown, and nothing was promised.
      if (!gone) throw error;
    }
  };
  let ended = performance.now();
  while (!gone && performance.now() - begun < seconds * 1000) {
    const elapsed = performance.now() - begun;
    if (killAfterMs !== null && elapsed >= killAfterMs) {
      gone = true;
      ended = performance.now();
      await daemon.end('SIGKILL');
      break;
    }
    const due = Math.floor((elapsed / 1000) * perSecond);
    while (sent.length < due) {
      const n = first + sent.length;
      const at = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
      const turn = { session: `session ${n % SESSIONS}`, index: Math.floor(n / SESSIONS), at };
      sent.push(turn);
      pending.push(send(turn));
    }
    await new Promise((resume) => setTimeout(resume, 2));
  }
  await Promise.all(pending);
  if (!gone) ended = performance.now();
  return { sent, ms: ended - begun };
}

/**
 * Captures turns at a steady rate over HTTP, kills the daemon in the middle, restarts it and goes on. Every acknowledged
 * turn is there once, every turn of the first half is answered as a duplicate with its memory, and a replay has them in order.
 */
export async function killWhileCapturing(asked: CaptureLoad): Promise<CaptureReport> {
  const home = temporaryFolder('capture');
  const client = new Client();
  const acknowledged: Acknowledged = new Map();
  const latencies: number[] = [];
  const half = { ...asked, seconds: asked.seconds / 2 };
  try {
    const first = await startDaemonProcess(home, await freePort());
    const before = { acknowledged, first: 0, latencies };
    const one = await load(first, client, { ...half, seconds: asked.seconds }, before, half.seconds * 1000);
    const kept = new Map(acknowledged);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
    const second = await startDaemonProcess(home, await freePort());
    const after = { acknowledged, first: one.sent.length, latencies };
    const two = await load(second, client, half, after, null);
    assert.equal(
      acknowledged.size - kept.size,
      two.sent.length,
      'every turn after the restart is acknowledged',
    );
    const repeated = await sendAgain(second, client, one.sent, kept);
    await replayInOrder(second, client, [...acknowledged.values()].slice(0, REFLECTED));
    assert.equal(await second.end('SIGTERM'), 0, second.errors());
    verify(join(home, 'mnemesh.db'), acknowledged);
    latencies.sort((a, b) => a - b);
    const at = (share: number) => Math.round(latencies[Math.floor(latencies.length * share)] ?? 0);
    return {
      ...{ sent: one.sent.length + two.sent.length, acknowledged: acknowledged.size, repeated },
      rate: Math.round((acknowledged.size / (one.ms + two.ms)) * 1000),
      ...{ medianMs: at(0.5), p99Ms: at(0.99) },
    };
  } finally {
    client.close();
  }
}

/** A turn that was acknowledged is a duplicate with its memory; one whose outcome was unknown is stored now or a duplicate. */
async function sendAgain(
  daemon: DaemonProcess,
  client: Client,
  turns: readonly Turn[],
  kept: Acknowledged,
): Promise<number> {
  let repeated = 0;
  for (let at = 0; at < turns.length; at += 64) {
    const some = turns.slice(at, at + 64);
    const answers = await Promise.all(
      some.map((turn) => client.post(daemon.base, '/capture_turn', bodyOf(turn))),
    );
    for (const [place, { status, body }] of answers.entries()) {
      const known = kept.get(key(some[place]!));
      if (known === undefined) {
        assert.ok(status === 200 || status === 201, JSON.stringify(body));
        continue;
      }
      assert.deepEqual([status, body], [200, { memory_id: known.id, dedup_hit: true, layer: 'L4' }]);
      repeated += 1;
    }
  }
  const other = { ...bodyOf(turns[0]!), content: 'something else' };
  assert.equal((await client.post(daemon.base, '/capture_turn', other)).status, 409);
  return repeated;
}

async function replayInOrder(
  daemon: DaemonProcess,
  client: Client,
  turns: readonly { readonly turn: Turn; readonly id: string }[],
): Promise<void> {
  const reflection = { title: 'what was done', content: 'a summary', kind: 'reflection' };
  const { body: stored } = await client.post(daemon.base, '/memories', reflection);
  for (const { id } of turns) {
    const link = { source_id: stored['id'], target_id: id, relation: 'reflects_on' };
    const { status, body } = await client.post(daemon.base, '/links', link);
    assert.ok(status < 300, JSON.stringify(body));
  }
  const shown: string[] = [];
  let after: unknown;
  do {
    const asked = { memory_id: stored['id'], limit: 64, ...(after === undefined ? {} : { after }) };
    const { status, body } = await client.post(daemon.base, '/memory_replay', asked);
    assert.equal(status, 200, JSON.stringify(body));
    const entries = body['transcripts'] as readonly { readonly content: string }[];
    shown.push(...entries.map(({ content }) => content));
    after = body['next'];
  } while (after !== undefined);
  const expected = turns.map(({ turn }) => turn).sort((a, b) => (a.at < b.at ? -1 : 1));
  assert.deepEqual(shown, expected.map(contentOf));
}

/** Each acknowledged turn is one memory and one transcript, and log and rows agree. */
function verify(path: string, acknowledged: Acknowledged): void {
  assert.deepEqual(auditLog(path), []);
  const db = openBeside({ path });
  try {
    const memory = db.prepare<[string], string>('SELECT content FROM memories WHERE id = ?').pluck();
    const transcript = db
      .prepare<[string], string>(
        "SELECT payload ->> '$.memory_id' FROM records WHERE kind = 'transcript' AND id = ?",
      )
      .pluck();
    for (const { turn, id } of acknowledged.values()) {
      assert.equal(memory.get(id), contentOf(turn), `turn ${key(turn)} is lost`);
      assert.equal(transcript.get(`ai:host|${turn.index}|${turn.session}`), id);
    }
    const titles = db
      .prepare("SELECT count(*) FROM memories WHERE title LIKE 'L4 capture % (%) (%)'")
      .pluck();
    assert.equal(titles.get(), 0, 'a turn was stored twice');
  } finally {
    db.close();
  }
}
