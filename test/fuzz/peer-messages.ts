import { z } from 'zod';
import { ROSTER_PATH } from '../../node/mesh/mesh-answers.js';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { memoryPayload } from '../../protocol/memory/memory-kind.js';
import { KINDS, COMMANDS as RELEASED } from '../../protocol/release.js';
import { forwardSchema } from '../../protocol/wire/forward.js';
import {
  COMMANDS_PATH,
  PULL_PATH,
  PUSH_PATH,
  RANGES_PATH,
  SINCE_PATH,
} from '../../protocol/wire/message-paths.js';
import { type PullQuestion, pullBody, pullQuery, pullSchema } from '../../protocol/wire/pull-question.js';
import { PUSH_ARRAYS, pushSchema } from '../../protocol/wire/push-message.js';
import { rangesSchema } from '../../protocol/wire/ranges-messages.js';
import { head, operation } from '../../protocol/wire/wire-schema.js';
import { aMemory } from '../support/memories.js';
import type { Chain, Said } from './chain.js';
import type { Dice } from './dice.js';
import type { Member } from './mesh-target.js';
import { mutate } from './mutate.js';
import { mutateTree } from './tree.js';
import type { FieldSchema, Values } from './values.js';

/** A message that is not signed yet. */
export interface Draft {
  readonly by: Member;
  readonly label: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: string;
  readonly body: Buffer;
  /** Headers that replace the right ones. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** What those who draw messages know of the node: from its answers to them. */
export interface Known {
  readonly peerId: string;
  /** Operations that it showed to each member, by the member's name. */
  readonly operations: ReadonlyMap<string, Said[]>;
  readonly statements: readonly unknown[];
  readonly have: Readonly<Record<string, number>>;
  /** Ids of memories that a scope forbids. */
  readonly forbidden: readonly string[];
}

const schemaOf = (type: z.ZodType) =>
  z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }) as FieldSchema;
const SHAPES = {
  push: schemaOf(pushSchema),
  pull: schemaOf(pullSchema),
  ranges: schemaOf(rangesSchema),
  forward: schemaOf(forwardSchema),
  operation: schemaOf(operation),
  head: schemaOf(head),
};
const WORDS = KINDS.all.flatMap(({ words }) => Object.keys(words));
const COMMANDS = RELEASED.all.map(({ kind }) => kind);
const HEADER_GARBAGE: readonly Readonly<Record<string, string | undefined>>[] = [
  { 'x-memory-sig': undefined },
  { 'x-memory-sig': 'ed25519=AAAA' },
  { 'x-memory-sig': `ed25519=${'0'.repeat(128)}` },
  { 'x-memory-nonce': undefined },
  { 'x-memory-nonce': 'again' },
  { 'x-memory-nonce': 'n'.repeat(4000) },
  { 'x-peer-id': undefined },
  { 'x-peer-id': '../daemon' },
  { 'x-peer-id': 'peer-0000000000000000' },
  { 'content-type': 'text/plain' },
  { 'content-encoding': 'gzip' },
];

/** Draws what a member of the mesh may send, mostly nearly right: signed as it should be, with changes before that. */
export class PeerMessages {
  constructor(
    private readonly dice: Dice,
    private readonly values: Values,
    private readonly known: Known,
  ) {}

  draw(by: Member, chain: Chain): Draft {
    const { dice } = this;
    const kind = dice.unit();
    const draft =
      kind < 0.42
        ? this.#pushedOperations(by, chain)
        : kind < 0.62
          ? this.#pushedArrays(by)
          : kind < 0.72
            ? this.#since(by)
            : kind < 0.78
              ? this.#posted(by, PULL_PATH, pullBody(this.#question(), this.known.peerId, now()), SHAPES.pull)
              : kind < 0.88
                ? this.#posted(by, RANGES_PATH, this.#ranges(), SHAPES.ranges)
                : kind < 0.92
                  ? this.#posted(by, COMMANDS_PATH, this.#forwarded(), SHAPES.forward)
                  : kind < 0.96
                    ? this.#posted(by, `/api/v1${ROSTER_PATH}`, { statements: this.known.statements }, null)
                    : this.#asked(by);
    return dice.chance(0.03) ? { ...draft, headers: dice.pick(HEADER_GARBAGE) } : draft;
  }

  #pushedOperations(by: Member, chain: Chain): Draft {
    const { dice } = this;
    const operations: unknown[] = Array.from({ length: 1 + dice.below(4) }, () => chain.next(this.#said(by)));
    const body = {
      ...this.#pushBody(by),
      operations,
      heads: [chain.head()],
    };
    if (dice.chance(0.1)) body.operations.push(this.values.valid('operation', SHAPES.operation));
    if (dice.chance(0.1)) body.heads.push(this.values.valid('head', SHAPES.head) as never);
    return this.#draft(by, PUSH_PATH, body, dice.chance(0.35));
  }

  /** What an operation says: like one that the node showed, or a new memory, with changes that its chain covers. */
  #said(by: Member): Said {
    const { dice, values } = this;
    const templates = this.known.operations.get(by.name) ?? [];
    const template = templates.length > 0 && dice.chance(0.7) ? dice.pick(templates) : this.#freshMemory(by);
    let text = JSON.stringify({ ...template, payload: parsedOr(template.payload) });
    const renamed = dice.chance(0.5) && /^[\w-]{8,}$/.test(template.subject);
    if (renamed) text = text.replaceAll(template.subject, this.dice.uuid());
    let tree = JSON.parse(text) as Record<string, unknown>;
    if (dice.chance(0.2)) tree['kind'] = dice.pick(WORDS);
    if (dice.chance(0.1)) tree['namespace'] = values.valid('namespace', { type: 'string' });
    if (dice.chance(0.05)) tree['subject'] = dice.pick([...this.#ids(by), 'x']);
    if (dice.chance(0.6)) tree = mutateTree(tree, dice, values) as Record<string, unknown>;
    const { kind, namespace, subject, seen, payload } = marked(tree, by);
    return {
      kind: typeof kind === 'string' ? kind : 'store',
      namespace: typeof namespace === 'string' ? namespace : 'global',
      subject: typeof subject === 'string' ? subject : this.dice.uuid(),
      seen: isCounts(seen) ? seen : {},
      payload: dice.chance(0.97) ? canonicalOr(payload) : JSON.stringify(payload ?? null),
    };
  }

  #freshMemory(by: Member): Said {
    const { dice, values } = this;
    const id = this.dice.uuid();
    const namespace =
      by.scope === null || dice.chance(0.2) ? dice.pick(['global', 'open/x', 'team/b']) : 'team/a';
    const row = aMemory({
      id,
      namespace,
      title: values.valid('title', { type: 'string' }) as string,
      content: markOf(by),
      created_hlc: `${Date.now()}-00000`,
    });
    return { kind: 'store', namespace, subject: id, seen: {}, payload: memoryPayload(row) };
  }

  #pushedArrays(by: Member): Draft {
    const { dice, values } = this;
    const ids = () => dice.pick([...this.#ids(by), 'no-such-id']);
    const item: Readonly<Record<string, () => unknown>> = {
      memories: () => parsedOr(this.#freshMemory(by).payload),
      links: () => ({ source_id: ids(), target_id: ids(), relation: 'related_to', created_at: now() }),
      namespace_meta: () => ({
        namespace: dice.pick(['team/a', 'open/x']),
        standard_id: ids(),
        updated_at: now(),
      }),
      namespace_meta_clears: () => dice.pick(['team/a', 'open/x']),
      embeddings: () => ({ memory_id: ids(), model: 'm', dim: 2, vector: 'AAAAAAAAAAA=' }),
    };
    const body: Record<string, unknown> = this.#pushBody(by);
    for (let lists = 1 + dice.below(3); lists > 0; lists -= 1) {
      const name = dice.pick(PUSH_ARRAYS);
      body[name] = Array.from({ length: 1 + dice.below(3) }, () => {
        const whole = (item[name] ?? ids)();
        return dice.chance(0.5) ? marked(mutateTree([whole], dice, values), by) : whole;
      }).flat();
    }
    if (dice.chance(0.05)) body['dry_run'] = true;
    return this.#draft(by, PUSH_PATH, body, dice.chance(0.15));
  }

  #pushBody(by: Member) {
    const { dice } = this;
    const sender = dice.chance(0.98) ? by.peer.peerId : dice.pick(['ai:victim', this.known.peerId, 'a b']);
    return {
      sender_agent_id: sender,
      sender_wall_clock: now(),
      receiver: this.known.peerId,
      memories: [] as unknown[],
    };
  }

  #since(by: Member): Draft {
    const { dice } = this;
    const old = `since=${encodeURIComponent(String(this.values.valid('since', { type: 'string' })))}&limit=${dice.below(20)}`;
    let query = dice.chance(0.15)
      ? `${old}&to=${this.known.peerId}`
      : pullQuery(this.#question(), by.peer.peerId, this.known.peerId, now());
    if (dice.chance(0.4)) {
      const bytes = mutate(Buffer.from(query), dice).toString('latin1');
      query = bytes.replace(/[^!-~]/g, (one) => encodeURIComponent(one)).replaceAll('#', '%23');
    }
    return this.#get(by, SINCE_PATH, query);
  }

  /** Ids that a message may name: also those that its sender's scope forbids. */
  #ids({ scope }: Member): readonly string[] {
    return scope === null ? this.values.ids : [...this.values.ids, ...this.known.forbidden];
  }

  #question(): PullQuestion {
    const { dice, known } = this;
    const have = Object.fromEntries(
      Object.entries(known.have)
        .filter(() => dice.chance(0.9))
        .map(([origin, seq]) => [origin, dice.chance(0.8) ? seq : dice.below(seq + 1)]),
    );
    const origins = dice.chance(0.1) ? Object.keys(known.have).slice(0, 3) : null;
    return { have, limit: 1 + dice.below(40), origins, place: dice.chance(0.2), stubs: dice.chance(0.2) };
  }

  #ranges(): Record<string, unknown> {
    const { dice, known } = this;
    const places = Object.entries(known.have).map(([origin, seq]) => ({
      origin,
      seq: 1 + dice.below(seq + 1),
    }));
    const hash = () =>
      dice
        .below(2 ** 31)
        .toString(16)
        .padStart(64, '0');
    const namespace = dice.pick(['team/a', 'secret/s', 'global']);
    const ask = dice.pick<Record<string, unknown>>([
      { kind: 'buckets', within: dice.pick([null, ['team/**'], [namespace]]) },
      {
        kind: 'namespaces',
        within: dice.pick([null, ['team/**'], [namespace]]),
        of: 'memory',
        buckets: Array.from({ length: 256 }, (_, at) => at),
        after: dice.pick([null, namespace]),
        upTo: null,
        digests: [[namespace, hash()]],
      },
      {
        kind: 'subjects',
        of: { kind: 'memory', namespace },
        ranges: { [String(dice.below(256))]: hash() },
        from: 0,
      },
      { kind: 'operations', places: places.slice(0, 40) },
    ]);
    return { sender_wall_clock: now(), receiver: known.peerId, ask };
  }

  #forwarded(): Record<string, unknown> {
    const { dice, known, values } = this;
    const command = { kind: dice.pick(COMMANDS), id: dice.pick([...known.forbidden, ...values.ids, '']) };
    return { sender_wall_clock: now(), receiver: known.peerId, command };
  }

  #asked(by: Member): Draft {
    const { dice, values } = this;
    const text = encodeURIComponent(String(values.near({ type: 'string' })).toWellFormed()).slice(0, 500);
    const [path, query] = dice.pick([
      ['/api/v1/mesh/roster', `to=${this.known.peerId}&at=${encodeURIComponent(now())}`],
      ['/api/v1/mesh/roster', text],
      ['/api/v1/mesh/whoami', `challenge=${text}`],
      ['/api/v1/mesh/status', `compare=${text.slice(0, 20)}`],
      [`/api/v1/mesh/operations/${text}`, ''],
      ['/api/v1/memories', ''],
    ] as const);
    return this.#get(by, path, query);
  }

  #posted(by: Member, path: string, right: object, shape: FieldSchema | null): Draft {
    const { dice, values } = this;
    if (shape !== null && dice.chance(0.25)) {
      return this.#draft(
        by,
        path,
        { ...right, ...(values.valid('body', shape) as object) },
        dice.chance(0.3),
      );
    }
    return this.#draft(by, path, right, dice.chance(0.6));
  }

  #get(by: Member, path: string, query: string): Draft {
    const label = `${by.name} GET ${path}?${query}`;
    return { by, label, method: 'GET', path, query, body: Buffer.alloc(0), headers: {} };
  }

  #draft(by: Member, path: string, right: object, changed: boolean): Draft {
    const { dice, values } = this;
    const value = changed ? marked(mutateTree(right, dice, values), by) : right;
    let body = Buffer.from(JSON.stringify(value) ?? '');
    if (dice.chance(0.04)) body = Buffer.from(mutate(body, dice));
    return { by, label: `${by.name} POST ${path}`, method: 'POST', path, query: '', body, headers: {} };
  }
}

/** A word that only this member writes; with it its writes are found again, wherever they are. */
export const markOf = ({ name }: Pick<Member, 'name'>) => `mark${name}`;
const MARK = /\bmark(honest|everything|scoped)\b/g;

/** The same value as this member would write it. */
const marked = <T>(value: T, by: Member): T =>
  JSON.parse((JSON.stringify(value) ?? 'null').replace(MARK, markOf(by))) as T;

const now = () => new Date().toISOString();

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function canonicalOr(value: unknown): string {
  try {
    return canonicalJson(value as never);
  } catch {
    return JSON.stringify(value ?? null);
  }
}

const isCounts = (value: unknown): value is Record<string, number> =>
  typeof value === 'object' && value !== null && Object.values(value).every(Number.isSafeInteger);
