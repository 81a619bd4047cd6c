import { failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Action } from './action-kind.js';
import { type NewAction, planActions } from './plan-actions.js';

/** Makes an action, of which this node is the home. */
export interface CreateAction {
  readonly kind: 'create-action';
  readonly action: NewAction;
  readonly by: string;
  readonly viewer: Viewer;
}

function* decideCreateAction(
  { action, by: createdBy }: CreateAction,
  context: DecisionContext,
): Deciding<{ readonly action: Action }> {
  const planned = yield* planActions({ actions: [action], edges: [], createdBy }, context);
  if (!planned.ok) return failed(planned.error);
  const { actions, mutations } = planned.value;
  return decided({ action: actions[0]! }, mutations);
}

export const createActionCommand = defineCommand({
  kind: 'create-action',
  decide: decideCreateAction,
  gate: 'no memory',
});
