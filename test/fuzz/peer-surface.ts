import { readFileSync } from 'node:fs';
import { systemRandom } from '../../node/seams.js';
import { ERRORS } from '../../protocol/base/errors.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { KINDS } from '../../protocol/release.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import { rawRequest } from '../mesh/wire-client.js';
import { aMemory } from '../support/memories.js';
import { Chain, type Said } from './chain.js';
import { Connection } from './connection.js';
import { Dice } from './dice.js';
import { digestOf, settledDigest } from './digest.js';
import { connectAs, holds, type Member, type MeshTarget } from './mesh-target.js';
import { httpProblem, parse } from './oracle.js';
import { type Draft, type Known, PeerMessages } from './peer-messages.js';
import { FORBIDDEN_NAMESPACE, meshProblems, ownMemories } from './peer-rules.js';
import type { RawAnswer } from './raw-http.js';
import { Refused } from './refused.js';
import { fault, type Surface, type SurfaceOptions, sideBySide, Tally } from './surface.js';
import { Values } from './values.js';

const ANSWER_WITHIN_MS = 30_000;
/** Chains of each hostile member; one message of a chain is on its way at a time. */
const LANES = 6;
const TEMPLATES_MAX = 300;
const MEMORY_WORDS: ReadonlySet<string> = new Set(Object.keys(KINDS.of('memory').words));
/** What a message uses up whatever is answered, and what the node notes of members that are not there. */
const MOVING = ['federation_nonce_cache', 'peer_progress'];

interface Lane {
  readonly member: Member;
  readonly chain: Chain;
  readonly connection: Connection;
  readonly messages: PeerMessages;
  readonly dice: Dice;
}

/**
 * Messages of members over TLS to the listener for peers, rightly signed and wrong in what they say. No answer may be a
 * fault, a scope never leaks, and after each slice the database holds nothing that the rules refuse, and the honest
 * member still replicates.
 */
export class PeerSurface implements Surface {
  readonly name = 'peers';
  readonly #lanes: readonly Lane[];
  readonly #honest: { readonly chain: Chain; readonly connection: Connection };
  readonly #values: Values;
  readonly #statuses = new Tally();
  readonly #outcomes = new Tally();
  readonly #refused: Refused<Draft>;
  readonly #known: { -readonly [Key in keyof Known]: Known[Key] };
  #forbiddenRows = '';
  #roster: string;
  #honestPushes = 0;

  private constructor(
    private readonly mesh: MeshTarget,
    { seed }: SurfaceOptions,
  ) {
    const peerId = mesh.facts.peer_id;
    const operations = new Map(mesh.hostile.map(({ name }) => [name, [] as Said[]]));
    this.#known = { peerId, operations, statements: [], have: {}, forbidden: [] };
    this.#values = new Values(new Dice(seed));
    this.#values.samples.push(
      `${peerId}/0123456789abcdef`,
      'a'.repeat(64),
      `${Date.now()}-00000`,
      '7',
      '255',
    );
    const connect = (member: Member) => new Connection(() => connectAs(member, mesh.url), ANSWER_WITHIN_MS);
    this.#lanes = Array.from({ length: LANES * mesh.hostile.length }, (_, index) => {
      const member = mesh.hostile[index % mesh.hostile.length]!;
      const dice = new Dice(seed + index + 1);
      return {
        member,
        chain: new Chain(member.peer, `lane${index}`),
        connection: connect(member),
        messages: new PeerMessages(dice, new Values(dice, this.#values), this.#known),
        dice,
      };
    });
    this.#honest = { chain: new Chain(mesh.honest.peer, 'honest'), connection: connect(mesh.honest) };
    this.#roster = this.#readRoster();
    this.#refused = new Refused({
      digest: () => settledDigest(mesh.target.path, MOVING),
      digestNow: () => digestOf(mesh.target.path, MOVING),
      send: (drafts) => this.#again(drafts),
      show: ({ label, body }) => `${label}\n${body.toString('latin1').slice(0, 6000)}`,
      keptMax: 600,
    });
  }

  static async open(mesh: MeshTarget, options: SurfaceOptions): Promise<PeerSurface> {
    const surface = new PeerSurface(mesh, options);
    const ids = await ownMemories(mesh.target.daemon.base);
    surface.#known.forbidden = ids.forbidden;
    for (const id of ids.shared) surface.#values.remember(id);
    surface.#forbiddenRows = meshProblems(mesh, null).forbiddenRows;
    for (const lane of surface.#lanes.slice(0, mesh.hostile.length)) await surface.#learn(lane);
    await surface.#honestReplicates();
    return surface;
  }

  async send(count: number): Promise<void> {
    const lanes = this.#lanes;
    this.#roster = this.#readRoster();
    const share = Math.ceil(count / lanes.length);
    await sideBySide(lanes.length, lanes.length, async (_, worker) => {
      const lane = lanes[worker]!;
      const size = Math.min(share, Math.max(0, count - worker * share));
      for (let sent = 0; sent < size; sent += 1) await this.#one(lane);
    });
    if (this.#readRoster() !== this.#roster) fault('the roster changed without its authority');
  }

  async check(): Promise<void> {
    const { problems } = meshProblems(this.mesh, this.#forbiddenRows);
    if (problems.length > 0) fault('the database holds what the rules refuse', ...problems.slice(0, 10));
    await this.#honestReplicates();
    await this.#refused.prove();
  }

  summary(): string {
    const proven = `${this.#refused.proven} refused messages were sent again and changed nothing`;
    return `${this.#statuses}; operations ${this.#outcomes}; ${proven}; ${this.#honestPushes} honest pushes applied`;
  }

  async end(): Promise<void> {
    for (const { connection } of this.#lanes) connection.close();
    this.#honest.connection.close();
    if (this.#outcomes.of('applied') === 0)
      fault('no operation was ever applied: the messages prove too little');
  }

  async #one(lane: Lane): Promise<void> {
    const { chain, dice, member } = lane;
    const before = chain.seq;
    let draft = lane.messages.draw(member, chain);
    while (this.#mayChangeForbidden(draft)) {
      chain.backTo(before);
      draft = lane.messages.draw(member, chain);
    }
    const { answer, bytes } = await this.#exchange(lane.connection, draft);
    const said = answer.body === null ? null : parse(answer.body);
    const json = (typeof said === 'object' && said !== null ? said : {}) as Record<string, unknown>;
    const reached = (json['have'] as Record<string, number> | undefined)?.[chain.origin];
    if (chain.seq !== before) chain.backTo(answer.status === 200 && reached !== undefined ? reached : before);
    this.#statuses.add(answer.status);
    this.#judge(draft, answer, json);
    if (answer.status >= 400 && Object.keys(draft.headers).length === 0) this.#refused.add(draft);
    // The same bytes once more: a nonce counts once.
    if (answer.status === 200 && draft.path.includes('/sync/') && dice.chance(0.02)) {
      const [again] = await lane.connection.send([{ bytes, head: false }]);
      if (!('status' in again!) || again.status !== 401)
        fault('a replay was not refused', draft.label, shown(draft));
    }
    if (dice.chance(0.01)) await this.#learn(lane);
  }

  /**
   * True for a message that changes what the node guards, by a member that has the right to: ids spread from what the
   * scoped member names. Only without such messages is every change of these rows a fault.
   */
  #mayChangeForbidden({ by, method, body }: Draft): boolean {
    if (method !== 'POST' || !holds(by, FORBIDDEN_NAMESPACE)) return false;
    return [FORBIDDEN_NAMESPACE, ...this.#known.forbidden].some((each) => body.includes(each));
  }

  #judge(draft: Draft, { status }: RawAnswer, json: Record<string, unknown>): void {
    const internal = [...list(json['parked']), ...list(json['skipped'])].find(
      ({ reason, code }) => reason === 'internal' || (code !== undefined && isFault(code)),
    );
    if (internal !== undefined)
      fault(`a fault behind an item: ${JSON.stringify(internal)}`, draft.label, shown(draft));
    if (status !== 200) return;
    for (const name of ['applied', 'noop'])
      if (typeof json[name] === 'number') this.#outcomes.add(name, json[name]);
    for (const { reason } of [...list(json['parked']), ...list(json['refused'])])
      this.#outcomes.add(String(reason));
    const { by } = draft;
    const leaked = [
      ...list(json['operations']).filter(
        ({ kind, namespace, payload }) =>
          payload !== null && MEMORY_WORDS.has(String(kind)) && !holds(by, String(namespace)),
      ),
      ...list(json['memories']).filter(({ namespace }) => !holds(by, String(namespace))),
    ];
    if (leaked.length > 0) fault('a scope leaks', draft.label, JSON.stringify(leaked[0]), shown(draft));
  }

  async #exchange(connection: Connection, draft: Draft): Promise<{ answer: RawAnswer; bytes: Buffer }> {
    const { by, method, path, query, body } = draft;
    const parts = { method, path, query, body };
    const { signer, peerId } = by.peer;
    const headers = { ...signMessage({ ...parts, peerId, signer, random: systemRandom }), ...draft.headers };
    const bytes = rawRequest({ ...parts, headers, fingerprint: null });
    const [answer] = await connection.send([{ bytes, head: false }]);
    const exchanged =
      'problem' in answer! ? { answers: [], problem: answer.problem } : { answers: [answer!], problem: null };
    const problem = httpProblem(exchanged, true);
    if (problem !== null) {
      fault(problem, draft.label, shown(draft), this.mesh.target.daemon.errors().slice(-2000));
    }
    return { answer: answer as RawAnswer, bytes };
  }

  async #again(drafts: readonly Draft[]): Promise<boolean[]> {
    const verdicts: boolean[] = [];
    for (const member of this.mesh.hostile) {
      const own = drafts.flatMap((draft, index) => (draft.by === member ? [index] : []));
      const lanes = this.#lanes.filter((lane) => lane.member === member);
      await sideBySide(lanes.length, own.length, async (turn, worker) => {
        const { answer } = await this.#exchange(lanes[worker]!.connection, drafts[own[turn]!]!);
        verdicts[own[turn]!] = answer.status >= 400;
      });
    }
    return verdicts;
  }

  /** Asks as a member may, for what later messages are made of. */
  async #learn({ member, connection }: Pick<Lane, 'member' | 'connection'>): Promise<void> {
    const ask = async (path: string, asked: string) => {
      const query = `${asked}to=${this.#known.peerId}&at=${encodeURIComponent(new Date().toISOString())}`;
      const draft: Draft = {
        by: member,
        label: path,
        method: 'GET',
        path,
        query,
        body: Buffer.alloc(0),
        headers: {},
      };
      const { answer } = await this.#exchange(connection, draft);
      if (answer.status !== 200) fault(`a question that is right is refused: ${answer.body}`, query);
      return parse(answer.body!) as Record<string, unknown>;
    };
    const { have = {} } = (await ask('/api/v1/sync/since', 'cursor=&limit=1&')) as {
      have?: Record<string, number>;
    };
    const behind = Object.fromEntries(
      Object.entries(have).map(([origin, seq]) => [origin, Math.max(0, seq - 20)]),
    );
    const cursor = Buffer.from(JSON.stringify(behind)).toString('base64url');
    const page = await ask('/api/v1/sync/since', `cursor=${cursor}&limit=100&`);
    this.#known.have = have;
    const templates = this.#known.operations.get(member.name)!;
    for (const { kind, namespace, subject, seen, payload } of list(
      page['operations'],
    ) as unknown as WireOperation[]) {
      if (payload === null || namespace === FORBIDDEN_NAMESPACE || payload.includes(FORBIDDEN_NAMESPACE))
        continue;
      templates.push({ kind, namespace, subject, seen, payload });
      if (templates.length > TEMPLATES_MAX) templates.shift();
      this.#values.remember(subject);
    }
    this.#known.statements = (JSON.parse(this.#roster) as { statements: unknown[] }).statements;
  }

  /** The honest member pushes a memory, which is applied, and pulls to the end. */
  async #honestReplicates(): Promise<void> {
    const { honest, facts } = this.mesh;
    const { chain, connection } = this.#honest;
    this.#honestPushes += 1;
    const row = aMemory({ namespace: 'honest', title: `honest ${this.#honestPushes}` });
    const { memoryPayload } = await import('../../protocol/memory/memory-kind.js');
    const said = {
      kind: 'store',
      namespace: 'honest',
      subject: row.id,
      seen: {},
      payload: memoryPayload(row),
    };
    const body = honest.peer.pushBody({
      receiver: facts.peer_id,
      operations: [chain.next(said)],
      heads: [chain.head()],
    });
    const label = 'the honest member';
    const base = { by: honest, label, headers: {} };
    const path = '/api/v1/sync/push';
    const { answer } = await this.#exchange(connection, {
      ...base,
      method: 'POST',
      path,
      query: '',
      body: Buffer.from(JSON.stringify(body)),
    });
    const pushed = answer.body?.toString() ?? '';
    if (answer.status !== 200 || (JSON.parse(pushed) as { applied: number }).applied !== 1) {
      fault('the honest member can no longer push', pushed.slice(0, 1000));
    }
    const query = `cursor=&limit=200&to=${facts.peer_id}`;
    const pulled = await this.#exchange(connection, {
      ...base,
      method: 'GET',
      path: '/api/v1/sync/since',
      query,
      body: Buffer.alloc(0),
    });
    if (pulled.answer.status !== 200)
      fault('the honest member can no longer pull', String(pulled.answer.body));
  }

  #readRoster(): string {
    return readFileSync(`${this.mesh.target.daemon.home}/mesh/peers.json`, 'utf8');
  }
}

const isFault = (code: unknown) =>
  !Object.hasOwn(ERRORS, String(code)) || ['INTERNAL', 'DATA_DAMAGED'].includes(String(code));
const shown = ({ body }: Draft) => body.toString('latin1').slice(0, 6000);

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
}
