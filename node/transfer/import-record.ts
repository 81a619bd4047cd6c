import { agentIdProblem, RESERVED_PRINCIPALS } from '../../protocol/base/ids.js';
import { publicKeyFromText, signatureFromText } from '../../protocol/base/key-text.js';
import { IMPORT_ROW_BYTES_MAX } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto } from '../../protocol/base/seams.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import { isObject } from '../../protocol/kinds/payload.js';
import type { RecordImage } from '../../protocol/kinds/record.js';
import { KINDS } from '../../protocol/release.js';
import { importableKind } from '../../protocol/transfer/import-record.js';
import type { ReadCall } from '../pipeline/call.js';
import { objectProblem } from '../pipeline/fields.js';

/**
 * Makes a record from an imported one (interface §4.10). Like a memory, it belongs to the importing agent unless the
 * source is trusted, and never to one of the service's own ids.
 */
export async function readyRecord(
  call: ReadCall,
  raw: unknown,
  trusted: boolean,
): Promise<Result<RecordImage>> {
  if (!isObject(raw)) return fail('VALIDATION_FAILED', 'must be a JSON object');
  const unfit = objectProblem(raw, IMPORT_ROW_BYTES_MAX);
  if (unfit !== null) return fail('VALIDATION_FAILED', unfit);
  const { kind: name, id, namespace, rest = {}, ...members } = raw;
  for (const [field, value] of Object.entries({ kind: name, id, namespace })) {
    if (value === undefined) return fail('VALIDATION_FAILED', `${field} is required`, { fields: [field] });
    if (typeof value !== 'string') return notText(field);
  }
  if (!isObject(rest)) return fail('VALIDATION_FAILED', 'rest: must be a JSON object', { fields: ['rest'] });
  const place = { kind: name as string, id: id as string, namespace: namespace as string };
  const importable = importableKind(KINDS, place.kind);
  if (!importable.ok) return failed(importable.error);
  const kind = importable.value;
  const given = { ...rest, ...members, ...headerMembers(kind, place) };
  const image = kind.payload.parse(given);
  if (image === null) {
    const fields = Object.keys(given).filter((key) => kind.payload.parse({ [key]: given[key] }) === null);
    return fail('VALIDATION_FAILED', `a record of kind "${name}" cannot hold this ${fields.join(', ')}`, {
      fields,
    });
  }
  const owned = ownedImage(call, kind, image, trusted);
  if (!owned.ok) return failed(owned.error);
  if (!(await authorHolds(kind, kind.payload.text(owned.value), call.services.crypto))) {
    return fail('ATTESTATION_FAILED', 'the signature of the record is not valid');
  }
  return ok({ ...place, image: owned.value });
}

const notText = (field: string) => fail('VALIDATION_FAILED', `${field}: must be text`, { fields: [field] });

/** Some kinds have members that name the record's place. */
const headerMembers = ({ payload }: Kind, { id, namespace }: Omit<RecordImage, 'image'>) =>
  Object.fromEntries(Object.entries({ id, namespace }).filter(([key]) => payload.keys.includes(key)));

function ownedImage(call: ReadCall, kind: Kind, image: object, trusted: boolean): Result<object> {
  const member = kind.ownerMember;
  if (member === null) return ok(image);
  const owner = kind.ownerOf(image);
  const reserved = owner !== null && RESERVED_PRINCIPALS.has(owner);
  const problem = owner === null || reserved ? null : agentIdProblem(owner);
  if (problem !== null) return fail('VALIDATION_FAILED', `${member}: ${problem}`, { fields: [member] });
  return ok(trusted && !reserved ? image : { ...image, [member]: call.caller.agentId });
}

/** The check that every receiver of the record's operation makes. The key check is loaded only when there is a key. */
export async function authorHolds(kind: Kind, payload: string, crypto: Crypto): Promise<boolean> {
  let named = false;
  const keyFromText = () => {
    named = true;
    return null;
  };
  const { holds } = kind.author(payload, { crypto, signatureFromText, keyFromText });
  if (!named) return holds;
  const { publicKeyProblem } = await import('../../protocol/identity/ed25519-admission.js');
  const fitKey = (text: string) => {
    const publicKey = publicKeyFromText(text);
    return publicKey !== null && publicKeyProblem(publicKey) === null ? publicKey : null;
  };
  return kind.author(payload, { crypto, signatureFromText, keyFromText: fitKey }).holds;
}

/** An imported record that names the rows into which its memories were merged, also in the id that they are part of. */
export function withMergedMemories(raw: unknown, merged: ReadonlyMap<string, string>): unknown {
  if (merged.size === 0 || !isObject(raw)) return raw;
  const kind = KINDS.named(String(raw['kind']));
  const moved = (kind?.memoryMembers ?? []).flatMap((member) => {
    const to = merged.get(String(raw[member]));
    return to === undefined ? [] : [[member, to] as const];
  });
  if (kind === null || moved.length === 0) return raw;
  const record = { ...raw, ...Object.fromEntries(moved) };
  const image = kind.payload.parse(record);
  const id = image === null ? null : kind.idOf(image);
  return id === null ? record : { ...record, id };
}
