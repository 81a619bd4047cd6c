import type { Instant } from '../../protocol/base/meanings.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto, Log } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import type { RuleTrust } from '../../protocol/decide/permissions.js';
import { dayOf } from '../../protocol/identity/quota.js';
import type { ReadRegion } from '../../protocol/namespaces/read-policies.js';
import { limitsOfPolicies } from '../../protocol/rules/policies-for-reads.js';
import { trustOf } from '../../protocol/rules/rule-signature.js';
import {
  limitsOfPermissions,
  limitsOfRules,
  type ReadAction,
  type ReadLimits,
} from '../../protocol/rules/rules-for-reads.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import type { Caller } from '../identity/caller.js';

interface Parts {
  readonly store: Store;
  readonly settings: Settings;
  readonly crypto: Crypto;
  readonly log: Log;
}

/** Notes that are remembered, so that a day has one of each. */
const NOTED_MAX = 10_000;

/**
 * What rules keep from the reads of a caller: rows of namespaces that then do not exist for the call, in no list, count, page or
 * walk, and not as what a write names. The operator of the machine, who sets the rules, is not limited.
 */
export class ReadLimiter {
  readonly #permissions: Settings['permissionRules'];
  readonly #trust: RuleTrust;
  readonly #noted = new Set<string>();

  constructor({ settings, crypto }: Pick<Parts, 'settings' | 'crypto'>) {
    this.#permissions =
      settings.permissionsMode === 'off'
        ? []
        : settings.permissionRules.filter(({ op }) => op === 'memory_read');
    this.#trust = trustOf(nodePolicy(settings, '').rules, crypto);
  }

  /** The caller as the rules let it see. Without such rules it costs one look into an index. */
  async limited(
    caller: Caller,
    operation: string,
    input: Readonly<Record<string, unknown>>,
    { store, settings, log }: Parts,
    now: Instant,
  ): Promise<Result<Caller>> {
    const { all, agentId: seen } = caller.viewer;
    if (all && seen === null) return ok(caller);
    const found = await store.query({ kind: 'rules-for-reads' });
    if (!found.ok) return failed(found.error);
    const { rules } = found.value;
    const regions = settings.permissionsMode === 'off' ? [] : found.value.regions;
    if (rules.length + regions.length + this.#permissions.length === 0) return ok(caller);
    const words = input['context'] ?? input['query'];
    const read: ReadAction = { operation, agentId: seen, query: typeof words === 'string' ? words : null };
    const ofRules = limitsOfRules(rules, read, this.#trust);
    const isRegistered = await registered(seen, regions, store);
    if (!isRegistered.ok) return failed(isRegistered.error);
    const reader = { agentId: seen, isRegistered: isRegistered.value, failOpen: this.#trust.failOpen };
    const ofNode = bothOf(limitsOfPermissions(this.#permissions, read), limitsOfPolicies(regions, reader));
    const isAdvisory = settings.permissionsMode === 'advisory';
    const note = (named: readonly string[], mode: 'enforce' | 'advisory') => {
      const key = `${dayOf(now)}\n${caller.agentId}\n${operation}\n${mode}\n${named.join('\n')}`;
      if (named.length === 0 || this.#noted.has(key)) return;
      if (this.#noted.size >= NOTED_MAX) this.#noted.clear();
      this.#noted.add(key);
      const noting = {
        kind: 'note-limited-read',
        agentId: caller.agentId,
        operation,
        rules: named,
        mode,
      } as const;
      void store.execute(noting, { lane: 'background' }).then((noted) => {
        if (!noted.ok) log.error({ code: noted.error.code }, 'a limited read could not be recorded');
      });
    };
    note(ofRules.rules, 'enforce');
    note(ofNode.rules, isAdvisory ? 'advisory' : 'enforce');
    const withheld = [...ofRules.withheld, ...(isAdvisory ? [] : ofNode.withheld)];
    return ok(withheld.length === 0 ? caller : { ...caller, viewer: { ...caller.viewer, withheld } });
  }
}

const bothOf = (a: ReadLimits, b: ReadLimits): ReadLimits => ({
  withheld: [...a.withheld, ...b.withheld],
  rules: [...a.rules, ...b.rules],
});

/** Whether an agent was registered, where a policy wants to know. */
async function registered(
  agentId: string | null,
  regions: readonly ReadRegion[],
  store: Store,
): Promise<Result<boolean>> {
  if (agentId === null || !regions.some(({ level }) => level === 'registered')) return ok(false);
  const found = await store.query({ kind: 'is-registered', agentId });
  return found.ok ? ok(found.value.registered) : failed(found.error);
}
