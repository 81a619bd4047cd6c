import assert from 'node:assert/strict';
import { systemCrypto } from '../../../node/seams.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { PERMISSION_MODES, type PermissionMode } from '../../../protocol/decide/permissions.js';
import { LEVELS, type Level } from '../../../protocol/namespaces/effective-policy.js';
import type { Command } from '../../../protocol/release.js';
import { Writer } from '../../../storage/sql/writer.js';
import { openDatabase } from '../../../storage/sqlite/open-database.js';
import { aMemory, OPERATOR, storing, tenant, UNLIMITED } from '../../support/memories.js';

const NOW_MS = 1_772_000_000_000;
const GOVERNOR = 'ai:governor';
const ROW_OWNER = 'ai:row-owner';
const NAMESPACES = ['*', 'team', 'team/x'] as const;
const ACTIONS = ['store', 'promote', 'delete'] as const;
type Action = (typeof ACTIONS)[number];

/** The callers, with what a policy asks about them. */
const CALLERS: readonly { readonly name: string; readonly viewer: Viewer; readonly registered: boolean }[] = [
  { name: 'the owner of the policy', viewer: tenant(GOVERNOR), registered: false },
  { name: 'the owner of the row', viewer: tenant(ROW_OWNER), registered: false },
  { name: 'a registered agent', viewer: tenant('ai:known'), registered: true },
  { name: 'a stranger', viewer: tenant('ai:stranger'), registered: false },
  { name: 'the operator', viewer: OPERATOR, registered: false },
];

const db = openDatabase({
  path: ':memory:',
  identity: { peerId: 'peer-a' },
  nowMs: NOW_MS,
  crypto: systemCrypto,
  freshEpoch: 'epoch',
  busyTimeoutMs: 100,
});
const writers = new Map(
  PERMISSION_MODES.map((mode) => [
    mode,
    new Writer({
      db,
      crypto: systemCrypto,
      reportBug: (error) => {
        throw error;
      },
      signer: null,
      policy: { ...UNLIMITED, governance: { mode, rules: [], failOpen: false, session: 's' } },
    }),
  ]),
);

/** Runs a command; answers `ok` or the code of its failure. */
function run(mode: PermissionMode, command: Command): string {
  const [result] = writers.get(mode)!.run([{ command, nowMs: NOW_MS }]);
  return result!.ok ? 'ok' : result!.error.code;
}

function must(command: Command): void {
  assert.equal(run('off', command), 'ok', JSON.stringify(command));
}

let made = 0;
/** A row of the namespace that policies are asked about. */
function row(agentId: string | null) {
  made += 1;
  const metadata = agentId === null ? {} : { agent_id: agentId };
  return aMemory({ id: `m${made}`, title: `m${made}`, namespace: 'team/x', tier: 'mid', metadata });
}

function command(action: Action, viewer: Viewer): Command {
  if (action === 'store') return storing(row(viewer.agentId), { viewer });
  const memory = row(ROW_OWNER);
  must(storing(memory, { viewer: OPERATOR }));
  return action === 'delete'
    ? { kind: 'delete-memory', id: memory.id, archive: false, viewer }
    : { kind: 'promote-memory', id: memory.id, targetTier: 'long', viewer };
}

/** The policies of the three namespaces, of which the lowest speaks first. */
export interface Policy {
  readonly levels: readonly (Level | null)[];
  /** Whether the policy of `team` inherits. */
  readonly inherits: boolean;
}

/** The level that holds, written down once more; null where no policy says anything. */
function levelOf({ levels: [all = null, above = null, own = null], inherits }: Policy): Level | null {
  const inherited = above !== null && !inherits ? above : (above ?? all);
  return own ?? inherited;
}

/** What must come of it: the table of the interface, §2.5, and of reference-federation, §2.7. */
function expected(
  policy: Policy,
  mode: PermissionMode,
  action: Action,
  caller: (typeof CALLERS)[number],
): string {
  const isOperator = caller.viewer.all;
  const owns = isOperator || caller.viewer.agentId === ROW_OWNER;
  const byDefault = action === 'store' || owns ? 'ok' : 'FORBIDDEN';
  const level = levelOf(policy);
  if (mode === 'off' || level === null) return byDefault;
  const passes = {
    any: true,
    registered: caller.registered,
    owner: isOperator || (action === 'store' ? caller.viewer.agentId === GOVERNOR : owns),
    approve: false,
  }[level];
  if (passes) return level === 'owner' ? byDefault : 'ok';
  if (mode === 'advisory') return byDefault;
  return level === 'approve' ? 'APPROVAL_REQUIRED' : 'GOVERNANCE_REFUSED';
}

function setPolicies({ levels, inherits }: Policy): void {
  for (const [at, namespace] of NAMESPACES.entries()) {
    const level = levels[at] ?? null;
    if (level === null) {
      must({ kind: 'clear-standard', namespace, viewer: OPERATOR });
      continue;
    }
    const governance = { write: level, promote: level, delete: level, inherit: at !== 1 || inherits };
    must({ kind: 'set-standard', namespace, governance, viewer: { ...OPERATOR, agentId: GOVERNOR } });
  }
}

const record = { agent_id: 'ai:known', agent_type: 'ai:test', capabilities: [] };
const known = aMemory({
  ...{ id: 'agent-known', title: 'agent:ai:known', namespace: '_agents', tier: 'long' },
  ...{ content: JSON.stringify(record), metadata: record },
});
must({ kind: 'register-agent', memory: known, spareId: 'agent-spare', viewer: OPERATOR, admin: true });

const LEVELS_OR_NONE = [null, ...LEVELS];

/** Every policy. */
export const POLICIES: readonly Policy[] = LEVELS_OR_NONE.flatMap((all) =>
  [true, false].flatMap((inherits) =>
    LEVELS_OR_NONE.flatMap((above) => LEVELS_OR_NONE.map((own) => ({ levels: [all, above, own], inherits }))),
  ),
);

/** Decides every action of every caller in every mode under these policies, and compares it with the table. */
export function holdsUnder(policies: readonly Policy[]): void {
  let decisions = 0;
  for (const policy of policies) {
    setPolicies(policy);
    for (const mode of PERMISSION_MODES) {
      for (const action of ACTIONS) {
        for (const caller of CALLERS) {
          const told = run(mode, command(action, caller.viewer));
          const what = JSON.stringify({ ...policy, mode, action, caller: caller.name });
          assert.equal(told, expected(policy, mode, action, caller), what);
          decisions += 1;
        }
      }
    }
  }
  assert.equal(decisions, policies.length * 3 * 3 * 5);
}
