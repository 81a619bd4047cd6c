import type { Answer } from '../../node/pipeline/answer.js';
import { ACTION_STATES } from '../../protocol/coordination/action-kind.js';
import { EDGE_TYPES } from '../../protocol/coordination/edge-kind.js';
import type { Dice } from './dice.js';
import type { Mutant } from './mutant.js';
import type { Input } from './sim-node.js';
import type { World } from './world.js';

/** A call about actions and leases. */
export interface ActionCall {
  readonly name: string;
  readonly input: Input;
  /** The action. */
  readonly subject: string | null;
  readonly mark: null;
}

/** All leases of a run have one term, so that a later one of the same holder never shortens it. */
export const LEASE_SECS = 4;
/** How many calls are about actions, in runs with actions. */
export const ACTIONS = 0.4;
/** So many actions that agents meet at them. */
const ACTIONS_MAX = 8;

/** True in some runs, and in all runs of a planted bug about leases. */
export const hasActions = (world: World, mutant: Mutant | null): boolean =>
  mutant?.actions === true || world.dice('has actions').chance(0.3);

/** What agents do with actions and leases: also too early, too late, and with tokens of before. */
export class ActionCalls {
  private readonly dice: Dice;
  private readonly ids: string[] = [];
  /** What was granted of each action, in the order in which clients heard of it. */
  private readonly tokens = new Map<string, number[]>();

  constructor(world: World) {
    this.dice = world.dice('actions');
  }

  plan(namespace: string, agentId: string): ActionCall {
    const { dice, ids } = this;
    const call = (name: string, input: Input, subject: string | null) => ({
      name,
      input,
      subject,
      mark: null,
    });
    const choice = dice.below(100);
    if (ids.length === 0 || (ids.length < ACTIONS_MAX && choice < 10)) {
      const input = { namespace, kind: 'work', title: `work ${ids.length}`, priority: dice.below(3) };
      return call('memory_action_create', input, null);
    }
    const id = dice.pick(ids);
    const asked = { action_id: id, holder: agentId };
    if (choice < 40) return call('memory_lease_acquire', { ...asked, ttl_secs: LEASE_SECS }, id);
    if (choice < 50)
      return call('memory_lease_renew', { ...asked, ttl_secs: LEASE_SECS, ...this.token(id) }, id);
    if (choice < 53) return call('memory_lease_release', { ...asked, ...this.token(id) }, id);
    if (choice < 58) {
      const input = { from_action: id, to_action: dice.pick(ids), edge_type: dice.pick([...EDGE_TYPES]) };
      return call('memory_action_add_edge', input, id);
    }
    // Mostly onwards, so that an action is worked on for a while.
    const to = dice.pick(['claimed', 'in_progress', 'in_progress', 'claimed', ...ACTION_STATES]);
    const expected = dice.chance(0.2) ? { expected_state: dice.pick([...ACTION_STATES]) } : {};
    return call('memory_action_transition', { id, to, ...expected, ...this.token(id) }, id);
  }

  learn(name: string, subject: string | null, answer: Answer): void {
    if (!answer.ok) return;
    if (name === 'memory_action_create') this.ids.push(String(answer.value['id']));
    if (name !== 'memory_lease_acquire' || subject === null) return;
    const { fencing_token: token } = answer.value['lease'] as { readonly fencing_token: number };
    this.tokens.set(subject, [...(this.tokens.get(subject) ?? []), token]);
  }

  /** Often the token of an earlier holder. */
  private token(id: string): { readonly fencing_token?: number } {
    const known = this.tokens.get(id) ?? [];
    return known.length > 0 && this.dice.chance(0.7)
      ? { fencing_token: this.dice.pick(known.slice(-3)) }
      : {};
  }
}
