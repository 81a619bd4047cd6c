import { z } from 'zod';
import { CAMPAIGN_NOTES_CHARACTERS_MAX } from '../protocol/base/limits.js';
import { fail, ok, type Result } from '../protocol/base/result.js';

/**
 * The values that the interface leaves to the campaign: its two frameworks, its two agents, and the prefix of its
 * nodes.
 */
export interface CampaignRules {
  /** Framework identifiers; empty accepts every well-formed identifier. */
  readonly frameworks: readonly string[];
  /** Agent ids; empty accepts any `ai:<name>`. */
  readonly agents: readonly string[];
  /** The prefix of node ids, without the dash; null accepts any prefix. */
  readonly nodePrefix: string | null;
}

/** Where a record breaks a rule, for example `tools_called[0].ok`; the empty path is the record itself. */
export interface RecordProblem {
  readonly path: string;
  readonly message: string;
}

/** Checks records of one campaign; answers the problems of a record, an empty list for a valid record. */
export type RecordCheck = (record: unknown) => readonly RecordProblem[];

const SCENARIOS = ['A', 'B', 'C', 'D', 'phase2'] as const;
const ARMS = ['cold', 'isolated', 'stubbed', 'treatment', 'phase2'] as const;

const FRAMEWORK = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
const AGENT = /^ai:[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/;
const NODE_PREFIX = /^[a-z0-9]+$/;
const RELEASE = String.raw`v\d+\.\d+\.\d+(?:\.\d+)?`;
// semver.org 2.0.0, without the groups.
const NUMBER = String.raw`(?:0|[1-9]\d*)`;
const LABEL = String.raw`(?:${NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)`;
const BUILD = String.raw`\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`;
const SEMVER = String.raw`${NUMBER}\.${NUMBER}\.${NUMBER}(?:-${LABEL}(?:\.${LABEL})*)?(?:${BUILD})?`;
const CAMPAIGN = new RegExp(String.raw`^a2a-(.+?)-v${SEMVER}-r\d+$`);
const TURN = new RegExp(`^(${SCENARIOS.join('|')})-(${ARMS.join('|')})-r([1-3])-t\\d+$`);
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-](\d\d):(\d\d))?$/;

const matching = (pattern: RegExp, form: string) => z.string().regex(pattern, `must have the form ${form}`);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex characters');
const count = z.int().min(0);

/**
 * Makes the check of the per-turn record (interface §2.11): exactly the fields of the table, at every level. The parts
 * of `turn_id` must match their fields. INVALID_ARGUMENT for a malformed rule.
 */
export function campaignRecordCheck(rules: CampaignRules): Result<RecordCheck> {
  const wrong =
    rules.frameworks.find((name) => !FRAMEWORK.test(name)) ??
    rules.agents.find((id) => !AGENT.test(id)) ??
    (rules.nodePrefix !== null && !NODE_PREFIX.test(rules.nodePrefix) ? rules.nodePrefix : undefined);
  if (wrong !== undefined)
    return fail('INVALID_ARGUMENT', `"${wrong}" is not allowed in a campaign's records`);
  const schema = recordSchema(rules);
  return ok((record) => {
    const parsed = schema.safeParse(record);
    if (!parsed.success) return parsed.error.issues.flatMap(problemsOf);
    return turnProblems(parsed.data);
  });
}

const toolCall = z.strictObject({
  tool_name: z.string(),
  args_sha256: sha256,
  args_size_bytes: count,
  result_sha256: sha256,
  result_size_bytes: count,
  duration_ms: count,
  ok: z.boolean(),
});

const memoryOp = z.strictObject({
  op: z.enum(['write', 'recall', 'consolidate', 'share', 'detect_contradiction', 'audit_verify']),
  namespace: z.string(),
  key_or_query: z.string(),
  scope: z.enum(['private', 'team', 'unit', 'org', 'collective']),
  transport: z.enum(['mcp_stdio', 'http']),
  payload_sha256: sha256,
  returned_records: count,
  duration_ms: count,
  ok: z.boolean(),
});

const claimMade = z.strictObject({
  claim_id: z.string(),
  text_sha256: sha256,
  category: z.enum(['factual', 'rationale', 'constraint', 'decision']),
});

const claimGrounded = z.strictObject({
  claim_id: z.string(),
  grounded_in_op_index: count,
  grounding_strength: z.enum(['exact', 'paraphrase', 'inference']),
});

const refusal = z.strictObject({
  reason: z.string(),
  category: z.enum(['no_context', 'policy', 'ambiguity', 'other']),
});

function recordSchema({ frameworks, agents, nodePrefix }: CampaignRules) {
  const framework = oneOf(frameworks, FRAMEWORK, 'a framework identifier');
  return z.strictObject({
    schema_version: matching(new RegExp(`^${RELEASE}-a2a-nhi-\\d+$`), 'v1.2.3[.4]-a2a-nhi-1'),
    campaign_id: matching(CAMPAIGN, 'a2a-<framework>-v<semver>-r<digits>').refine(
      (id) => framework.safeParse(CAMPAIGN.exec(id)?.[1] ?? '').success,
      { error: 'must name a framework of the campaign', when: ({ issues }) => issues.length === 0 },
    ),
    node_id: matching(new RegExp(`^${nodePrefix ?? '[a-z0-9]+'}-[a-z0-9-]+$`), '<prefix>-[a-z0-9-]+'),
    release: matching(new RegExp(`^${RELEASE}$`), 'v1.2.3[.4]'),
    phase: z.union([z.literal(2), z.literal(3)], 'must be 2 or 3'),
    scenario_id: z.enum(SCENARIOS),
    control_arm: z.enum(ARMS),
    run_index: z.union([z.literal(1), z.literal(2), z.literal(3)], 'must be 1, 2 or 3'),
    turn_id: matching(TURN, '<scenario>-<arm>-r<1-3>-t<digits>'),
    agent_id: oneOf(agents, AGENT, 'an agent id of the form ai:<name>'),
    agent_framework: framework,
    timestamp_utc: z.string().refine(isInstant, 'must be a date-time such as 2026-01-31T12:00:00Z'),
    llm_model_sku: z.string().min(1),
    system_prompt_sha256: sha256,
    prompt_sha256: sha256,
    tools_called: z.array(toolCall),
    ai_memory_ops: z.array(memoryOp),
    claims_made: z.array(claimMade),
    claims_grounded: z.array(claimGrounded),
    refusals: z.array(refusal),
    termination_reason: z.enum([
      'task_complete',
      'cap_reached_turns',
      'cap_reached_ops',
      'cap_reached_walltime',
      'refusal',
      'error',
    ]),
    self_confidence: z.number().min(0).max(1),
    notes: z
      .string()
      .refine(
        (text) => [...text].length <= CAMPAIGN_NOTES_CHARACTERS_MAX,
        `must be at most ${CAMPAIGN_NOTES_CHARACTERS_MAX} characters`,
      )
      .optional(),
  });
}

type CampaignRecord = z.output<ReturnType<typeof recordSchema>>;

const oneOf = (names: readonly string[], form: RegExp, what: string) =>
  names.length === 0
    ? z.string().regex(form, `must be ${what}`)
    : z.enum(names as [string, ...string[]], `must be one of ${names.join(', ')}`);

/** A date-time with an optional fraction and an optional Z or offset, on an existing day. */
function isInstant(text: string): boolean {
  const match = INSTANT.exec(text);
  if (match === null) return false;
  const [year, month, day, hour, minute, second, offsetHour, offsetMinute] = match.slice(1).map(Number) as [
    number,
    ...number[],
  ];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month! - 1] ?? 0;
  const within = (value: number | undefined, max: number) => !(Number(value) > max);
  return (
    day! >= 1 &&
    day! <= days &&
    [hour, offsetHour].every((value) => within(value, 23)) &&
    [minute, second, offsetMinute].every((value) => within(value, 59))
  );
}

function turnProblems(record: CampaignRecord): RecordProblem[] {
  const [, scenario, arm, run] = TURN.exec(record.turn_id) as RegExpExecArray;
  const parts = [
    ['scenario_id', scenario, record.scenario_id],
    ['control_arm', arm, record.control_arm],
    ['run_index', run, String(record.run_index)],
  ] as const;
  return parts
    .filter(([, named, value]) => named !== value)
    .map(([field, named, value]) => ({
      path: 'turn_id',
      message: `says ${named} where ${field} says ${value}`,
    }));
}

/** One problem for each unknown key, else one for each issue. */
function problemsOf(issue: z.core.$ZodIssue): RecordProblem[] {
  const path = pathText(issue.path);
  if (issue.code !== 'unrecognized_keys') {
    const missing = issue.code === 'invalid_type' && issue.input === undefined;
    return [{ path, message: missing && path !== '' ? 'is required' : issue.message }];
  }
  return issue.keys.map((key) => ({ path: pathText([...issue.path, key]), message: 'is not a known field' }));
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}
