import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { putDatabaseOwner } from './mutations.js';
import { databaseOwner } from './reads.js';

export interface ClaimOwnership {
  readonly kind: 'claim-ownership';
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  /** How long it lasts unless it is renewed; null where others see by themselves that a holder has ended. */
  readonly leaseMs: number | null;
  /** An ownership that the caller found ended, its own as well: it does not count. */
  readonly ended?: EndedOwnership | null;
}

/** One ownership of a holder. */
export interface EndedOwnership {
  readonly holder: string;
  readonly fencing: number;
}

/** What `claim-ownership` answers. */
export interface ClaimOwnershipOutcome {
  readonly owned: boolean;
  readonly fencing: number;
  readonly holder: string;
}

export interface ReleaseOwnership {
  readonly kind: 'release-ownership';
  readonly holder: string;
}

/** What `release-ownership` answers. */
export interface ReleaseOwnershipOutcome {
  readonly released: boolean;
}

/** The end of a lease that lasts: the end of the year 9999. */
const NEVER_MS = 253_402_300_799_000;

/**
 * Claims or renews the ownership of the database. A daemon takes it from an MCP process at once; otherwise the holder
 * keeps it until its lease expires or it was found ended. Every new ownership increases the fencing number.
 */
function* decideClaim(command: ClaimOwnership, context: DecisionContext): Deciding<ClaimOwnershipOutcome> {
  const current = yield* databaseOwner();
  const { holder, leaseMs, ended = null } = command;
  const isEnded = ended !== null && ended.holder === current?.holder && ended.fencing === current.fencing;
  // A lease that ends too late was made before the clock was set back.
  const isFromLater =
    current !== null && leaseMs !== null && current.expiresAtMs > context.nowMs + 2 * leaseMs;
  const alive = current !== null && !isEnded && current.expiresAtMs > context.nowMs && !isFromLater;
  const mine = current?.holder === holder && !isEnded;
  const outranks = command.role === 'daemon' && current?.role === 'mcp';
  if (current !== null && alive && !mine && !outranks) {
    return decided({ owned: false, fencing: current.fencing, holder: current.holder }, []);
  }
  const fencing = mine && current !== null ? current.fencing : (current?.fencing ?? 0) + 1;
  const owner = {
    holder,
    role: command.role,
    fencing,
    expiresAtMs: leaseMs === null ? NEVER_MS : context.nowMs + leaseMs,
  };
  return decided({ owned: true, fencing, holder }, [putDatabaseOwner({ owner })]);
}

/** Releases the ownership, so the next process need not wait until the lease expires. */
function* decideRelease(command: ReleaseOwnership): Deciding<ReleaseOwnershipOutcome> {
  const current = yield* databaseOwner();
  if (current === null || current.holder !== command.holder) return decided({ released: false }, []);
  return decided({ released: true }, [putDatabaseOwner({ owner: { ...current, expiresAtMs: 0 } })]);
}

export const claimOwnershipCommand = defineCommand({
  kind: 'claim-ownership',
  decide: decideClaim,
  gate: 'upkeep',
});

export const releaseOwnershipCommand = defineCommand({
  kind: 'release-ownership',
  decide: decideRelease,
  gate: 'upkeep',
});
