import { systemCrypto } from '../../node/seams.js';
import type { PutAside } from '../../protocol/decide/deciding.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import { mayHold } from '../../protocol/log/scope.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { voteKind } from '../../protocol/policies/vote-kind.js';
import { KINDS } from '../../protocol/release.js';
import { AuthorVerifier } from '../../protocol/replication/verify-author.js';
import { verifySingle } from '../../protocol/replication/verify-operations.js';
import { aMemory, linking, OPERATOR, storing, tenant, updating } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';
import { aRule } from '../support/rules.js';
import { TestPeer } from '../support/test-peer.js';
import { Dice } from './dice.js';

/**
 * A mesh of honest nodes and a peer with a scope that writes whatever it likes into its own, well signed log: all kinds,
 * all headers, all contents. Beside it stands the same mesh without that peer. What lies outside the scope is the same in
 * both, on every node and after every step.
 */

const SCOPE = ['team/**'];
const START_MS = 1_772_323_200_000;
const STEPS = 24;
const OUTSIDE = ['finance', 'finance/q1', '_messages/ai:c', '_mesh', '*', 'global', 'team'] as const;
const INSIDE = ['team/x', 'team/y'] as const;

/** A planted bug. */
export type ScopeMutant = 'header alone' | 'author unasked';

const isOutside = (namespace: string) => !mayHold({ allowedNamespaces: SCOPE }, namespace);

/** The kinds as they were when only the header of a record was compared with the scope. */
const HEADER_ALONE = new Kinds(
  KINDS.all.map(
    (kind): Kind =>
      kind.name === 'memory' || kind.name === 'standard'
        ? kind
        : {
            ...kind,
            namespaceOf: () => null,
            namespaceOfId: () => null,
            about: () => [],
            reach: 'namespace',
            lasting: false,
          },
  ),
);

interface Mesh {
  readonly nodes: readonly Replica[];
  nowMs: number;
}

const meshOf = (kinds: Kinds): Mesh => ({
  nodes: ['a', 'b', 'c'].map((name) => replica(name, START_MS, undefined, kinds)),
  nowMs: START_MS,
});

/** Runs one seed; answers what differs outside the scope, and how many operations of the peer had an effect. */
export async function runScopedPeer(seed: number, mutant: ScopeMutant | null) {
  const kinds = mutant === 'header alone' ? HEADER_ALONE : KINDS;
  const [dice, with_, without] = [new Dice(seed, 'scoped peer'), meshOf(kinds), meshOf(KINDS)];
  const hostile = new HostilePeer(seed, new Dice(seed, 'hostile'));
  const known: Known = { memories: [], actions: [], agents: ['ai:a', 'ai:b', 'ai:lead', 'ai:second'] };
  let taken = 0;
  const both = async (step: (mesh: Mesh) => Promise<unknown>) => {
    for (const mesh of [with_, without]) {
      mesh.nowMs += 20;
      for (const node of mesh.nodes) node.nowMs = mesh.nowMs;
      await step(mesh);
    }
  };
  for (const [index, agent] of ['ai:lead', 'ai:second'].entries())
    await both(({ nodes }) => settledOr(nodes[index]!, registering(agent)));
  for (let step = 0; step < STEPS; step += 1) {
    const command = honest(dice, known, step);
    const at = dice.below(3);
    await both(({ nodes }) => settledOr(nodes[at]!, command));
    // A store that a policy refused made no memory; honest callers name only what they made.
    const last = known.memories.at(-1);
    const isThere = without.nodes[at]!.db.prepare('SELECT 1 FROM memories WHERE id = ?').pluck();
    if (last?.id === `m${step}` && isThere.get(last.id) === undefined) known.memories.pop();
    await both((mesh) => spread(mesh, hostile, mutant));
    const operations = hostile.write(known, with_, with_.nowMs - 10);
    for (const node of dice.shuffle(with_.nodes)) taken += await receive(node, operations, hostile, mutant);
    await both((mesh) => spread(mesh, hostile, mutant));
    if (step === STEPS - 6) await both(({ nodes }) => adopt(nodes[0]!, hostile.peer.peerId));
    await both(async ({ nodes }) => {
      for (const node of nodes) await settleAll(node);
    });
    await both((mesh) => spread(mesh, hostile, mutant));
    for (const [index, node] of with_.nodes.entries()) {
      const difference = differs(held(node, hostile), held(without.nodes[index]!, hostile));
      if (difference !== null) return { seed, step, difference: `node ${index}: ${difference}`, taken };
    }
  }
  return { seed, step: STEPS, difference: null, taken };
}

interface Known {
  readonly memories: { readonly id: string; readonly namespace: string }[];
  readonly actions: { readonly id: string; readonly namespace: string }[];
  readonly agents: readonly string[];
}

const registering = (agentId: string) => ({
  kind: 'register-agent',
  memory: aMemory({
    ...{ id: `agent-${agentId}`, namespace: '_agents', title: `agent:${agentId}` },
    metadata: { agent_id: agentId, agent_type: 'ai:generic', capabilities: [] },
  }),
  ...{ spareId: `spare-${agentId}`, viewer: OPERATOR, admin: true },
});

/** A command may be refused, in both meshes alike. */
async function settledOr(node: Replica, command: object): Promise<void> {
  await node.store.execute(command as never).catch((cause: unknown) => {
    throw new Error(`the command fails: ${JSON.stringify(command).slice(0, 300)}`, { cause });
  });
}

const adopt = (node: Replica, peerId: string) => settledOr(node, { kind: 'adopt-peer', peerId, by: 'op' });

/** What honest callers do, outside the scope and inside it. */
function honest(dice: Dice, known: Known, step: number): object {
  const pick = <T>(from: readonly T[]) => from[dice.below(from.length)]!;
  const namespace = dice.chance(0.3) ? pick(INSIDE) : pick(['finance', 'finance/q1', 'global']);
  const roll = known.memories.length < 4 ? 0 : dice.below(9);
  if (roll <= 1) {
    const id = `m${step}`;
    known.memories.push({ id, namespace });
    const metadata = { agent_id: pick(known.agents), scope: 'collective' };
    return { ...storing({ id, namespace, title: id, content: `${step}`, metadata }), viewer: OPERATOR };
  }
  if (roll === 2) return updating(pick(known.memories).id, { content: `edit ${step}` });
  // What the peer may delete inside its scope cannot be linked any more; that is no change outside.
  const outside = known.memories.filter((memory) => isOutside(memory.namespace));
  if (roll === 3 && outside.length > 0) return linking(pick(outside).id, pick(outside).id);
  if (roll === 4)
    return {
      ...{ kind: 'set-standard', namespace: pick(['finance', 'global']), standardId: null, parent: null },
      ...{ governance: { write: 'approve', approver: { consensus: 2 } }, viewer: OPERATOR },
    };
  if (roll === 5) return { kind: 'put-rule', rule: aRule(`R${step}`), replaces: null, by: 'ai:operator' };
  if (roll === 6) {
    const memory = pick(known.memories);
    const [memory_id, folded] = [memory.id, `name ${step}`];
    const image = { memory_id, namespace: memory.namespace, alias: folded, folded, added_by: 'ai:a' };
    const record = { kind: 'alias', id: `${memory_id}|${folded}`, namespace: memory.namespace };
    const whole = { ...image, added_at: new Date(START_MS).toISOString(), rest: {} };
    return { kind: 'import-record', record: { ...record, image: whole }, revive: false };
  }
  if (roll === 7 && known.actions.length > 0) {
    const { id: pendingId } = pick(known.actions);
    return { kind: 'vote-pending', pendingId, agentId: 'ai:lead', decision: 'approve', remember: 'once' };
  }
  known.actions.push({ id: `p${step}`, namespace });
  return {
    ...{ kind: 'request-approval', pendingId: `p${step}`, action: 'store', namespace, memoryId: null },
    ...{ approver: { form: 'consensus', votes: 2 }, requestedBy: 'ai:a', writtenAs: null },
    ...{ reads: [], asked: [], command: storing({ id: `late${step}`, namespace }) as PutAside },
  };
}

/** Every node hears everything of every other one. */
async function spread(mesh: Mesh, hostile: HostilePeer, mutant: ScopeMutant | null): Promise<void> {
  for (const from of mesh.nodes)
    for (const to of mesh.nodes)
      if (from !== to) await receive(to, await from.read(haveOf(to)), hostile, mutant);
}

function haveOf({ db }: Replica): Record<string, number> {
  const rows = db.prepare('SELECT origin, max(origin_seq) AS seq FROM operations GROUP BY origin').all();
  return Object.fromEntries(
    (rows as { origin: string; seq: number }[]).map(({ origin, seq }) => [origin, seq]),
  );
}

const AUTHORS = new AuthorVerifier(systemCrypto, () => null, KINDS);

/** What a receiver does with operations whose heads are right. */
async function receive(
  node: Replica,
  operations: readonly WireOperation[],
  { peer }: HostilePeer,
  mutant: ScopeMutant | null,
): Promise<number> {
  const origins = {
    keyOf: () => peer.signer.publicKey,
    scopeOf: (id: string) => ({ allowedNamespaces: id === peer.peerId ? SCOPE : null }),
  };
  const verified = operations.flatMap((one) => verifySingle(one, origins, AUTHORS, systemCrypto) ?? []);
  const command = { kind: 'apply-operations', from: peer.peerId, operations: verified } as const;
  const { applied } = (await node.run({ ...command, heads: [], nonce: null })) as { applied: number };
  if (mutant === 'author unasked') node.db.exec("UPDATE origins SET scope = 'null'");
  return applied;
}

/** What the daemon that owns a database does from time to time. */
async function settleAll(node: Replica): Promise<void> {
  const ids = node.db.prepare("SELECT id FROM records WHERE kind = 'pending' ORDER BY id").pluck().all();
  for (const id of ids as string[])
    await settledOr(node, { kind: 'settle-pending', pendingId: id.slice(id.indexOf('/') + 1) });
}

/** What a node holds outside the scope, one text for each row. */
function held({ db }: Replica, { peer }: HostilePeer): readonly string[] {
  const rows = [
    ...db
      .prepare(
        `SELECT 'memory' AS kind, id, namespace, title, content, tier, version, metadata, hlc, origin FROM memories`,
      )
      .all(),
    ...db
      .prepare(
        `SELECT 'link' AS kind, source_id || '|' || target_id || '|' || relation AS id, namespace, valid_until, origin
         FROM memory_links`,
      )
      .all(),
    ...db.prepare('SELECT kind, id, namespace, payload, hlc, origin FROM records').all(),
  ] as { kind: string; id: string; namespace: string; origin: string }[];
  const places = new Map(
    (db.prepare('SELECT id, namespace FROM memories').all() as { id: string; namespace: string }[]).map(
      ({ id, namespace }) => [id, namespace],
    ),
  );
  // A link lies where its source lay when it was made: an honest one may lead out of the scope.
  const byOthers = db
    .prepare('SELECT 1 FROM operations WHERE subject = ? AND origin NOT LIKE ? LIMIT 1')
    .pluck();
  // What the peer made inside counts where it names a memory outside: a link shows with both of its memories.
  const about = ({ kind, id, origin }: { kind: string; id: string; origin: string }) =>
    origin.startsWith(peer.peerId) &&
    byOthers.get(id, `${peer.peerId}/%`) === undefined &&
    (KINDS.named(kind) ?? linkKind).about(id).some((each) => isOutside(places.get(each.id) ?? 'team/x'));
  const isShared = ({ kind, id }: { kind: string; id: string }) =>
    kind === 'adoption' && id.includes('/peer-') && id.startsWith('peer-a/');
  return rows
    .filter((row) => (isOutside(row.namespace) || about(row)) && !isShared(row))
    .map((row) => JSON.stringify(row))
    .sort();
}

function differs(now: readonly string[], meant: readonly string[]): string | null {
  const surplus = now.find((row) => !meant.includes(row));
  const lacking = meant.find((row) => !now.includes(row));
  if (surplus === undefined && lacking === undefined) return null;
  return `holds ${surplus ?? 'nothing more'}; lacks ${lacking ?? 'nothing'}`;
}

/** A request that the peer wrote. */
interface Asked {
  readonly id: string;
  readonly namespace: string;
  readonly agent: string;
}

/** A peer that writes what it likes. It knows every id that there is, as headers say them. */
class HostilePeer {
  readonly peer: TestPeer;
  private readonly requests: Asked[] = [];
  private drawn = 0;

  constructor(
    seed: number,
    private readonly dice: Dice,
  ) {
    this.peer = new TestPeer(`hostile ${seed}`);
  }

  write(known: Known, { nodes }: Mesh, nowMs: number): readonly WireOperation[] {
    const seen = haveOf(nodes[0]!);
    return Array.from({ length: 1 + this.dice.below(6) }, () => this.operation(known, seen, nowMs));
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.dice.below(from.length)]!;
  }

  private operation(known: Known, seen: Record<string, number>, nowMs: number): WireOperation {
    const { dice } = this;
    // What is executed and who decides it need each other, so they are drawn more often.
    const kind = dice.chance(0.4) ? KINDS.of(this.pick(['pending', 'vote'])) : this.pick(KINDS.all);
    const header = dice.chance(0.85) ? this.pick(['team/x', ...INSIDE]) : this.pick(OUTSIDE);
    const asked = kind.name === 'vote' && dice.chance(0.7) ? this.requests.at(-1) : undefined;
    if (asked !== undefined) return this.voteFor(asked, seen, nowMs);
    const named = dice.chance(0.6) ? header : this.pick([...OUTSIDE, ...INSIDE]);
    const { id, image } = this.content(kind, named, known, nowMs);
    const words = Object.entries(kind.words);
    const [word, role] = dice.chance(0.75) ? words[0]! : this.pick(words);
    const payload =
      role === 'image'
        ? kind.payload.text(image as never)
        : JSON.stringify({ id, namespace: header, reason: 'request' });
    const change = { kind: word, namespace: header, subject: id, payload };
    const hlc = `${String(nowMs).padStart(13, '0')}-00000`;
    return this.peer.operation({}, { ...change, hlc, seen: dice.chance(0.5) ? seen : {} });
  }

  /** A vote that counts where the request counts. */
  private voteFor(
    { id, namespace, agent }: Asked,
    seen: Record<string, number>,
    nowMs: number,
  ): WireOperation {
    const voter = agent === 'ai:lead' ? 'ai:second' : 'ai:lead';
    const said = { pending_id: id, namespace, agent_id: voter, voter, decision: 'approve', remember: 'once' };
    const image = { ...said, voted_at: new Date(nowMs).toISOString(), rest: {} };
    const payload = voteKind.payload.text(image as never);
    const hlc = `${String(nowMs).padStart(13, '0')}-00000`;
    const subject = `${id}|${voter}`;
    return this.peer.operation({}, { kind: 'vote.put', namespace, subject, payload, hlc, seen });
  }

  private content(kind: Kind, namespace: string, known: Known, nowMs: number) {
    const at = new Date(nowMs).toISOString();
    const [memory, other] = [this.memory(known), this.memory(known)];
    const agent = this.pick(known.agents);
    const images: Readonly<Record<string, () => object>> = {
      memory: () => aMemory({ id: memory, namespace, title: `of x ${nowMs}`, content: 'evil' }),
      link: () => ({ ...(linking(memory, other).link as object), rest: {} }),
      standard: () => ({
        ...{ namespace, standard_id: null, parent_namespace: null, set_by: 'ai:x', operator_set: null },
        ...{ governance: { write: 'any' }, updated_at: at, rest: {} },
      }),
      adoption: () => ({
        ...{ peer_id: this.pick(['peer-a', 'peer-b']), home: this.peer.peerId, number: 7 },
        ...{ adopted_at: at, adopted_by: 'ai:x', rest: {} },
      }),
      alias: () => ({
        ...{ memory_id: memory, namespace, alias: 'A Name', folded: `name ${this.dice.below(24)}` },
        ...{ added_by: 'ai:x', added_at: at, rest: {} },
      }),
      erasure_done: () => ({
        ...{
          memory_id: memory,
          peer_id: this.pick(['peer-a', this.peer.peerId]),
          namespace,
          done_at: at,
          rest: {},
        },
      }),
      token_root: () => ({
        ...{ peer_id: this.pick(['peer-a', this.peer.peerId]), key_id: 'a'.repeat(16) },
        ...{ public_key: 'c'.repeat(64), created_at: at, rest: {} },
      }),
      token_revocation: () => ({
        ...{ revocation_id: 'b'.repeat(128), revoked_by: 'ai:evil', revoked_at: at, rest: {} },
      }),
      pending: () => this.request(namespace, known, at),
      vote: () => ({
        ...{ pending_id: this.action(known), namespace, agent_id: agent, voter: agent, rest: {} },
        ...{ decision: this.dice.chance(0.8) ? 'approve' : 'deny', remember: 'forever', voted_at: at },
      }),
      remembered: () => ({
        ...{ namespace, action_type: 'store', agent_id: agent, gate: 'write', approver: {}, rest: {} },
        ...{ decision: 'approve', lasts: 'forever', session: '', decided_by: 'ai:lead', decided_at: at },
      }),
      rule: () =>
        aRule(`R${this.dice.below(24)}`, { enabled: this.dice.chance(0.5), for_namespace: namespace }),
      receipt: () => ({ memory_id: memory, reader: 'ai:c', read_at: at, updated_at: at, rest: {} }),
      action: () => ({
        ...{ action_id: this.action(known), namespace, action_kind: 'task', title: 'evil', payload: '{}' },
        ...{ priority: 0, state: 'pending', agent_id: null, created_by: agent, claimed_by: null },
        ...{ metadata: {}, created_at: at, updated_at: at, last: null, rest: {} },
      }),
      action_edge: () => ({
        ...{ from_action: this.action(known), to_action: this.action(known), edge_type: 'requires' },
        ...{ namespace, created_by: agent, created_at: at, rest: {} },
      }),
      lease: () => ({
        ...{ action_id: this.action(known), namespace, holder: agent, token: 1, ttl_secs: 60 },
        ...{ acquired_at: at, rest: {} },
      }),
      ...this.coordination(namespace, known, at),
      ...this.transcripts(namespace, known, at),
    };
    const image = images[kind.name]!();
    const own = `${this.peer.peerId}/x${this.drawn}`;
    return { id: kind.idOf(image) ?? (this.dice.chance(0.8) ? own : `peer-a/${this.action(known)}`), image };
  }

  private transcripts(namespace: string, known: Known, at: string): Readonly<Record<string, () => object>> {
    const [agent, memory] = [this.pick(known.agents), this.memory(known)];
    const sha256 = 'ab'.repeat(32);
    const blob_id = `${namespace}|${sha256}`;
    return {
      blob: () => ({ namespace, sha256, data: 'qrpg', size: 3, agent_id: agent, rest: {} }),
      transcript: () => ({
        ...{ namespace, agent_id: agent, host_session_id: 's', host_turn_index: this.dice.below(9) },
        ...{ role: 'user', layer: 'L4', attest_level: 'self_signed', host_kind: 'evil', host_version: null },
        ...{ content_sha256: sha256, blob_id, original_size: 3, compressed_size: 5, memory_id: memory },
        ...{ tool_calls: [], host_signature: null, host_pubkey: null, captured_by: this.peer.peerId },
        ...{ created_at: at, expires_at: at, archived_at: null, rest: {} },
      }),
      offload: () => ({
        ...{ ref_id: `ofl_${this.dice.below(9)}`, namespace, agent_id: agent, content_sha256: sha256 },
        ...{ blob_id, size: 3, stored_at: at, expires_at: null, rest: {} },
      }),
      skill: () => ({
        ...{
          skill_id: `k${this.dice.below(9)}`,
          namespace,
          name: 'evil',
          description: 'evil',
          license: null,
        },
        ...{ compatibility: null, allowed_tools: ['Bash'], metadata: {}, body_sha256: sha256 },
        ...{
          content_id: blob_id,
          pieces: 1,
          digest: sha256,
          agent_id: agent,
          created_at: at,
          updated_at: at,
        },
        ...{ superseded_by: null, head_of: `${namespace}|evil`, signature: null, public_key: null, rest: {} },
      }),
      skill_content: () => ({ namespace, sha256, data: 'qrpg', size: 3, agent_id: agent, rest: {} }),
      skill_resource: () => ({
        ...{ skill_id: `k${this.dice.below(9)}`, namespace, path: '../evil', piece: 0, pieces: 1 },
        ...{ resource_kind: 'script', sha256, size: 3, content_id: blob_id, agent_id: agent, rest: {} },
      }),
    };
  }

  private coordination(namespace: string, known: Known, at: string): Readonly<Record<string, () => object>> {
    const maker = this.dice.chance(0.5) ? this.peer.peerId : 'peer-a';
    const agent = this.pick(known.agents);
    const id = this.action(known);
    const unsigned = { signature: null, public_key: null, rest: {} };
    return {
      signal: () => ({
        ...{ signal_id: id, maker, namespace, from_agent: agent, to_agent: null, subject: 'evil', body: '1' },
        ...{ signal_type: 'notify', in_reply_to: null, correlation_id: null, reference_ids: [] },
        ...{ created_at: at, expires_at: at, ...unsigned },
      }),
      signal_receipt: () => ({
        ...{ signal_id: id, maker, namespace, reader: agent, from_agent: 'ai:x', read_at: at },
        ...{ acknowledged_at: at, expires_at: at, rest: {} },
      }),
      checkpoint: () => ({
        ...{ checkpoint_id: id, maker, namespace, title: 'evil', condition_type: 'approval', condition: {} },
        ...{ state: 'resolved', created_by: agent, created_at: at, deadline_at: null, resolved_by: 'ai:x' },
        ...{ resolution: 'yes', resolution_note: null, resolved_at: at, metadata: {}, ...unsigned },
      }),
      routine: () => ({
        ...{ routine_id: id, maker, namespace, name: 'evil', template: {}, parameters: '[]' },
        ...{ state: 'frozen', created_by: agent, created_at: at, frozen_at: at, metadata: {}, ...unsigned },
      }),
      routine_run: () => ({
        ...{ run_id: id, maker, routine_id: 'x', namespace, arguments: {}, state: 'completed' },
        ...{ created_action_ids: [], created_by: agent, started_at: at, finished_at: at, error: null },
        ...{ metadata: {}, rest: {} },
      }),
      token_root: () => ({
        ...{ peer_id: this.pick(['peer-a', this.peer.peerId]), key_id: 'e'.repeat(16), rest: {} },
        ...{ public_key: 'e'.repeat(64), created_at: at },
      }),
      token_revocation: () => ({
        ...{ revocation_id: 'e'.repeat(128), revoked_by: 'ai:x', revoked_at: at, rest: {} },
      }),
    };
  }

  private memory = (known: Known): string =>
    known.memories.length === 0 || this.dice.chance(0.2)
      ? `x${this.dice.below(9)}`
      : this.pick(known.memories).id;

  private action = (known: Known): string =>
    known.actions.length === 0 || this.dice.chance(0.4)
      ? `x${this.dice.below(4)}`
      : this.pick(known.actions).id;

  /** Stores of an agent, which nothing but the scope of their author forbids. */
  private stores(agent: string): readonly object[] {
    const metadata = { agent_id: agent };
    return [...OUTSIDE, ...INSIDE].map((namespace) => {
      const id = `y${this.drawn}`;
      return { ...storing({ id, namespace, title: id, metadata }), viewer: tenant(agent) };
    });
  }

  /** A request that waits for somebody who takes its home over. */
  private request(namespace: string, known: Known, at: string) {
    const agent = this.pick(known.agents);
    const id = this.memory(known);
    const viewer = this.dice.chance(0.5) ? OPERATOR : tenant(agent);
    const command = this.pick<object>([
      { ...updating(id, { content: 'evil' }), viewer },
      { ...updating(id, { namespace: this.pick(INSIDE) }), viewer },
      { kind: 'delete-memory', id, archive: true, viewer },
      ...this.stores(agent),
      { ...linking(id, this.memory(known)), viewer },
      { kind: 'bind-agent-key', agentId: agent, publicKey: 'x', viewer },
      { kind: 'adopt-peer', peerId: 'peer-a', by: 'ai:x' },
    ]);
    this.drawn += 1;
    this.requests.push({ id: `x${this.drawn}`, namespace, agent });
    return {
      ...{ pending_id: `x${this.drawn}`, action_type: 'store', namespace, memory_id: null, command },
      ...{ approver: { form: 'consensus', votes: 1 }, requested_by: agent, requested_at: at },
      ...{ expires_at: '2026-12-31T00:00:00.000Z', status: 'pending', approvals: [], decided_by: null },
      ...{ decided_at: null, remember: null, written_as: null, reads: [], asked: [], rest: {} },
    };
  }
}
