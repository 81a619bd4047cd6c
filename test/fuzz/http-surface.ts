import { createConnection } from 'node:net';
import { Connection, type Piped } from './connection.js';
import { Dice } from './dice.js';
import { digestOf, settledDigest } from './digest.js';
import { drawRequest, type FuzzRequest } from './http-requests.js';
import { httpProblem, isRecorded, parse } from './oracle.js';
import { type Exchanged, exchange, type RawAnswer } from './raw-http.js';
import { Refused } from './refused.js';
import { fault, type Surface, type SurfaceOptions, sideBySide, Tally } from './surface.js';
import type { Target } from './targets.js';
import { Values } from './values.js';

const ANSWER_WITHIN_MS = 20_000;
const CONNECTIONS = 12;
/** Requests that are written at once. */
const PIPELINED = 8;
/** Broken requests side by side; the node waits for the rest of some. */
const BROKEN_AT_ONCE = 48;

/**
 * Drawn requests to the HTTP API: whole ones several at once over connections that stay, broken ones each on its own.
 * Every answer must be in the error table, and a refused request must change nothing, unless a policy refused it.
 */
export class HttpSurface implements Surface {
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #statuses = new Tally();
  readonly #connections: readonly Connection[];
  readonly #refused: Refused<FuzzRequest>;

  constructor(
    private readonly target: Target,
    private readonly options: SurfaceOptions,
    readonly name = 'http',
    private readonly draw: (dice: Dice, values: Values) => FuzzRequest = drawRequest,
    private readonly isRefused: (answers: readonly RawAnswer[]) => boolean = allRefused,
  ) {
    this.#dice = new Dice(options.seed);
    this.#values = new Values(this.#dice);
    this.#connections = Array.from(
      { length: CONNECTIONS },
      () =>
        new Connection(() => createConnection({ host: '127.0.0.1', port: target.port }), ANSWER_WITHIN_MS),
    );
    this.#refused = new Refused({
      digest: () => settledDigest(target.path),
      digestNow: () => digestOf(target.path),
      send: async (requests) => (await this.#exchange(requests)).map((answers) => this.isRefused(answers)),
      show: ({ label, bytes }) => `${label}\n${shown(bytes)}`,
    });
  }

  async send(count: number): Promise<void> {
    const drawn = Array.from({ length: count }, () => this.draw(this.#dice, this.#values));
    const answered = await this.#exchange(drawn);
    for (const [index, answers] of answered.entries()) {
      for (const { status, body } of answers) {
        this.#statuses.add(status);
        if (status < 400 && body !== null) harvest(parse(body), this.#values);
      }
      if (this.isRefused(answers)) this.#refused.add(drawn[index]!);
    }
  }

  check(): Promise<void> {
    return this.#refused.prove();
  }

  summary(): string {
    return `${this.#statuses}; ${this.#refused.proven} refused requests were sent again and changed nothing`;
  }

  async end(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    if (this.#refused.proven < this.options.count / 100) fault('the proof by refused requests is too small');
  }

  async #exchange(requests: readonly FuzzRequest[]): Promise<RawAnswer[][]> {
    const answered: RawAnswer[][] = [];
    const places = requests.map((request, place) => ({ request, place }));
    const whole = places.filter(({ request }) => request.whole);
    const broken = places.filter(({ request }) => !request.whole);
    const judge = (request: FuzzRequest, place: number, exchanged: Exchanged, behind: FuzzRequest[] = []) => {
      const problem = httpProblem(exchanged, request.whole);
      if (problem !== null)
        fault(
          problem,
          ...[request, ...behind].flatMap(({ label, bytes }) => [label, shown(bytes)]),
          this.target.daemon.errors().slice(-2000),
        );
      answered[place] = [...exchanged.answers];
    };
    await Promise.all([
      sideBySide(CONNECTIONS, Math.ceil(whole.length / PIPELINED), async (turn, worker) => {
        const batch = whole.slice(turn * PIPELINED, (turn + 1) * PIPELINED);
        const answers = await this.#connections[worker]!.send(batch.map(({ request }) => request));
        for (const [index, { request, place }] of batch.entries()) {
          const behind = batch.slice(index + 1).map((later) => later.request);
          judge(request, place, asExchanged(answers[index]!), behind);
        }
      }),
      sideBySide(BROKEN_AT_ONCE, broken.length, async (turn) => {
        const { request, place } = broken[turn]!;
        judge(request, place, await exchange(this.target.port, request.bytes, false, ANSWER_WITHIN_MS));
      }),
    ]);
    return answered;
  }
}

const asExchanged = (piped: Piped): Exchanged =>
  'problem' in piped ? { answers: [], problem: piped.problem } : { answers: [piped], problem: null };

const shown = (bytes: Buffer) => JSON.stringify(bytes.toString('latin1').slice(0, 3000));

/** A broken request that ended without an answer may have been carried out. */
const allRefused = (answers: readonly RawAnswer[]) =>
  answers.length > 0 &&
  answers.every(({ status, body }) => status >= 400 && !(body !== null && isRecorded(body)));

function harvest(value: unknown, values: Values): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === 'id' && typeof member === 'string') values.remember(member);
    else if (typeof member === 'object') harvest(member, values);
  }
}
