import { namespaceProblem } from '../base/ids.js';
import type { Kind } from '../kinds/kind.js';
import type { Dot, Version } from '../kinds/version.js';
import { operationId } from '../log/operation-log.js';
import type { OperationPlace } from '../log/ranges.js';
import type { ParkReason, WireOperation } from '../log/wire-operation.js';
import { versionOf } from './payloads.js';
import { maximal, outOfScopeVersion } from './versions.js';

/** An operation as the log holds it; a payload that does not match its hash counts as lost. */
export interface LoggedOperation extends WireOperation {
  readonly parked: ParkReason | null;
}

/** What the log says about a subject, as far as it is still readable. */
export interface Derived {
  /** The maximal versions; null when `missing` or `unreadable` operations leave them unknown. */
  readonly versions: readonly Version[] | null;
  /** Parked operations that take effect now. */
  readonly unparked: readonly OperationPlace[];
  /** Operations whose lost payload matters for the result. */
  readonly missing: readonly OperationPlace[];
  /** Operations that have an effect and whose payload this release cannot read. */
  readonly unreadable: readonly OperationPlace[];
  /** Withheld operations that make a maximal version now. */
  readonly outOfScope: readonly OperationPlace[];
}

/** Reasons that hold for the operation itself: it never has an effect here. */
export const FINAL_REASONS: ReadonlySet<ParkReason> = new Set([
  'bad_signature',
  'forked',
  'not_home',
  'secret',
]);

const placeOf = ({ origin, seq }: OperationPlace): OperationPlace => ({ origin, seq });
const isFinal = ({ parked }: LoggedOperation): boolean => parked !== null && FINAL_REASONS.has(parked);
/** True for an operation that came without a payload, so it never had an effect. */
const isHeaderOnly = ({ parked, payload }: LoggedOperation): boolean => parked !== null && payload === null;

const UNKNOWN: Derived = { versions: null, unparked: [], missing: [], unreadable: [], outOfScope: [] };

/**
 * Derives the maximal versions of a subject from all of its operations in a log. The headers decide which they are; a
 * lost payload matters only when it belongs to a maximal version. `withheld` are ids of operations that this node may
 * not hold: their versions are out of scope.
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
  // An operation that was out of scope may be in scope by now.
  const headers = maximal(concerned).filter((one) => isHeaderOnly(one) && !isNamed(one));
  let candidates = concerned.filter((one) => !isHeaderOnly(one) || isWithheld(one));
  for (;;) {
    const ends = candidates.filter(
      ({ kind: word, payload }) => payload !== null && kind.final.includes(word),
    );
    const read = readMaximal(kind, maximal(ends.length > 0 ? ends : candidates), isWithheld);
    // A parked operation that makes no version supersedes nothing.
    if (read.ineffective.size > 0) {
      candidates = candidates.filter((operation) => !read.ineffective.has(operation));
      continue;
    }
    const missing = [...(ends.length > 0 ? [] : headers), ...read.lost].map(placeOf);
    const unreadable = read.unreadable.map(placeOf);
    // Unreadable is not absent: such an operation may have made a live row.
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
    // Names from before the log began may break the rule, but an operation with such a name gets no effect.
    const misnamed = parked !== null && namespaceProblem(operation.namespace) !== null;
    const role = kind.words[operation.kind] ?? null;
    const version = misnamed ? null : versionOf(kind, role, { ...operation, payload });
    if (version !== null) versions.push(version);
    else if (parked === null) unreadable.push(operation);
    else ineffective.add(operation);
  }
  return { versions, outOfScope, lost, unreadable, ineffective };
}

/** True for two lists of the same dots, in any order. */
export function sameDots(a: readonly Pick<Dot, 'origin' | 'seq'>[], b: typeof a): boolean {
  const ids = (dots: typeof a) =>
    dots
      .map(({ origin, seq }) => operationId(origin, seq))
      .sort()
      .join('\n');
  return ids(a) === ids(b);
}
