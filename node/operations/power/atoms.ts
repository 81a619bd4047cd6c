import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import { ownerOf } from '../../../protocol/identity/owner.js';
import { ATOMS_MAX } from '../../../protocol/lifecycle/atom-limits.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import { attestMade } from '../../pipeline/attest.js';
import type { Attestation, Call, ReadCall } from '../../pipeline/call.js';
import { consulted } from '../../pipeline/consulted.js';
import { attestMemory } from '../core/attest-memory.js';
import { observedLink } from '../graph/observed-link.js';
import { derivedId } from '../shared/derived-id.js';
import { callersMetadata } from '../shared/metadata-owner.js';
import { readMemory } from '../shared/resolve-id.js';

/**
 * The ids of the atoms that a text can have, in their order. They follow from the text and from when it was atomised before,
 * so a call that goes on after a kill finds what the former one stored, and a forced one makes new atoms.
 */
export function atomIds(call: ReadCall, source: MemoryRow): readonly string[] {
  const { id, title, content, metadata } = source;
  const text = call.services.crypto.sha256Hex(JSON.stringify([title, content]));
  const before = metadata['atomisation_archived_at'] ?? null;
  const places = Array.from({ length: ATOMS_MAX }, (_, position) => position);
  return places.map((position) => derivedId(call, JSON.stringify(['atom', id, text, before, position])));
}

/** The atoms with those ids that are there, up to the first that is missing. */
export async function storedAtoms(
  call: ReadCall,
  source: MemoryRow,
  ids: readonly string[],
): Promise<Result<readonly MemoryRow[]>> {
  const atoms: MemoryRow[] = [];
  for (const id of ids) {
    const found = await readMemory(call, id);
    if (!found.ok && found.error.code !== 'NOT_FOUND') return failed(found.error);
    if (!found.ok || found.value.atom_of !== source.id) break;
    atoms.push(found.value);
  }
  return ok(atoms);
}

/** All atoms of a memory that the caller sees, the oldest first, each set in the order of its text. */
export async function atomsOf(call: ReadCall, source: MemoryRow): Promise<Result<readonly MemoryRow[]>> {
  const { services, caller, now } = call;
  const found = await services.store.query({
    ...{ kind: 'links-of-memory', id: source.id, limit: services.settings.pageSizeMax },
    ...{ viewer: caller.viewer, now },
  });
  if (!found.ok) return failed(found.error);
  const atoms: MemoryRow[] = [];
  for (const { source_id, target_id, relation } of found.value.links) {
    if (relation !== 'derives_from' || target_id !== source.id) continue;
    const atom = await readMemory(call, source_id);
    if (atom.ok && atom.value.atom_of === source.id) atoms.push(atom.value);
    else if (!atom.ok && atom.error.code !== 'NOT_FOUND') return failed(atom.error);
  }
  return ok(atoms.sort(inOrder));
}

const inOrder = (a: MemoryRow, b: MemoryRow): number =>
  a.created_at === b.created_at ? placeOf(a) - placeOf(b) : a.created_at < b.created_at ? -1 : 1;

const placeOf = ({ metadata }: Memory): number => Number(metadata['atom_position'] ?? 0);

/** Atoms to be stored: those before `from` are there. */
interface Atoms {
  readonly ids: readonly string[];
  readonly texts: readonly string[];
  readonly from: number;
}

/** Stores atoms one by one, each a write of its own: one that is refused leaves those before it. Answers all ids. */
export async function storeAtoms(
  call: Call,
  source: MemoryRow,
  { ids, texts, from }: Atoms,
): Promise<Result<readonly string[]>> {
  const attestation = await attestMade(call);
  const { archiveOnGc: archive } = call.services.settings;
  for (let position = from; position < texts.length; position += 1) {
    const text = texts[position]!;
    const memory = atomOf(call, source, { id: ids[position]!, text, position, attestation });
    const { tier, namespace, title, content, tags, priority, confidence, source: by, metadata } = memory;
    const payload = { tier, namespace, title, content, tags, priority, confidence, source: by, metadata };
    const denial = await consulted(call, 'pre_store', { namespace, payload });
    if (denial !== null) return failed(denial);
    const link = observedLink(call, {
      ...{ source_id: memory.id, target_id: source.id, relation: 'derives_from' },
      ...{ valid_from: call.now, valid_until: null },
    });
    const { viewer } = call.caller;
    const stored = await call.services.store.execute({ kind: 'store-atom', memory, link, viewer, archive });
    if (!stored.ok) return failed(stored.error);
    call.progress(position + 1, texts.length);
  }
  return ok(ids.slice(0, texts.length));
}

interface AtomSaid {
  readonly id: string;
  readonly text: string;
  readonly position: number;
  readonly attestation: Attestation;
}

const TITLE_CHARACTERS = 50;

/** An atom as its source is: its owner, its scope, its tags, and no longer life. */
function atomOf(call: Call, source: MemoryRow, { id, text, position, attestation }: AtomSaid): Memory {
  const {
    atomisation_archived_at: _at,
    reflection_metadata: _reflection,
    persona: _persona,
    ...said
  } = callersMetadata(source.metadata);
  const owner = ownerOf(source) ?? call.caller.agentId;
  const words = [...text.replace(/\s+/g, ' ')].slice(0, TITLE_CHARACTERS).join('').trim();
  const { namespace, tier, tags, priority, confidence, expires_at, mentioned_entity_id } = source;
  const memory = newMemory(call.now, {
    ...{ id, namespace, tier, tags, priority, confidence, expires_at, mentioned_entity_id },
    ...{ title: `[atom] ${words} (${id.slice(0, 8)})`, content: text, source: 'atomiser' },
    ...{ source_uri: `doc:${source.id}`, source_span: spanOf(source.content, text), atom_of: source.id },
    metadata: {
      ...{ ...said, agent_id: owner, atom_source_id: source.id, atom_position: position },
      attest_level: 'claimed',
    },
  });
  // The caller signs only what is stored in its own name.
  return owner === call.caller.agentId ? attestMemory(memory, { ...call, attestation }) : memory;
}

/** Where an atom stands in the text of its source, in bytes; null for one that is said in other words. */
function spanOf(content: string, text: string): Memory['source_span'] {
  const at = content.indexOf(text);
  if (at === -1) return null;
  const start = utf8Bytes(content.slice(0, at));
  return { start, end: start + utf8Bytes(text) };
}
