import type { Instant } from '../base/meanings.js';
import { NO_REST } from '../kinds/payload.js';
import type { Rule } from './rule-kind.js';
import { GLOBAL_RULES } from './rules.js';

type Seed = Pick<Rule, 'rule_id' | 'rule_kind' | 'matcher' | 'reason'>;

const LOW_DISK = 'a build needs more room than this disk has left';

const SEEDS: readonly Seed[] = [
  {
    rule_id: 'R001',
    rule_kind: 'filesystem_write',
    matcher: { glob: '/tmp/**' },
    reason: 'files under /tmp are lost at a restart: write into the project',
  },
  {
    rule_id: 'R002',
    rule_kind: 'filesystem_write',
    matcher: { glob: '/var/tmp/**' },
    reason: 'files under /var/tmp are easily forgotten: write into the project',
  },
  {
    rule_id: 'R003',
    rule_kind: 'process_spawn',
    matcher: { binary: 'cargo', args_contain: 'build', disk_free_min_gib: 10 },
    reason: LOW_DISK,
  },
  {
    rule_id: 'R004',
    rule_kind: 'process_spawn',
    matcher: { binary: 'cargo', args_contain: 'test', disk_free_min_gib: 10 },
    reason: LOW_DISK,
  },
];

export const SEED_IDS: readonly string[] = SEEDS.map(({ rule_id }) => rule_id);

/** The rules that a node can start with; they are disabled until the operator enables them. */
export const seedRules = (now: Instant): readonly Rule[] =>
  SEEDS.map((seed) => ({
    ...seed,
    severity: 'refuse',
    for_namespace: GLOBAL_RULES,
    created_by: 'system:seed',
    created_at: now,
    updated_at: now,
    enabled: false,
    signature: null,
    attest_level: 'unsigned',
    rest: NO_REST,
  }));
