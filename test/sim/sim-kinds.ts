import { z } from 'zod';
import { defineOperation } from '../../node/pipeline/operation.js';
import { failed, ok } from '../../protocol/base/result.js';
import { CHAIN, type Chain } from '../../protocol/chain.js';
import { Commands, defineCommand } from '../../protocol/decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../../protocol/decide/deciding.js';
import { homeOf } from '../../protocol/decide/home.js';
import { putRecord, recordRow } from '../../protocol/decide/record-writes.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import { isCount, isText, NO_REST, type Rest } from '../../protocol/kinds/payload.js';
import { recordKind } from '../../protocol/kinds/record-kind.js';
import { COMMANDS, type Command, KINDS } from '../../protocol/release.js';
import { recordFacts } from '../support/kind-facts.js';

/** A kind that only the simulator has: its declaration is all that replication needs to know. */
export interface Lease {
  readonly holder: string;
  /** Grows with each grant, and with each home by more than all grants of the one before. */
  readonly token: number;
  readonly home_number: number;
  readonly rest: Rest;
}

/** More grants of one lease than a run makes. */
const TOKENS_OF_A_HOME = 1_000_000;

export const leaseKind = recordKind<Lease>({
  name: 'grant',
  members: {
    holder: { accepts: isText, default: '' },
    token: { accepts: isCount, default: 0 },
    home_number: { accepts: isCount, default: 0, later: true },
  },
  idOf: () => null,
  namespaceOf: () => null,
  losers: 'dropped',
  writer: 'home',
  exported: false,
});

/** The same for the audit, which takes nothing from the declaration. */
export const LEASE_FACTS = recordFacts('grant', { holder: '', token: 0 }, { home: true });

/** What replicates in the simulator. */
export const SIM_KINDS = new Kinds([...KINDS.all, leaseKind]);

const grantShape = z.object({ kind: z.literal('grant-lease'), id: z.string(), holder: z.string() });
type GrantLease = z.output<typeof grantShape>;

/** Grants a lease; only its home decides, so two nodes never grant one token. */
function* decideGrant({ id, holder }: GrantLease, _context: DecisionContext): Deciding<{ token: number }> {
  const { number } = yield* homeOf(id);
  const before = (yield* recordRow(leaseKind, id))?.image ?? null;
  const token = Math.max(before?.token ?? 0, number * TOKENS_OF_A_HOME) + 1;
  const image: Lease = { holder, token, home_number: number, rest: NO_REST };
  return decided({ token }, [yield* putRecord(leaseKind, { id, namespace: 'alpha' }, image)]);
}

/** The rules of the release, and that of the lease. */
export const SIM_CHAIN: Chain = {
  ...CHAIN,
  commands: new Commands([
    ...COMMANDS.all,
    defineCommand({
      kind: 'grant-lease',
      decide: decideGrant,
      gate: 'upkeep',
      read: (sent) => grantShape.safeParse(sent).data ?? null,
      forwarded: true,
    }),
  ]),
};

const written = z.looseObject({});

/** An operation of the simulator that runs one command of the store. */
function commandOperation<I extends z.ZodObject>(
  name: string,
  input: I,
  commandOf: (input: z.output<I>, agentId: string) => object,
) {
  return defineOperation({
    name,
    family: 'other',
    summary: name,
    input,
    output: written,
    effect: 'write',
    guards: {},
    run: async (call, given) => {
      const command = commandOf(given as z.output<I>, call.caller.agentId) as Command;
      const done = await call.services.store.execute(command);
      return done.ok ? ok(done.value as Record<string, unknown>) : failed(done.error);
    },
  });
}

/** Writes of kinds that no surface offers yet. */
export const SIM_OPERATIONS = [
  commandOperation('sim_grant', z.object({ id: z.string() }), ({ id }, holder) => ({
    kind: 'grant-lease',
    id,
    holder,
  })),
  // What the daemon that owns a database does for actions whose votes came from other nodes.
  commandOperation('sim_settle', z.object({ id: z.string() }), ({ id }) => ({
    kind: 'settle-pending',
    pendingId: id,
  })),
  commandOperation('sim_adopt', z.object({ peer: z.string() }), ({ peer }, by) => ({
    kind: 'adopt-peer',
    peerId: peer,
    by,
  })),
];
