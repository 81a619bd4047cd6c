import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { StoredLink } from '../../../protocol/graph/link-queries.js';
import { type Link, linkId, RELATIONS } from '../../../protocol/links/link.js';
import { linkFindings } from '../../../protocol/links/link-attestation.js';
import type { ReadCall } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { resolveId } from '../shared/resolve-id.js';
import { attestedLinks } from './attested-links.js';
import { relation, sourceId, targetId } from './link-fields.js';

const input = z.object({
  source_id: sourceId.optional(),
  target_id: targetId.optional(),
  relation: relation.describe('related_to unless given, where there are several').optional(),
  link_id: z
    .string()
    .max(limits.LINK_ID_LENGTH_MAX)
    .describe('The link as source|target|relation, or as source--relation-->target')
    .optional(),
  verification_nonce: z
    .string()
    .min(1)
    .max(limits.VERIFY_NONCE_LENGTH_MAX)
    .describe('Any text; a second verification of the link with it is refused')
    .optional(),
});

type Input = z.output<typeof input>;

const output = z.object({
  source_id: z.string(),
  target_id: z.string(),
  relation: z.enum(RELATIONS),
  verified: z.boolean(),
  attest_level: z.string(),
  signature_present: z.boolean(),
  observed_by: z.string().nullable(),
  findings: z.array(z.string()).describe('What keeps it from being verified'),
  signed_by: z.string().nullable().describe('The node or agent whose key signed'),
  signed_at: z.string().nullable(),
});

const toolOutput = output
  .pick({ attest_level: true, signed_by: true, signed_at: true, findings: true })
  .extend({ signature_verified: z.boolean() });

/** Verifies the signature of a link (interface §4.5, reference-http §3.3, reference-mcp-cli §1.2). */
export const memoryVerify = defineOperation({
  name: 'memory_verify',
  family: 'graph',
  summary: 'Verify the signature of a link, and say what keeps it from being verified.',
  input,
  output,
  effect: 'read',
  guards: {},
  http: [
    {
      ...{ method: 'POST', path: '/links/verify', fields: 'body' },
      shape: ({ signed_by: _by, signed_at: _at, ...report }) => report,
      output: output.omit({ signed_by: true, signed_at: true }),
    },
    { method: 'POST', path: '/memory_verify', fields: 'body', shape: toolShape, output: toolOutput },
  ],
  mcp: { description: 'Verify the signature of a link.', shape: toolShape, output: toolOutput },
  run: async (call, asked) => {
    const found = await namedLink(call, asked);
    if (!found.ok) return failed(found.error);
    const { link, whole } = found.value;
    const problem = nonceProblem(call, asked, link);
    if (problem !== null) return problem;
    const [attestation] = await attestedLinks(call, [link]);
    const findings = linkFindings(link, attestation!, whole, call.services.crypto);
    return ok({
      source_id: link.source_id,
      target_id: link.target_id,
      relation: link.relation,
      verified: findings.length === 0,
      attest_level: attestation!.level,
      signature_present: link.signature !== null,
      observed_by: link.observed_by,
      findings: [...findings],
      signed_by: attestation!.signedBy,
      signed_at: link.signed_at,
    });
  },
});

/** The shape of the tool, which the interface asks of its route too (reference-mcp-cli §1.2). */
function toolShape({ verified, attest_level, signed_by, signed_at, findings }: Record<string, unknown>) {
  return { signature_verified: verified, attest_level, signed_by, signed_at, findings };
}

/** The one link that the words of a request name: NOT_FOUND for none, VALIDATION_FAILED for several. */
async function namedLink(call: ReadCall, asked: Input): Promise<Result<StoredLink>> {
  const named = namesOf(asked);
  if (!named.ok) return failed(named.error);
  const ids: (string | null)[] = [];
  for (const id of [named.value.source_id, named.value.target_id]) {
    const end = id === undefined ? null : await resolveId(call, id);
    if (end?.ok === false) return end.error.code === 'NOT_FOUND' ? NO_LINK : failed(end.error);
    ids.push(end === null ? null : end.value);
  }
  const found = await call.services.store.query({
    kind: 'named-links',
    sourceId: ids[0]!,
    targetId: ids[1]!,
    relation: named.value.relation ?? null,
    limit: RELATIONS.length,
    viewer: call.caller.viewer,
    now: call.now,
  });
  if (!found.ok) return failed(found.error);
  const links = found.value.found;
  const [only, ...others] = links;
  if (only === undefined) return NO_LINK;
  const plain = ids[1] === null ? undefined : links.find(({ link }) => link.relation === 'related_to');
  if (others.length === 0 || plain !== undefined) return ok(plain ?? only);
  return fail('VALIDATION_FAILED', 'several links have this source: name target_id and relation', {
    fields: ['target_id', 'relation'],
  });
}

const NO_LINK = fail('NOT_FOUND', 'link not found');

type Named = Pick<Input, 'target_id' | 'relation'> & { readonly source_id: string };

function namesOf({ link_id: id, source_id, target_id, relation: asked }: Input): Result<Named> {
  if (id === undefined) {
    return source_id === undefined
      ? fail('VALIDATION_FAILED', 'source_id or link_id is required', { fields: ['source_id', 'link_id'] })
      : ok({ source_id, target_id, relation: asked });
  }
  const parts = /^([^|]+)\|([^|]+)\|([^|]+)$/.exec(id) ?? /^(.+?)--([a-z_]+)-->(.+)$/.exec(id);
  const [, source = '', second = '', third = ''] = parts ?? [];
  const [target, word] = id.includes('|') ? [second, third] : [third, second];
  const ends = z.object({ source_id: sourceId, target_id: targetId, relation });
  const read = ends.safeParse({ source_id: source, target_id: target, relation: word });
  if (read.success && source_id === undefined && target_id === undefined && asked === undefined)
    return ok(read.data);
  const message = read.success
    ? 'link_id: names the whole link; leave out source_id, target_id and relation'
    : 'link_id: must be source|target|relation or source--relation-->target';
  return fail('VALIDATION_FAILED', message, { fields: ['link_id'] });
}

/** Why the nonce of a request is refused, or null. */
function nonceProblem(call: ReadCall, { verification_nonce: nonce }: Input, link: Link) {
  const { settings, verifications, crypto } = call.services;
  if (nonce === undefined) {
    return settings.requireVerifyNonce
      ? fail('VALIDATION_FAILED', 'verification_nonce is required on this node', {
          fields: ['verification_nonce'],
        })
      : null;
  }
  const fingerprint = crypto.sha256Hex(JSON.stringify([linkId(link), nonce]));
  return verifications.use(call.caller.agentId, fingerprint)
    ? null
    : fail('VERIFICATION_REPLAYED', 'verification replay detected: this nonce was used for the link before');
}
