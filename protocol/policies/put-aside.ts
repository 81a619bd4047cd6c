import { agentIdProblem, memoryIdProblem, namespaceProblem } from '../base/ids.js';
import { ARCHIVE_IDS_MAX } from '../base/limits.js';
import { type Requester, requesterViewer } from '../decide/requester.js';
import { ownerOf } from '../identity/owner.js';
import type { Kind } from '../kinds/kind.js';
import { isInteger, isObject, isText, isTextOrNull, isTexts, oneOf } from '../kinds/payload.js';
import { instant, orNull } from '../kinds/replicated-value.js';
import { type LinkKey, RELATIONS } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { type Memory, TIERS } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { ON_CONFLICT } from '../memory/on-conflict.js';
import { claimed } from '../memory/update.js';
import { isMail } from '../namespaces/mail.js';
import type { Command } from '../release.js';

type Values = Readonly<Record<string, unknown>>;
type Of<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

/**
 * Reads a command from the record of a pending action, which another node may have written: every member is looked at, and
 * the caller is the one who requested it, whatever the record says. Null for another shape.
 */
export type ReadPutAside<K extends Command['kind']> = (sent: Values, by: Requester) => Of<K> | null;

type Check = (value: unknown, by: Requester) => boolean;
type Shape<C> = { readonly [M in Exclude<keyof C, 'kind' | 'viewer' | 'again'>]-?: Check | Read<C[M]> };

/** A member whose value is read, not only looked at. */
interface Read<T> {
  readonly read: (value: unknown, by: Requester) => T | undefined;
}

/** Reads the members that a shape names; another member makes another shape. */
function shaped<K extends Command['kind']>(kind: K, shape: Shape<Of<K>>): ReadPutAside<K> {
  const members = Object.entries(shape) as [string, Check | Read<unknown>][];
  return (sent, by) => {
    const command: Record<string, unknown> = { kind, viewer: requesterViewer(by.requestedBy) };
    for (const [member, how] of members) {
      const value = sent[member];
      if (typeof how === 'function') {
        if (!how(value, by)) return null;
        if (value !== undefined) command[member] = value;
        continue;
      }
      const read = how.read(value, by);
      if (read === undefined) return null;
      command[member] = read;
    }
    const isKnown = (member: string) => IGNORED.has(member) || Object.hasOwn(shape, member);
    return Object.keys(sent).every(isKnown) ? (command as unknown as Of<K>) : null;
  };
}

const IGNORED: ReadonlySet<string> = new Set(['kind', 'viewer', 'again']);

const isFlag: Check = (value) => typeof value === 'boolean';
const isId: Check = (value) => isText(value) && memoryIdProblem(value) === null;
const isIds: Check = (value, by) =>
  Array.isArray(value) && value.length <= ARCHIVE_IDS_MAX && value.every((id) => isId(id, by));
const isAgent: Check = (value) => isText(value) && agentIdProblem(value) === null;
const isNamespace: Check = (value) => isText(value) && namespaceProblem(value) === null;
/** The caller, or the agent that the call named for its writes. */
const isRequester: Check = (value, { requestedBy, writtenAs }) =>
  isText(value) && (value === requestedBy || value === writtenAs);
const isVersionOrNull: Check = (value) => value === null || isInteger(value);
const isAbsentOr =
  (check: Check): Check =>
  (value, by) =>
    value === undefined || check(value, by);

/** An object with exactly these members. */
const exactly =
  (members: Readonly<Record<string, Check>>): Check =>
  (value, by) =>
    isObject(value) &&
    Object.keys(value).every((member) => Object.hasOwn(members, member)) &&
    Object.entries(members).every(([member, check]) => check(value[member], by));

const isEnvelope = orNull((value) =>
  exactly({
    agentId: isAgent,
    fingerprint: isText,
    publicKey: isText,
    expiresAtMs: (ms) => Number.isFinite(ms),
  })(value, NOBODY),
);
const NOBODY: Requester = { requestedBy: '', writtenAs: null, isOwn: false };

/** The image of a row that peers may send; undefined for another value, and for one with unknown members. */
function imageOf<I extends { readonly rest: Values }>(kind: Kind<I>, value: Values): I | undefined {
  const { rest: _rest, ...known } = value;
  const image = kind.payload.parse(known);
  if (image === null || !kind.payload.admits(image) || Object.keys(image.rest).length > 0) return undefined;
  return image;
}

/** A new memory of the requester. What another node signed was not verified here, so it is only claimed. */
const newMemory: Read<Memory> = {
  read: (value, by) => {
    if (!isObject(value)) return undefined;
    const {
      access_count: _a,
      last_accessed_at: _l,
      hlc: _h,
      origin: _o,
      origin_seq: _q,
      seen: _s,
      ...sent
    } = value;
    const image = imageOf(memoryKind, sent);
    if (image === undefined || namespaceProblem(image.namespace) !== null) return undefined;
    const memory: Memory = {
      ...image,
      ...{ access_count: 0, last_accessed_at: null, hlc: '', origin: '', origin_seq: 0, seen: {} },
    };
    const owner = ownerOf(memory);
    if (owner !== null && !isRequester(owner, by)) return undefined;
    return by.isOwn ? memory : claimed(memory);
  },
};

const message: Read<Memory> = {
  read: (value, by) => {
    const memory = newMemory.read(value, by);
    return memory !== undefined && isMail(memory.namespace) ? memory : undefined;
  },
};

/** The members of a patch are those of a memory, and its scope. */
const isPatch: Check = (value) => {
  if (!isObject(value) || !Object.keys(value).every((member) => PATCHED.has(member))) return false;
  const { scope, ...members } = value;
  if (scope !== undefined && !isText(scope)) return false;
  const { namespace } = members;
  if (namespace !== undefined && !isNamespace(namespace, NOBODY)) return false;
  return imageOf(memoryKind, { ...PATCHABLE, ...members }) !== undefined;
};

/** The members that a memory has in any case. */
const PATCHABLE = {
  ...{ id: 'patched', namespace: 'patched' },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
};

type Patch = Of<'update-memory'>['patch'];
const PATCH_MEMBERS: { readonly [M in keyof Patch]-?: true } = {
  ...{
    title: true,
    content: true,
    tier: true,
    namespace: true,
    tags: true,
    priority: true,
    confidence: true,
  },
  ...{ expires_at: true, metadata: true, source_uri: true, kind: true, source: true, scope: true },
  ...{ citations: true, source_span: true, entity_id: true },
};
const PATCHED: ReadonlySet<string> = new Set(Object.keys(PATCH_MEMBERS));

const isSeconds: Check = (value) => value === null || (isInteger(value) && (value as number) >= 0);

const isLink: Read<Of<'create-link'>['link']> = {
  read: (value) => (isObject(value) ? imageOf(linkKind, value) : undefined),
};

/** The members that identify a link, of a value that may be the whole link. */
const linkKey: Read<LinkKey> = {
  read: (value, by) => {
    if (!isObject(value)) return undefined;
    const { source_id, target_id, relation } = value;
    const key = { source_id, target_id, relation };
    const isKey = exactly({ source_id: isId, target_id: isId, relation: oneOf(RELATIONS) })(key, by);
    return isKey ? (key as LinkKey) : undefined;
  },
};

/** Every command that may wait, as it is read from a record. */
export const PUT_ASIDE = {
  'store-memory': shaped('store-memory', {
    ...{ memory: newMemory, onConflict: oneOf(ON_CONFLICT), archive: isFlag, envelope: isEnvelope },
  }),
  'register-entity': shaped('register-entity', {
    ...{ memory: newMemory, ids: isIds, aliases: isTexts, archive: isFlag },
  }),
  'send-message': shaped('send-message', { memory: message }),
  'share-memory': shaped('share-memory', { id: isId, copyId: isId, from: isRequester, to: isAgent }),
  'update-memory': shaped('update-memory', {
    ...{ id: isId, patch: isPatch, expectedVersion: isVersionOrNull, archive: isFlag },
    newId: isAbsentOr(isId),
  }),
  'undo-edit': shaped('undo-edit', { id: isId, dryRun: (value) => value === false, archive: isFlag }),
  'restore-memory': shaped('restore-memory', {
    ...{ id: isId, archive: isFlag },
    ttlSeconds: exactly({ short: isSeconds, mid: isSeconds, long: isSeconds }),
  }),
  'promote-memory': shaped('promote-memory', {
    ...{ id: isId, targetTier: oneOf(['mid', 'long']), archive: isAbsentOr(isFlag) },
    vertical: (value, by) =>
      (value ?? null) === null || exactly({ toNamespace: isNamespace, cloneId: isId })(value, by),
  }),
  'delete-memory': shaped('delete-memory', { id: isId, archive: isFlag }),
  'archive-memories': shaped('archive-memories', { ids: isIds, reason: isText }),
  'resolve-memories': shaped('resolve-memories', { winnerId: isId, loserId: isId }),
  'consolidate-memories': shaped('consolidate-memories', {
    ids: isIds,
    result: exactly({
      ...{ id: isId, title: isText, namespace: isNamespace, tier: oneOf(TIERS), expiresAt: orNull(instant) },
    }),
    ...{
      summary: isTextOrNull,
      onConflict: oneOf(['error', 'version']),
      agentId: isRequester,
      archive: isFlag,
    },
  }),
  'create-link': shaped('create-link', {
    link: isLink,
    asked: exactly({ valid_from: isTextOrNull, valid_until: isTextOrNull }),
    by: isRequester,
  }),
  'invalidate-link': shaped('invalidate-link', {
    link: linkKey,
    ...{ validUntil: isTextOrNull, by: isRequester },
  }),
  'drop-links': shaped('drop-links', {
    ...{ sourceId: isId, targetId: isId, relation: (value) => value === null || oneOf(RELATIONS)(value) },
  }),
} as const;
