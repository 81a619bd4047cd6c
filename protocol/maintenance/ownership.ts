import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { putDatabaseOwner } from './mutations.js';
import { databaseOwner } from './reads.js';

export interface ClaimOwnership {
  readonly kind: 'claim-ownership';
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  readonly leaseMs: number;
  /** A holder that the caller found ended: its lease does not count. */
  readonly ended?: string | null;
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

/**
 * Claims or renews the ownership of the database. A daemon takes it from an MCP process at once; otherwise the holder
 * keeps it until its lease expires or its process was found ended. Every change of holder increases the fencing number.
 */
function* decideClaim(command: ClaimOwnership, context: DecisionContext): Deciding<ClaimOwnershipOutcome> {
  const current = yield* databaseOwner();
  // A lease that ends too late was made before the clock was set back.
  const alive =
    current !== null &&
    current.holder !== command.ended &&
    current.expiresAtMs > context.nowMs &&
    current.expiresAtMs <= context.nowMs + 2 * command.leaseMs;
  const mine = current !== null && current.holder === command.holder;
  const outranks = command.role === 'daemon' && current?.role === 'mcp';
  if (current !== null && alive && !mine && !outranks) {
    return decided({ owned: false, fencing: current.fencing, holder: current.holder }, []);
  }
  const fencing = mine ? current.fencing : (current?.fencing ?? 0) + 1;
  const owner = {
    holder: command.holder,
    role: command.role,
    fencing,
    expiresAtMs: context.nowMs + command.leaseMs,
  };
  return decided({ owned: true, fencing, holder: command.holder }, [putDatabaseOwner({ owner })]);
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
