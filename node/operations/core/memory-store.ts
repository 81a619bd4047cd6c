import { z } from 'zod';
import { nearDuplicatesRound, reviewFromStart } from '../../../actors/maintenance/near-duplicates.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import { spokenOf } from '../../../protocol/memory/conversation.js';
import { KINDS, type Memory } from '../../../protocol/memory/memory.js';
import { newMemory as blankMemory } from '../../../protocol/memory/new-memory.js';
import { ON_CONFLICT } from '../../../protocol/memory/on-conflict.js';
import { type Validity, validityProblem } from '../../../protocol/memory/validity.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { seenMemory } from '../../pipeline/seen-memories.js';
import { spoken } from '../../pipeline/spoken-fields.js';
import { confidenceOfNew } from '../shared/confidence.js';
import { given, textsBeside } from '../shared/hooked.js';
import { callersMetadata, ownerByMetadata } from '../shared/metadata-owner.js';
import { shownMemory } from '../shared/shown-memories.js';
import { attestMemory } from './attest-memory.js';
import { autoAtomising } from './auto-atomising.js';
import { AUTO_TAG_SKIPS, autoTagging } from './auto-tagging.js';
import { besideFindings, repetition, type StoreFindings } from './before-store.js';
import { classifiedKind } from './classified-kind.js';
import { synthesising } from './synthesising.js';
import { titleOfText } from './title-of-text.js';

const input = z.object({
  title: fields.title,
  content: fields.content,
  tier: fields.tier.default('mid'),
  namespace: fields.namespace.describe('Where it belongs, such as team/alpha').optional(),
  tags: fields.tags.default([]),
  priority: fields.priority.default(5),
  confidence: fields.confidence.describe('How sure it is, 0 to 1').optional(),
  source: fields.source.optional(),
  ttl_secs: fields.ttlSecs.optional(),
  expires_at: fields.comingInstant
    .describe('When it expires, RFC 3339; its tier says unless given')
    .optional(),
  ...fields.validity,
  ...spoken,
  metadata: fields.metadata.default({}),
  agent_id: fields.agentId.describe('Author; the caller unless given').optional(),
  scope: fields.scope.optional(),
  kind: fields.kind.default('observation'),
  on_conflict: z
    .enum(ON_CONFLICT)
    .default('error')
    .describe(
      'When the title is taken: error refuses, merge replaces the text and tags of that memory, version stores both',
    ),
  citations: fields.citations.default([]),
  source_uri: fields.sourceUri.optional(),
  source_span: fields.sourceSpan.optional(),
  entity_id: fields.entityId.optional(),
  force: z.boolean().default(false).describe('Store it even if another memory says nearly the same'),
  detect_conflicts: z
    .boolean()
    .describe('False leaves out potential_contradictions and near_duplicates; no model looks for more')
    .optional(),
  signature: z.string().describe('Ed25519 signature of the write envelope, standard base64').optional(),
  recall_id: fields.recallId.describe('The recall_id of the recall that led to it').optional(),
  created_at: z.string().describe('Signed instant, RFC 3339; only with a signature').optional(),
  sign: z.boolean().describe("Sign with the key file of the agent, instead of the machine's key").optional(),
});

type Input = z.output<typeof input>;

const SOURCES = { http: 'api', mcp: 'mcp', cli: 'cli' } as const;

/** Stores a memory (interface §4.2, POST /memories). */
export const memoryStore = defineOperation({
  name: 'memory_store',
  family: 'core',
  summary: 'Store a memory.',
  input,
  output: z.object({
    id: z.string(),
    tier: z.string(),
    namespace: z.string(),
    title: z.string(),
    agent_id: z.string(),
    kind: z.enum(KINDS).describe('The kind that its words say; only where a policy wants it').optional(),
    expires_at: z
      .string()
      .describe('When it expires unless it is used; absent for a memory that stays')
      .optional(),
    duplicate: z.boolean().optional(),
    action: z.string().optional(),
    potential_contradictions: z
      .array(z.string())
      .describe('Memories of the namespace with similar titles')
      .optional(),
    near_duplicates: fields.nearDuplicates
      .describe('Memories of the namespace that say nearly the same; all of them are kept')
      .optional(),
    autonomy_hook_skipped: z
      .enum(AUTO_TAG_SKIPS)
      .describe('Why no model tags the memory later; only where autonomous_hooks is on')
      .optional(),
    memory: fields.memoryOutput.describe('The memory as stored; only on the command line').optional(),
  }),
  effect: 'write',
  guards: { attestation: 'required' },
  delegable: 'by-namespace',
  // A merge into another row leaves no row with the id of the call, so nothing shows that it was done.
  repeatable: { unless: { on_conflict: 'merge' } },
  storesKeyed: true,
  placed: async ({ services }, { namespace }) => namespace ?? services.settings.defaultNamespace,
  http: [
    {
      method: 'POST',
      path: '/memories',
      fields: 'body',
      aliases: { memory_kind: 'kind' },
      // The key files are the node's; callers on other surfaces sign by themselves.
      omit: ['sign', 'recall_id', 'entity_id'],
      status: { among: [200, 201], of: (output) => (output['duplicate'] === true ? 200 : 201) },
    },
  ],
  mcp: {
    description:
      'Save something to remember in later sessions: make a note of a fact, decision, preference, result or lesson. Answers its id and notes that say nearly the same. To change a note, store it again under its title with on_conflict "merge".',
    lines: { title: 'A phrase that a search would use, unique in its namespace' },
    omit: ['ttl_secs', 'sign', 'entity_id', 'detect_conflicts', 'conversation', 'turn'],
    aliases: { memory_kind: 'kind' },
  },
  cli: {
    command: 'store',
    positionals: ['content'],
    derived: {
      title: { from: 'its first words', make: ({ content }) => titleOfText(String(content)) },
    },
    short: { T: 'title', c: 'content', t: 'tier', n: 'namespace', p: 'priority', S: 'source' },
    stdin: ['content'],
    omit: ['signature', 'created_at', 'recall_id', 'detect_conflicts'],
    // The whole memory, as in the reference (reference-mcp-cli §2.2).
    shape: ({ memory, ...answer }) => ({ ...(memory as object | undefined), ...answer }),
    view: 'message',
    message: storedMessage,
    examples: [
      'store "We deploy on Sundays, 02:00 to 04:00 UTC"',
      'store "Sundays, 02:00 to 04:00 UTC" --title "Deploy window" --tags deploy',
      'store - --title "Build log" < build.log',
    ],
  },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_store',
        firings: (fieldsIn: Input, _seen, call) => [
          { namespace: placeOf(call, fieldsIn), payload: deltaOf(call, fieldsIn) },
        ],
        apply: (asked, delta) => ({ ...asked, ...delta }),
      },
    ],
  }),
  run: store,
});

const placeOf = (call: ReadCall, fieldsIn: Input): string =>
  fieldsIn.namespace ?? call.services.settings.defaultNamespace;

/** What hooks see of a new memory: what they may rewrite, and the texts beside it that it stores. */
function deltaOf(call: ReadCall, fieldsIn: Input) {
  const { tier, title, content, tags, priority, source, expires_at, metadata } = fieldsIn;
  const confidence = fieldsIn.confidence ?? (call.services.settings.autoConfidence ? undefined : 1);
  const stated = { tier, title, content, tags, priority, confidence, source, expires_at, metadata };
  return { ...given({ ...stated, namespace: placeOf(call, fieldsIn) }), ...textsBeside(fieldsIn) };
}

async function store(call: Call, fieldsIn: Input) {
  const expiry = expiryOf(fieldsIn, call.now, ttlSecondsOf(call.services.settings));
  if (!expiry.ok) return failed(expiry.error);
  const invalid = validityProblem(validityOf(fieldsIn));
  if (invalid !== null) return failed(invalid);
  const owner = ownerByMetadata(call, fieldsIn.metadata);
  if (!owner.ok) return failed(owner.error);

  const { settings } = call.services;
  const classified = await classifiedKind(call, fieldsIn);
  if (!classified.ok) return failed(classified.error);
  const { kind } = classified.value;
  const asked = kind === null ? fieldsIn : { ...fieldsIn, kind };
  const memory = attestMemory(newMemory(call, asked, owner.value, expiry.value), call);
  if (settings.nearDuplicate === 'refuse' && !fieldsIn.force) {
    const refusal = await repetitionOf(call, memory);
    if (!refusal.ok) return refusal;
  }
  const tags = autoTagging(call, memory);
  const jobs = [
    ...tags.jobs,
    ...classified.value.jobs,
    ...(await autoAtomising(call, memory)),
    ...(await synthesising(call, memory)),
  ];
  const later = { by: owner.value, local: call.caller.local, jobs };
  const write = () =>
    call.services.store.execute({
      kind: 'store-memory',
      memory,
      onConflict: fieldsIn.on_conflict,
      viewer: call.caller.viewer,
      archive: settings.archiveOnGc,
      envelope: call.attestation.envelope,
      ...(call.again ? { again: true } : {}),
      ...(jobs.length === 0 ? {} : { later }),
    });
  const advised = fieldsIn.detect_conflicts !== false;
  const [found, result] = await besideFindings(call, memory, advised, write);
  if (!result.ok) return failed(result.error);
  const { stored, created } = result.value;
  // A row among many is compared by the process that owns the database, when one does.
  if (call.surface === 'cli' && advised) await flagNow(call);
  if (fieldsIn.recall_id !== undefined) {
    call.services.touches.consume({
      recallId: fieldsIn.recall_id,
      agentId: call.caller.viewer.all ? null : call.caller.agentId,
      memoryId: stored.id,
      consumedAt: call.now,
    });
  }
  return ok({
    id: stored.id,
    tier: stored.tier,
    namespace: stored.namespace,
    title: stored.title,
    agent_id: owner.value,
    ...(stored.expires_at === null ? {} : { expires_at: stored.expires_at }),
    ...(kind === null ? {} : { kind }),
    ...(created ? {} : { duplicate: true, action: 'updated existing memory' }),
    ...findingsOf(found, created, stored.id),
    ...tags.answer,
    ...(call.surface === 'cli' && advised ? await wholeMemory(call, stored.id) : {}),
  });
}

/** Fails for a memory that says nearly the same as another one, unless this call has stored it before. */
async function repetitionOf(call: Call, memory: Memory): Promise<Result<null>> {
  if (call.again) {
    const own = await seenMemory(
      { store: call.services.store, viewer: call.caller.viewer, now: call.now },
      memory.id,
    );
    if (!own.ok) return failed(own.error);
    if (own.value !== null) return ok(null);
  }
  const refusal = await repetition(call, memory);
  return refusal === null ? ok(null) : failed(refusal);
}

/** A command that works on the database itself may be the only process, so its row would not be compared later. */
async function flagNow({ services: { store, settings, condition, log }, now }: Call): Promise<void> {
  if (settings.nearDuplicate === 'off' || condition().writer !== 'process') return;
  const round = await nearDuplicatesRound(store, reviewFromStart(), now, null);
  log.debug({ ...round }, 'compared the rows that were written last');
}

/** What the answer says of other memories; a merge names its row already. */
function findingsOf({ similar, near }: StoreFindings, created: boolean, id: string) {
  const others = near.filter((other) => other.id !== id);
  return {
    ...(created && similar.length > 0 ? { potential_contradictions: [...similar] } : {}),
    ...(others.length === 0
      ? {}
      : {
          near_duplicates: others.map(({ title, similarity, ...other }) => ({
            id: other.id,
            title,
            similarity,
          })),
        }),
  };
}

function storedMessage(output: Record<string, unknown>): string {
  const near = (output['near_duplicates'] ?? []) as readonly {
    readonly id: string;
    readonly title: string;
  }[];
  const [first] = near;
  const more = near.length > 1 ? ` and ${near.length - 1} more` : '';
  const stored = [
    `stored: ${output['id']} [${output['tier']}] (ns=${output['namespace']})`,
    ...(output['duplicate'] === true ? ['(updated)'] : []),
    ...(output['expires_at'] === undefined ? [] : [`expires ${output['expires_at']} unless it is used`]),
  ].join(' ');
  return first === undefined ? stored : `${stored}; nearly the same as ${first.id} "${first.title}"${more}`;
}

/** The memory as it is stored; empty when another process has removed it since. */
async function wholeMemory(call: Call, id: string) {
  const { viewer } = call.caller;
  const found = await call.services.store.query({ kind: 'get-memory', id, viewer, now: call.now });
  return found.ok ? { memory: await shownMemory(call, found.value.memory) } : {};
}

/** Precedence: expires_at, then ttl_secs, then the tier's time to live (reference-http §2.1). */
function expiryOf(input: Input, now: string, ttl: ReturnType<typeof ttlSecondsOf>) {
  if (input.expires_at !== undefined) {
    return input.expires_at > now
      ? ok(input.expires_at)
      : fail('VALIDATION_FAILED', 'expires_at lies in the past', { fields: ['expires_at'] });
  }
  const seconds = input.ttl_secs ?? ttl[input.tier];
  return ok(seconds === null ? null : instantAfter(now, seconds));
}

const validityOf = ({ valid_from, valid_until }: Input): Validity => ({
  valid_from: valid_from ?? null,
  valid_until: valid_until ?? null,
});

function newMemory(call: Call, input: Input, owner: string, expiresAt: string | null): Memory {
  return blankMemory(call.now, {
    id: call.services.random.uuid(),
    tier: input.tier,
    namespace: input.namespace ?? call.services.settings.defaultNamespace,
    title: input.title,
    content: input.content,
    tags: input.tags,
    priority: input.priority,
    ...confidenceOfNew(call, input.confidence, { isAtom: false, corroborations: input.citations.length }),
    source: input.source ?? SOURCES[call.surface],
    expires_at: expiresAt,
    ...validityOf(input),
    ...spokenOf(input, call.nowMs),
    metadata: {
      ...callersMetadata(input.metadata),
      agent_id: owner,
      ...(input.scope === undefined ? {} : { scope: input.scope }),
      attest_level: 'claimed',
    },
    kind: input.kind,
    citations: input.citations,
    source_uri: input.source_uri ?? null,
    source_span: input.source_span ?? null,
    entity_id: input.entity_id ?? null,
  });
}
