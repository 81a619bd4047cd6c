import type { CreateLinkOutcome } from '../../../protocol/graph/create-link.js';
import type { Link } from '../../../protocol/links/link.js';
import { attestationOf, type LinkAttestation, signerOf } from '../../../protocol/links/link-attestation.js';
import type { ReadCall, ReadServices } from '../../pipeline/call.js';

/** A link as callers see it: unset fields are left out, and the level is what this node believes. */
export async function shownLinks(call: ReadCall, links: readonly Link[]) {
  const attested = await attestedLinks(call, links);
  return links.map((link, at) => linkJson(link, attested[at]!));
}

function linkJson(link: Link, { level, signedBy }: LinkAttestation) {
  const { source_id, target_id, relation, created_at, ...others } = link;
  const { valid_from, valid_until, observed_by, signed_at, retired_at, believed_until, earlier } = others;
  const optional = { valid_from, valid_until, observed_by, signed_at, retired_at, believed_until };
  const past = earlier.length === 0 ? {} : { earlier: earlier.map(setMembers) };
  return {
    source_id,
    target_id,
    relation,
    created_at,
    ...setMembers({ ...optional, signed_by: signedBy }),
    attest_level: level,
    ...past,
  };
}

const setMembers = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

/** What the answer to a link says of the link that stands now. */
export const linkAnswer = (
  { change, link, notified, ended }: CreateLinkOutcome,
  { level }: LinkAttestation,
) => ({
  ...{ created: change === 'created', source_id: link.source_id, target_id: link.target_id },
  ...{ relation: link.relation, valid_from: link.valid_from, valid_until: link.valid_until },
  attest_level: level,
  invalidation_notified: [...notified],
  ...(ended === undefined ? {} : { target_valid_until: ended }),
});

/** How each of these links is attested here. */
export async function attestedLinks(
  { services }: { readonly services: Pick<ReadServices, 'crypto' | 'peerId' | 'store' | 'isMember'> },
  links: readonly Link[],
): Promise<readonly LinkAttestation[]> {
  const { crypto, peerId, store } = services;
  const signed = links.filter((link) => link.public_key !== null);
  if (signed.length === 0) return links.map(() => ({ level: 'unsigned', signedBy: null }));
  const observers = new Set(signed.flatMap(({ observed_by }) => observed_by ?? []));
  const found = await store.query({ kind: 'agent-keys', agentIds: [...observers] });
  const keysOf = new Map(found.ok ? found.value.keys : []);
  const members = new Set<string>();
  for (const signer of new Set(signed.map((link) => signerOf(link, crypto)))) {
    if (signer !== null && signer !== peerId && (await services.isMember(signer))) members.add(signer);
  }
  return links.map((link) => {
    const observer = keysOf.get(link.observed_by ?? '') ?? null;
    return attestationOf(link, { self: peerId, members, observer }, crypto);
  });
}
