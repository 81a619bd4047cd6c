import { namespaceProblem } from '../ids.js';
import type { Kind } from '../kinds/kind.js';
import type { Dot, Version } from '../kinds/version.js';
import type { OperationPlace } from '../mesh/ranges.js';
import type { ParkReason, WireOperation } from '../mesh/wire.js';
import { operationId } from './operation-log.js';
import { versionOf } from './payloads.js';
import { maximal, outOfScopeVersion } from './versions.js';

/** An operation as the log holds it; a payload that is not its hash's counts as lost. */
export interface LoggedOperation extends WireOperation {
  readonly parked: ParkReason | null;
}

/** What the log says of a subject, as far as it still does. */
export interface Derived {
  /** The maximal versions; null when the log does not tell without what is `missing` or `unreadable`. */
  readonly versions: readonly Version[] | null;
  /** Operations that have an effect from now on. */
  readonly unparked: readonly OperationPlace[];
  /** Operations whose payload would have a say. */
  readonly missing: readonly OperationPlace[];
  /** Operations that have an effect, and whose payload this release cannot read. */
  readonly unreadable: readonly OperationPlace[];
  /** Withheld operations that have the say now. */
  readonly outOfScope: readonly OperationPlace[];
}

/** Reasons that hold for the operation itself, on every node and in every release. */
const FINAL: ReadonlySet<ParkReason> = new Set(['bad_signature', 'forked', 'not_home']);

const placeOf = ({ origin, seq }: OperationPlace): OperationPlace => ({ origin, seq });
const isFinal = ({ parked }: LoggedOperation): boolean => parked !== null && FINAL.has(parked);
/** It came without payload, so it never had an effect. */
const isHeaderOnly = ({ parked, payload }: LoggedOperation): boolean => parked !== null && payload === null;

const UNKNOWN: Derived = { versions: null, unparked: [], missing: [], unreadable: [], outOfScope: [] };

/**
 * The maximal versions of a subject, from all of its operations in a log. Which they are follows from the headers; a
 * lost payload matters only when it is one of theirs. `withheld` are operations (ids) that this node may not hold:
 * what they made is out of scope.
 */
export function deriveVersions(
  kind: Kind,
  operations: readonly LoggedOperation[],
  withheld: ReadonlySet<string>,
): Derived {
  const isNamed = ({ origin, seq }: LoggedOperation) => withheld.has(operationId(origin, seq));
  const isWithheld = (one: LoggedOperation) =>
    one.payload === null && (one.parked === 'elsewhere' || isNamed(one));
  const makesVersion = ({ kind: word }: LoggedOperation) => (kind.words[word] ?? 'purge') !== 'purge';
  const concerned = operations.filter((one) => makesVersion(one) && !isFinal(one));
  // What went out of the scope may lie in it by now.
  const headers = maximal(concerned).filter((one) => isHeaderOnly(one) && !isNamed(one));
  let candidates = concerned.filter((one) => !isHeaderOnly(one) || isWithheld(one));
  for (;;) {
    const read = readMaximal(kind, maximal(candidates), isWithheld);
    // A parked operation that is no version of anything supersedes nothing.
    if (read.ineffective.size > 0) {
      candidates = candidates.filter((operation) => !read.ineffective.has(operation));
      continue;
    }
    const missing = [...headers, ...read.lost].map(placeOf);
    const unreadable = read.unreadable.map(placeOf);
    // Unreadable is not absent: what such an operation made may be a row that lives.
    if (read.lost.length + unreadable.length > 0) return { ...UNKNOWN, missing, unreadable };
    const unparked = candidates.filter(({ parked, payload }) => parked !== null && payload !== null);
    const { versions, outOfScope } = read;
    return { versions, unparked: unparked.map(placeOf), missing, unreadable, outOfScope };
  }
}

function readMaximal(
  kind: Kind,
  operations: readonly LoggedOperation[],
  isWithheld: (operation: LoggedOperation) => boolean,
) {
  const versions: Version[] = [];
  const outOfScope: OperationPlace[] = [];
  const lost: LoggedOperation[] = [];
  const unreadable: LoggedOperation[] = [];
  const ineffective = new Set<LoggedOperation>();
  for (const operation of operations) {
    const { payload, parked } = operation;
    if (payload === null) {
      if (!isWithheld(operation)) lost.push(operation);
      else {
        versions.push(outOfScopeVersion(kind, operation));
        if (parked !== 'elsewhere') outOfScope.push(placeOf(operation));
      }
      continue;
    }
    // Names from before the log began may break the rule, but no operation gets an effect under one.
    const misnamed = parked !== null && namespaceProblem(operation.namespace) !== null;
    const role = kind.words[operation.kind] ?? null;
    const version = misnamed ? null : versionOf(kind, role, { ...operation, payload });
    if (version !== null) versions.push(version);
    else if (parked === null) unreadable.push(operation);
    else ineffective.add(operation);
  }
  return { versions, outOfScope, lost, unreadable, ineffective };
}

/** True for two lists of the same dots, in whatever order. */
export function sameDots(a: readonly Pick<Dot, 'origin' | 'seq'>[], b: typeof a): boolean {
  const ids = (dots: typeof a) =>
    dots
      .map(({ origin, seq }) => operationId(origin, seq))
      .sort()
      .join('\n');
  return ids(a) === ids(b);
}
