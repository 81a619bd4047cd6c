import type { Crypto } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { CHAIN } from '../../protocol/chain.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import type { Mutation } from '../../protocol/decide/mutations.js';
import { DEFAULT_NODE_POLICY } from '../../protocol/decide/node-policy.js';
import { afterThese, asks } from '../../protocol/decide/reads.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { KINDS } from '../../protocol/release.js';
import { TRUST_ALL } from '../../protocol/rules/rules.js';
import type { Connection } from './connection.js';
import { Digests } from './digests.js';
import { KindPages, SubjectTables } from './kinds/tables.js';
import { OperationLog } from './log.js';
import { Mutations } from './mutations.js';
import { QuotaLedger } from './quota-ledger.js';
import { DecisionReads } from './reads.js';
import { runDecision } from './run-decision.js';

/** The parts of a writer, for work that runs inside a transaction of its own. */
export interface Engine {
  readonly log: OperationLog;
  readonly quotas: QuotaLedger;
  readonly digests: Digests;
  readonly reads: DecisionReads;
  readonly mutations: Mutations;
  readonly context: DecisionContext;
  /** Runs a command, as the writer does; throws when its rule refuses it. */
  run<C extends Command>(command: C): OutcomeOf<C>;
}

/** Builds them over an open database. */
export function engineOf(
  db: Connection,
  { nowMs, crypto }: { readonly nowMs: number; readonly crypto: Crypto },
  kinds = KINDS,
): Engine {
  const context: DecisionContext = {
    nowMs,
    now: instantFromMs(nowMs),
    policy: DEFAULT_NODE_POLICY,
    kinds,
    ruleTrust: TRUST_ALL,
  };
  const log = new OperationLog(db, crypto, kinds);
  const quotas = new QuotaLedger(db);
  const digests = new Digests(db, crypto, new KindPages(kinds));
  const tables = new SubjectTables(db, kinds, quotas, digests, log);
  const mutations = new Mutations(db, log, quotas, digests, tables, null);
  const reads = new DecisionReads(db, quotas, log, digests, crypto, tables);
  const run = <C extends Command>(command: C): OutcomeOf<C> => {
    const apply = (all: readonly Mutation[]) => {
      for (const mutation of all) mutations.apply(mutation, context);
    };
    const decision = runDecision(command, context, CHAIN, (request) =>
      asks(request, afterThese) ? apply(request.mutations) : reads.answer(request, context),
    );
    if (!decision.ok) throw new Error(`${command.kind}: ${decision.error.message}`);
    apply(decision.value.mutations);
    return decision.value.value as OutcomeOf<C>;
  };
  return { log, quotas, digests, reads, mutations, context, run };
}
