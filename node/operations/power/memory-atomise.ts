import { z } from 'zod';
import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { detailsOf, fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import * as limits from '../../../protocol/lifecycle/atom-limits.js';
import { mayChange } from '../../../protocol/memory/access.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { notOwner } from '../../../protocol/memory/update.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { readMemory } from '../shared/resolve-id.js';
import { atomQuestion } from './atom-question.js';
import { atomIds, atomsOf, storeAtoms, storedAtoms } from './atoms.js';
import { tierLocked } from './tier-locked.js';

const input = z.object({
  memory_id: fields.memoryId.describe('Id of the memory, or a unique prefix'),
  max_atom_tokens: z
    .int()
    .min(limits.ATOM_TOKENS_MIN)
    .max(limits.ATOM_TOKENS_MAX)
    .default(limits.ATOM_TOKENS)
    .describe('Tokens of an atom at most'),
  force_re_atomise: z.boolean().default(false).describe('Split it again; the atoms that are there stay'),
});

type Input = z.output<typeof input>;

const output = z.object({
  source_id: z.string(),
  atom_ids: z.array(z.string()).describe('In the order of the text').optional(),
  atom_count: z.int().optional(),
  archived_at: z.string().describe('Since when recalls answer with the atoms instead').optional(),
  already_atomised: z.literal(true).optional(),
  existing_atom_ids: z.array(z.string()).optional(),
  source_too_small: z.literal(true).optional(),
  message: z.string().optional(),
});

type Output = z.output<typeof output>;

/** Splits a memory into atoms (interface §4.12, §4.14, reference-mcp-cli §6.3). */
export const memoryAtomise = defineOperation({
  name: 'memory_atomise',
  family: 'power',
  summary: 'Have a chat model split a memory into statements that stand alone.',
  input,
  output,
  effect: 'write',
  openWorld: true,
  guards: { attestation: 'by-name' },
  repeatable: { unless: { force_re_atomise: true } },
  http: [{ method: 'POST', path: '/memory_atomise', fields: 'body' }],
  mcp: {
    description:
      'Split a memory that is too long into single facts, by a chat model. Answers the ids of the atoms.',
  },
  cli: {
    command: 'atomise',
    positionals: ['memory_id'],
    aliases: { force: 'force_re_atomise' },
    shown: { force_re_atomise: 'force' },
    view: 'message',
    message: atomisedMessage,
    exit: ({ atom_ids: atoms }) => (atoms === undefined ? 1 : 0),
    failures: {
      ...{ NOT_FOUND: 2, LLM_FAILED: 4, LLM_UNAVAILABLE: 4, LLM_LIMIT: 4 },
      ...{ GOVERNANCE_REFUSED: 5, HOOK_VETO: 5, DATABASE_ERROR: 6, DATA_DAMAGED: 6 },
    },
    examples: ['atomise 3f2a --max-atom-tokens 120'],
  },
  run: atomise,
});

function atomisedMessage(answer: Record<string, unknown>): string {
  const { source_id: id, atom_count: count, already_atomised: already, message } = answer as Output;
  if (message !== undefined) return message;
  return already === true ? `already atomised: ${id} into ${count}` : `atomised: ${id} into ${count}`;
}

async function atomise(call: Call, asked: Input): Promise<Result<Output>> {
  const locked = tierLocked(call, 'atomise', 'memory_atomise');
  if (locked !== null) return failed(locked);
  const found = await readMemory(call, asked.memory_id);
  if (!found.ok) return failed(found.error);
  const source = found.value;
  const { viewer } = call.caller;
  if (!mayChange(source, viewer)) return notOwner(source, viewer);
  if (source.atomised_into !== null && !asked.force_re_atomise) return existing(call, source);
  const size = await sizeProblem(call, source, asked.max_atom_tokens);
  if (!size.ok) return failed(size.error);
  if (size.value !== null) return ok(tooSmall(source, size.value));
  const ids = atomIds(call, source);
  const before = await storedAtoms(call, source, ids);
  if (!before.ok) return failed(before.error);
  const stored = before.value.map(({ content }) => content);
  const added = stored.length === ids.length ? ok([]) : await askForAtoms(call, source, stored, asked);
  if (!added.ok) return failed(added.error);
  const texts = [...stored, ...added.value];
  if (texts.length < limits.ATOMS_MIN) return ok(tooSmall(source, 'the text says one thing only'));
  const kept = await storeAtoms(call, source, { ids, texts, from: stored.length });
  return kept.ok ? markAtomised(call, source, kept.value) : failed(kept.error);
}

async function existing(call: ReadCall, source: MemoryRow): Promise<Result<Output>> {
  const atoms = await atomsOf(call, source);
  if (!atoms.ok) return failed(atoms.error);
  const ids = atoms.value.map(({ id }) => id);
  return ok({
    ...{ already_atomised: true, source_id: source.id, existing_atom_ids: ids, atom_count: ids.length },
  });
}

const tooSmall = ({ id }: MemoryRow, why: string): Output => ({
  ...{ source_too_small: true, source_id: id, message: `not atomised: ${why}` },
});

/** Why a memory is not split; null for one that is. A text of which the model would see a part is refused. */
async function sizeProblem(
  { services, deadlineMs }: ReadCall,
  { content }: MemoryRow,
  maxTokens: number,
): Promise<Result<string | null>> {
  const bytes = utf8Bytes(content);
  if (bytes > MODEL_TEXT_BYTES_MAX) {
    const message = `the memory has ${bytes} bytes, and a chat model is shown at most ${MODEL_TEXT_BYTES_MAX}: split it by hand first`;
    return fail('VALIDATION_FAILED', message, { fields: ['memory_id'] });
  }
  const counted = await services.tokens.counts([content], maxTokens, deadlineMs);
  if (!counted.ok) return failed(counted.error);
  const [tokens = 0] = counted.value;
  return ok(tokens > maxTokens ? null : `it has ${tokens} tokens, and an atom may have ${maxTokens}`);
}

/** How often the model is asked for atoms of the size. */
const ASKED_MAX = 2;

/** The texts of the atoms that are missing. A model that writes one that is too long is told so, once. */
async function askForAtoms(
  call: Call,
  { title, content }: MemoryRow,
  stored: readonly string[],
  { max_atom_tokens: maxTokens }: Input,
): Promise<Result<readonly string[]>> {
  let problem: string | null = null;
  for (let asked = 1; ; asked += 1) {
    const question = atomQuestion({ title, content, stored, maxTokens, problem });
    const answer = await askModel(call, question);
    if (!answer.ok) return answer;
    const { tokens } = call.services;
    const counted = await tokens.counts(answer.value, Number.MAX_SAFE_INTEGER, call.deadlineMs);
    if (!counted.ok) return failed(counted.error);
    const long = counted.value.findIndex((count) => count > maxTokens);
    if (long === -1) return answer;
    problem = `statement ${long + 1} has ${counted.value[long]} tokens, and ${maxTokens} are allowed.`;
    if (asked === ASKED_MAX)
      return fail('LLM_FAILED', `the answer of the chat model is not used: ${problem}`);
  }
}

/** How often a memory is marked that changes meanwhile. */
const ATTEMPTS_MAX = 3;

async function markAtomised(call: Call, asked: MemoryRow, ids: readonly string[]): Promise<Result<Output>> {
  const { id } = asked;
  const { viewer } = call.caller;
  let { version } = asked;
  for (let attempt = 1; ; attempt += 1) {
    const command = { kind: 'mark-atomised', id, atomIds: ids, version, viewer } as const;
    const marked = await call.services.store.execute(command);
    if (marked.ok) {
      const { archivedAt } = marked.value;
      return ok({ source_id: id, atom_ids: [...ids], atom_count: ids.length, archived_at: archivedAt });
    }
    if (detailsOf(marked.error, 'VERSION_CONFLICT') === null || attempt === ATTEMPTS_MAX)
      return failed(marked.error);
    const again = await readMemory(call, id);
    if (!again.ok) return failed(again.error);
    const now = again.value;
    if (now.title !== asked.title || now.content !== asked.content) {
      return fail('CONFLICT', 'the memory was rewritten while it was split: call again');
    }
    version = now.version;
  }
}
