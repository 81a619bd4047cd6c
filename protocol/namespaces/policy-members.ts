import { agentIdProblem } from '../base/ids.js';
import { APPROVALS_MAX, GOVERNANCE_BYTES_MAX } from '../base/limits.js';
import { nearest } from '../base/nearest.js';
import { fail, ok, type Result } from '../base/result.js';
import { utf8Bytes } from '../base/utf8.js';
import { isCount, isInteger, isObject, isText, oneOf } from '../kinds/payload.js';

/** Who may read a namespace, from the loosest to the strictest. No read waits, so none asks for an approval. */
export const READ_LEVELS = ['any', 'registered', 'owner'] as const;

/** The policy of a namespace: the members that were set, those of other releases included (interface §2.5). */
export type Governance = Readonly<Record<string, unknown>>;

/** What a namespace without a policy allows, and what a policy means where it says nothing (interface §2.5). */
export const DEFAULT_GOVERNANCE: Governance = Object.freeze({
  write: 'any',
  promote: 'any',
  delete: 'owner',
  read: 'any',
  approver: 'human',
  inherit: true,
});

/** What a member of a policy accepts, and the same in words. */
interface Check {
  readonly accepts: (value: unknown) => boolean;
  readonly says: string;
}

const words = (...values: readonly string[]): Check => ({
  accepts: oneOf(values),
  says: `one of ${values.join(', ')}`,
});
const LEVEL = words('any', 'registered', 'owner', 'approve');
const FLAG: Check = { accepts: (value) => typeof value === 'boolean', says: 'true or false' };
const COUNT: Check = { accepts: isCount, says: 'a whole number from 0' };
const POSITIVE: Check = {
  accepts: (value) => isInteger(value) && (value as number) >= 1,
  says: 'a whole number from 1',
};
const APPROVER: Check = {
  accepts: isApprover,
  says: '"human", {"agent": "<id>"} or {"consensus": <a number from 1 to 1000>}',
};

/** The members that this release knows (reference-mcp-cli §4); others are kept as they are. */
const CHECKS: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    write: LEVEL,
    promote: LEVEL,
    delete: LEVEL,
    read: words(...READ_LEVELS),
    approver: APPROVER,
    inherit: FLAG,
    max_reflection_depth: COUNT,
    require_approval_above_depth: COUNT,
    skill_promotion_min_depth: COUNT,
    confidence_decay_half_life_days: { accepts: isPositive, says: 'a number above 0' },
    auto_export_reflections_to_filesystem: FLAG,
    auto_export_personas_to_filesystem: FLAG,
    auto_persona_trigger_every_n_memories: POSITIVE,
    auto_atomise: FLAG,
    auto_atomise_mode: words('off', 'deferred', 'synchronous'),
    auto_atomise_threshold_cl100k: POSITIVE,
    auto_atomise_max_atom_tokens: POSITIVE,
    auto_atomise_max_retries: COUNT,
    auto_classify_kind: words('off', 'regex_only', 'regex_then_llm'),
    legacy_per_pair_classifier: FLAG,
    synthesis_failure_mode: words('fall_through', 'block_write'),
    synthesis_max_deletes_per_call: COUNT,
    synthesis_max_candidate_chars: POSITIVE,
    multistep_max_content_chars: POSITIVE,
  }),
);

/** Values that nobody can set here, because this release does not do what they ask for; stored ones stay. */
const REFUSED: ReadonlyMap<string, { readonly value: string; readonly says: string }> = new Map([
  [
    'synthesis_failure_mode',
    {
      value: 'block_write',
      says: 'no store waits for a model, so a failure cannot block it; use fall_through',
    },
  ],
  ['read', { value: 'approve', says: 'no read waits for an approval; use any, registered or owner' }],
]);

/**
 * The stored policy with the given members in place of its own; null removes a member. VALIDATION_FAILED names the
 * first member that no policy can hold, or that this release does not know and that is not stored: it would guard nothing. A policy says at least who may write (reference-http §3.4).
 */
export function mergedGovernance(stored: Governance | null, given: Governance): Result<Governance> {
  const unknown = Object.keys(given).find(
    (member) => given[member] !== null && !CHECKS.has(member) && stored?.[member] === undefined,
  );
  if (unknown !== undefined) return unknownMember(unknown);
  const refused = Object.keys(given).find((member) => REFUSED.get(member)?.value === given[member]);
  if (refused !== undefined) {
    const { value, says } = REFUSED.get(refused)!;
    return fail('VALIDATION_FAILED', `invalid governance: ${refused} cannot be ${value}: ${says}`, {
      fields: [`governance.${refused}`],
    });
  }
  const merged = Object.fromEntries(
    Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null),
  );
  const wrong = wrongMember(merged);
  if (wrong !== null) {
    return fail('VALIDATION_FAILED', `invalid governance: ${wrong.member} must be ${wrong.says}`, {
      fields: [`governance.${wrong.member}`],
    });
  }
  if (utf8Bytes(JSON.stringify(merged)) > GOVERNANCE_BYTES_MAX) {
    const message = `invalid governance: it must be at most ${GOVERNANCE_BYTES_MAX} bytes`;
    return fail('VALIDATION_FAILED', message, { fields: ['governance'] });
  }
  return ok(merged);
}

function unknownMember(member: string): Result<never> {
  const meant = nearest(member, [...CHECKS.keys()]);
  const hint = meant === null ? 'a policy has no such member' : `did you mean "${meant}"?`;
  return fail('VALIDATION_FAILED', `invalid governance: unknown member "${member}": ${hint}`, {
    fields: [`governance.${member}`],
  });
}

const problems = new WeakMap<Governance, string | null>();

/**
 * The first member of a policy that no policy can hold; null for a policy that can be evaluated. An object is looked at once,
 * because every command asks for the same policies.
 */
export function governanceProblem(governance: Governance): string | null {
  const known = problems.get(governance);
  if (known !== undefined) return known;
  const wrong = wrongMember(governance);
  const problem = wrong === null ? null : `${wrong.member} must be ${wrong.says}`;
  problems.set(governance, problem);
  return problem;
}

function wrongMember(governance: Governance): { readonly member: string; readonly says: string } | null {
  for (const [member, { accepts, says }] of CHECKS) {
    const value = governance[member];
    if (value === undefined ? member === 'write' : !accepts(value)) return { member, says };
  }
  return null;
}

/** A policy as callers see it, with what it means where it says nothing. */
export const shownGovernance = (governance: Governance | null): Governance | null =>
  governance === null ? null : { ...DEFAULT_GOVERNANCE, ...governance };

function isApprover(value: unknown): boolean {
  if (value === 'human') return true;
  if (!isObject(value)) return false;
  const [[form, given] = [], ...more] = Object.entries(value);
  if (more.length > 0) return false;
  return form === 'agent'
    ? isText(given) && agentIdProblem(given) === null
    : form === 'consensus' && POSITIVE.accepts(given) && (given as number) <= APPROVALS_MAX;
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}
