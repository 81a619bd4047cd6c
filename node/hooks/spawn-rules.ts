import { HOOK_LOOK_MS } from '../../actors/hooks/limits.js';
import type { Clock, Crypto, Log } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import type { RuleTrust } from '../../protocol/decide/permissions.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import type { Action } from '../../protocol/rules/action.js';
import { listRules } from '../../protocol/rules/list-rules.js';
import { ruleKind } from '../../protocol/rules/rule-kind.js';
import { trustOf } from '../../protocol/rules/rule-signature.js';
import { evaluateRules } from '../../protocol/rules/rules.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { freeDiskGib } from '../free-disk.js';

const KIND = 'process_spawn';
/** The principal that starts hooks. */
const STARTER = 'system';

export interface SpawnRulesParts {
  readonly store: Pick<Store, 'query' | 'execute'>;
  readonly settings: Settings;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly crypto: Crypto;
  readonly log: Log;
}

/**
 * Asks the rules of the operator about the programs of hooks (reference-mcp-cli §3.4). What they say of a program counts for
 * a second, so that a busy node does not ask for each event; where a rule is about it, the check is recorded as every other.
 */
export class SpawnRules {
  readonly #known = new Map<string, { readonly untilMs: number; readonly said: Promise<string | null> }>();
  readonly #trust: RuleTrust;

  constructor(private readonly parts: SpawnRulesParts) {
    this.#trust = trustOf(nodePolicy(parts.settings, '').rules, parts.crypto);
  }

  /** Why a program may not be started; null where it may. */
  refusal(command: string): Promise<string | null> {
    const nowMs = this.parts.clock.monotonicMs();
    const known = this.#known.get(command);
    if (known !== undefined && nowMs < known.untilMs) return known.said;
    const said = this.#ask(command);
    this.#known.set(command, { untilMs: nowMs + HOOK_LOOK_MS, said });
    return said;
  }

  async #ask(command: string): Promise<string | null> {
    const { store, settings } = this.parts;
    const found = await store.query(listRules(KIND));
    if (!found.ok)
      return settings.governanceFailOpenOnError ? null : `the rules cannot be read: ${found.error.message}`;
    const rules = rowsOf(ruleKind, found.value);
    if (!rules.some(({ enabled }) => enabled)) return null;
    const disk_free_gib = await freeDiskGib(settings.home);
    const action: Action = { kind: KIND, binary: command, args: [], disk_free_gib };
    const { decision, logged, rule_id } = evaluateRules(rules, action, this.#trust);
    if (decision !== 'allow' || logged.length > 0) void this.#record(action);
    return decision === 'refuse' ? `the rule ${rule_id ?? 'that cannot be read'} refuses to start it` : null;
  }

  /** Behind the answer, which does not wait for a write. */
  async #record(action: Action): Promise<void> {
    const { store, log } = this.parts;
    const title = 'the check of a program of a hook could not be recorded';
    try {
      const noted = await store.execute({ kind: 'check-action', action, agentId: STARTER });
      if (!noted.ok) log.error({ code: noted.error.code }, title);
    } catch (error) {
      log.error({ err: error }, title);
    }
  }
}
