import { z } from 'zod';
import { AUDIT_PAGE_ROWS, LINEAGE_MEMORIES_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { StoredLink } from '../../../protocol/graph/link-queries.js';
import { linkFindings } from '../../../protocol/links/link-attestation.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { seenMemories } from '../../pipeline/seen-memories.js';
import { attestedLinks } from '../graph/attested-links.js';
import { boundedAnswer } from '../shared/traversal.js';
import { namedReflection, sourceLinks } from './named-reflection.js';

/** Events of the audit chain that an answer shows; further ones are counted. */
const EVENTS_MAX = 1000;

const output = z.object({
  memory_id: z.string(),
  verified: z.boolean(),
  reflection_depth: z.int(),
  memories: z.array(
    z.object({
      id: z.string(),
      kind: z.string().nullable().describe('Null for one that was removed'),
      reflection_depth: z.int().nullable(),
      findings: z.array(z.string()).describe('What keeps it from being verified'),
    }),
  ),
  links: z.array(
    z.object({
      source_id: z.string(),
      target_id: z.string(),
      attest_level: z.string(),
      signed_by: z.string().nullable(),
      verified: z.boolean(),
      findings: z.array(z.string()),
    }),
  ),
  signed_events: z
    .array(
      z.object({
        sequence: z.int(),
        timestamp: z.string(),
        agent_id: z.string(),
        event_type: z.string(),
        payload: z.unknown(),
      }),
    )
    .describe('The records of the audit chain that name a memory of the chain')
    .optional(),
  events_omitted: z.int().describe('Further records that name one').optional(),
});

type Output = z.input<typeof output>;

/**
 * Verifies a reflection and all that it reflects on: each link is signed by a key that this node believes, each depth is that
 * of the deepest source plus one, and no source is missing (reference-mcp-cli §2.2). Only on the command line.
 */
export const verifyReflectionChain = defineOperation({
  name: 'verify_reflection_chain',
  family: 'governance',
  summary:
    'Verify a reflection and all that it reflects on: signatures of the links, depths, missing sources.',
  input: z.object({
    memory_id: fields.memoryId,
    include_signed_events: z
      .boolean()
      .default(false)
      .describe('Also show the records of the audit chain about it; for the operator'),
    format: z.enum(['text', 'json']).describe('Shape of the answer').optional(),
  }),
  output,
  effect: 'read',
  guards: {},
  cli: {
    command: 'verify-reflection-chain',
    positionals: ['memory_id'],
    view: 'object',
    exit: ({ verified }) => (verified === true ? 0 : 1),
    examples: [
      'verify-reflection-chain 3f2a',
      'verify-reflection-chain 3f2a --include-signed-events --format json',
    ],
  },
  run: verify,
});

interface Asked {
  readonly memory_id: string;
  readonly include_signed_events: boolean;
}

async function verify(call: ReadCall, asked: Asked): Promise<Result<Output>> {
  const { viewer, admin } = call.caller;
  if (asked.include_signed_events && !viewer.all && !admin)
    return fail('ADMIN_REQUIRED', 'the audit chain shows acts of all agents; run it as the operator');
  const root = await namedReflection(call, asked.memory_id);
  if (!root.ok) return failed(root.error);
  const chain = await chainOf(call, root.value);
  if (!chain.ok) return failed(chain.error);
  const { memories, removed, links } = chain.value;
  const shownLinks = await verifiedLinks(call, links);
  const shownMemories = [
    ...memories.map((memory) => examined(memory, memories, links)),
    ...removed.map((id) => ({
      id,
      kind: null,
      reflection_depth: null,
      findings: ['the memory was removed'],
    })),
  ];
  const verified =
    shownLinks.every((link) => link.verified) && shownMemories.every(({ findings }) => findings.length === 0);
  const answer = {
    ...{ memory_id: root.value.id, verified, reflection_depth: root.value.reflection_depth },
    ...{ memories: shownMemories, links: shownLinks },
  };
  if (!asked.include_signed_events) return ok(answer);
  const events = await eventsAbout(call, [...memories.map(({ id }) => id), ...removed]);
  return events.ok ? ok({ ...answer, ...events.value }) : failed(events.error);
}

interface ReflectionChain {
  /** The reflection, and all that it reflects on. */
  readonly memories: readonly MemoryRow[];
  readonly removed: readonly string[];
  readonly links: readonly StoredLink[];
}

async function chainOf(call: ReadCall, root: MemoryRow): Promise<Result<ReflectionChain>> {
  const { viewer } = call.caller;
  const { store } = call.services;
  const walked = await store.query({
    ...{ kind: 'memory-lineage', id: root.id, direction: 'ancestors', relation: 'reflects_on' },
    ...{ maxDepth: LINEAGE_MEMORIES_MAX, viewer, now: call.now },
  });
  if (!walked.ok) return failed(walked.error);
  const whole = boundedAnswer(walked.value, { memory_id: root.id, verified: false });
  if (!whole.ok) return failed(whole.error);
  const { nodes } = walked.value;
  const removed = nodes.filter(({ title }) => title === null).map(({ id }) => id);
  const live = nodes.filter(({ title }) => title !== null).map(({ id }) => id);
  const found = await seenMemories({ store, viewer, now: call.now }, live);
  if (!found.ok) return failed(found.error);
  // One may have gone since the walk.
  const gone = live.filter((_id, at) => found.value[at] === null);
  const memories = [root, ...found.value.filter((memory) => memory !== null)];
  const links: StoredLink[] = [];
  for (const { id, kind } of memories) {
    if (kind !== 'reflection') continue;
    const own = await sourceLinks(call, id);
    if (!own.ok) return failed(own.error);
    links.push(...own.value);
  }
  return ok({ memories, removed: [...removed, ...gone], links });
}

/** What keeps a memory of the chain from being verified. */
function examined(memory: MemoryRow, memories: readonly MemoryRow[], links: readonly StoredLink[]) {
  const { id, kind, reflection_depth } = memory;
  const findings: string[] = [];
  if (kind === 'reflection') {
    const sources = new Set(
      links.filter(({ link }) => link.source_id === id).map(({ link }) => link.target_id),
    );
    const depths = memories.filter((other) => sources.has(other.id)).map((other) => other.reflection_depth);
    const expected = 1 + Math.max(...depths);
    if (depths.length === 0) findings.push('none of its sources is here');
    else if (expected !== reflection_depth)
      findings.push(`its depth is ${reflection_depth}, and its sources give ${expected}`);
  }
  return { id, kind, reflection_depth, findings };
}

async function verifiedLinks(call: ReadCall, links: readonly StoredLink[]) {
  const attested = await attestedLinks(
    call,
    links.map(({ link }) => link),
  );
  return links.map(({ link, whole }, at) => {
    const { level, signedBy } = attested[at]!;
    const findings = [...linkFindings(link, attested[at]!, whole, call.services.crypto)];
    const { source_id, target_id } = link;
    const ends = { source_id, target_id, attest_level: level, signed_by: signedBy };
    return { ...ends, verified: findings.length === 0, findings };
  });
}

/** The records of the audit chain whose payload names one of these memories. */
async function eventsAbout(
  call: ReadCall,
  ids: readonly string[],
): Promise<Result<Pick<Output, 'signed_events' | 'events_omitted'>>> {
  const names = new Set(ids);
  const events: NonNullable<Output['signed_events']> = [];
  let omitted = 0;
  for (let after = 0; ; ) {
    const page = await call.services.store.query({ kind: 'audit-rows', after, limit: AUDIT_PAGE_ROWS });
    if (!page.ok) return failed(page.error);
    for (const { sequence, timestamp, agent_id, event_type, payload: text } of page.value.rows) {
      const payload: unknown = text === null ? null : JSON.parse(text);
      if (!mentions(payload, names)) continue;
      if (events.length === EVENTS_MAX) omitted += 1;
      else events.push({ sequence, timestamp, agent_id, event_type, payload });
    }
    if (page.value.rows.length < AUDIT_PAGE_ROWS)
      return ok({ signed_events: events, ...(omitted === 0 ? {} : { events_omitted: omitted }) });
    after = page.value.rows.at(-1)!.sequence;
  }
}

function mentions(value: unknown, names: ReadonlySet<string>): boolean {
  if (typeof value === 'string') return names.has(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((member) => mentions(member, names));
}
