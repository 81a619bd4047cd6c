import { REMEMBERED_LIST_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { GATES } from '../decide/gate.js';
import { ownOrigin, recordsWith } from '../decide/reads.js';

import { dropRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { type Remembered, rememberedId, rememberedKind } from './remembered-kind.js';

/** Removes what was decided about an action, at all of its gates; later actions of that kind ask again. */
export interface ForgetDecision {
  readonly kind: 'forget-decision';
  readonly namespace: string;
  readonly actionType: string;
  /** The agent whose actions it is about. */
  readonly agentId: AgentId;
  readonly viewer: Viewer;
}

/** What `forget-decision` answers. */
export interface ForgetDecisionOutcome {
  readonly removed: boolean;
}

/** Removes the decisions of this node that held until it ended, and it has ended. */
export interface EndSessions {
  readonly kind: 'end-sessions';
}

/** What `end-sessions` answers. */
export interface EndSessionsOutcome {
  readonly removed: number;
}

/** The gates of decisions; those of older releases name none. */
const ALL_GATES = ['', ...GATES, 'link', 'reflect'] as const;

/** FORBIDDEN for a decision of another agent. */
function* decideForgetDecision({
  namespace,
  actionType,
  agentId,
  viewer,
}: ForgetDecision): Deciding<ForgetDecisionOutcome> {
  const rows: Row<Remembered>[] = [];
  for (const gate of ALL_GATES) {
    const id = rememberedId({ namespace, action_type: actionType, agent_id: agentId, gate });
    const row = yield* recordRow(rememberedKind, id);
    if (row !== null) rows.push(row);
  }
  if (!viewer.all && rows.some(({ image }) => image.decided_by !== viewer.agentId)) {
    return fail('FORBIDDEN', 'another agent made this decision');
  }
  return decided(
    { removed: rows.length > 0 },
    rows.map((row) => dropRecord(rememberedKind, row, 'forgotten')),
  );
}

/** Decisions of other nodes stay: those nodes end them. */
function* decideEndSessions(
  _command: EndSessions,
  { policy }: DecisionContext,
): Deciding<EndSessionsOutcome> {
  const asked = { kind: rememberedKind.name, member: 'lasts', value: 'session', limit: REMEMBERED_LIST_MAX };
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const ended: Row<Remembered>[] = [];
  for (const { id } of yield* recordsWith(asked)) {
    const row = yield* recordRow(rememberedKind, id);
    if (row === null || row.image.session === policy.governance.session) continue;
    if (peerOfOrigin(row.stamp.origin) === self) ended.push(row);
  }
  return decided(
    { removed: ended.length },
    ended.map((row) => dropRecord(rememberedKind, row, 'session_ended')),
  );
}

export const forgetDecisionCommand = defineCommand({
  kind: 'forget-decision',
  decide: decideForgetDecision,
  gate: 'governance',
});

export const endSessionsCommand = defineCommand({
  kind: 'end-sessions',
  decide: decideEndSessions,
  gate: 'governance',
});
