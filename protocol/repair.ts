import { type Link, linkId } from './link.js';
import type { OperationPlace } from './mesh/ranges.js';
import type { ParkReason, WireOperation } from './mesh/wire.js';
import { operationId } from './operation-log.js';
import { concernsMemory, linkOf, versionOf } from './parse-payload.js';
import { awayVersion, type Dot, isLater, maximal, type Version } from './replica.js';

/** An operation as the log holds it; a payload that is not its hash's counts as lost. */
export interface LoggedOperation extends WireOperation {
  readonly parked: ParkReason | null;
}

/** What a log means for a subject, as far as it still tells. */
export interface Told<T> {
  /** Null when it does not tell without what is `wanted`. */
  readonly state: T | null;
  /** Operations that have an effect from now on. */
  readonly unparked: readonly OperationPlace[];
  /** Operations whose payload would have a say. */
  readonly wanted: readonly OperationPlace[];
  /** Withheld operations that have the say now. */
  readonly away: readonly OperationPlace[];
}

/** Reasons that hold for the payload itself, on every node. */
const FINAL: ReadonlySet<ParkReason> = new Set(['bad_signature', 'invalid', 'forked']);

type Candidates = readonly LoggedOperation[];

const placeOf = ({ origin, seq }: OperationPlace): OperationPlace => ({ origin, seq });
const isFinal = ({ parked }: LoggedOperation): boolean => parked !== null && FINAL.has(parked);
/** It came without payload, so it never had an effect. */
const isStub = ({ parked, payload }: LoggedOperation): boolean => parked !== null && payload === null;

/**
 * The maximal versions of a memory, from all of its operations in a log. Which they are follows from the headers; a
 * lost payload matters only when it is one of theirs. `withheld` are operations (ids) that this node may not hold:
 * what they made is elsewhere.
 */
export function versionsTold(
  operations: Candidates,
  withheld: ReadonlySet<string>,
): Told<readonly Version[]> {
  const isNamed = ({ origin, seq }: LoggedOperation) => withheld.has(operationId(origin, seq));
  const isWithheld = (one: LoggedOperation) =>
    one.payload === null && (one.parked === 'elsewhere' || isNamed(one));
  const concerned = operations.filter((one) => concernsMemory(one.kind) && !isFinal(one));
  // What went elsewhere may lie in the scope by now.
  const stubs = maximal(concerned).filter((one) => isStub(one) && !isNamed(one));
  let candidates = concerned.filter((one) => !isStub(one) || isWithheld(one));
  for (;;) {
    const versions: Version[] = [];
    const away: OperationPlace[] = [];
    const lost: LoggedOperation[] = [];
    const wrong = new Set<LoggedOperation>();
    for (const operation of maximal(candidates)) {
      const { payload } = operation;
      if (payload === null) {
        if (!isWithheld(operation)) lost.push(operation);
        else {
          versions.push(awayVersion(operation));
          if (operation.parked !== 'elsewhere') away.push(placeOf(operation));
        }
        continue;
      }
      const version = versionOf({ ...operation, payload });
      if (version === null) wrong.add(operation);
      else versions.push(version);
    }
    // What is no version of anything supersedes nothing.
    if (wrong.size > 0) {
      candidates = candidates.filter((operation) => !wrong.has(operation));
      continue;
    }
    const wanted = [...stubs, ...lost].map(placeOf);
    if (lost.length > 0) return { state: null, unparked: [], wanted, away: [] };
    const unparked = candidates.filter(({ parked, payload }) => parked !== null && payload !== null);
    return { state: versions, unparked: unparked.map(placeOf), wanted, away };
  }
}

/** A link with the operation that wrote it. */
export interface WrittenLink {
  readonly link: Link;
  readonly by: LoggedOperation;
}

/** The link that stands: the latest. None where the log knows none. */
export function linkTold(operations: Candidates): Told<readonly WrittenLink[]> {
  const wanted: OperationPlace[] = [];
  let candidates = operations.filter((one) => one.kind === 'link' && !isFinal(one));
  while (candidates.length > 0) {
    const by = candidates.reduce((best, one) => (isLater(one, best) ? one : best));
    if (by.payload === null) {
      wanted.push(placeOf(by));
      if (by.parked === null) return { state: null, unparked: [], wanted, away: [] };
    } else {
      const link = linkOf(by.payload);
      if (link !== null && linkId(link) === by.subject) {
        return { state: [{ link, by }], unparked: by.parked === null ? [] : [placeOf(by)], wanted, away: [] };
      }
    }
    candidates = candidates.filter((one) => one !== by);
  }
  return { state: [], unparked: [], wanted, away: [] };
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
