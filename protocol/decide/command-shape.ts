import { agentIdProblem, memoryIdProblem, namespaceProblem } from '../base/ids.js';
import { ARCHIVE_IDS_MAX } from '../base/limits.js';
import type { Kind } from '../kinds/kind.js';
import { isInteger, isObject, isText } from '../kinds/payload.js';
import type { AnyCommand, ReadCommand } from './command.js';
import { type Requester, requesterViewer } from './requester.js';

export type Check = (value: unknown, by: Requester) => boolean;

type Shape<C> = {
  readonly [M in Exclude<keyof C, 'kind' | 'viewer' | 'again' | 'job' | 'later'>]-?: Check | ReadMember<C[M]>;
};

/** A member whose value is read, not only looked at. */
export interface ReadMember<T> {
  readonly read: (value: unknown, by: Requester) => T | undefined;
}

/**
 * The schema of a command that may wait: it reads the members that are named, and another member makes another shape.
 * The caller is the one who requested it, whatever the record says.
 */
export function shaped<C extends AnyCommand>(kind: C['kind'], shape: Shape<C>): ReadCommand {
  return (sent, by) => {
    const isKnown = (member: string) => IGNORED.has(member) || Object.hasOwn(shape, member);
    const members = Object.keys(sent).every(isKnown) ? readMembers(sent, shape, by) : null;
    return members === null ? null : { kind, viewer: requesterViewer(by.requestedBy), ...members };
  };
}

/** The schema of a command that another node passes on, without a caller. Members that it does not name are left out. */
export const passed =
  <C extends AnyCommand>(kind: C['kind'], shape: Shape<Omit<C, 'recordOnly'>>): ReadCommand =>
  (sent, by) => {
    const members = readMembers(sent, shape, by);
    return members === null ? null : { kind, ...members };
  };

function readMembers(
  sent: Readonly<Record<string, unknown>>,
  shape: object,
  by: Requester,
): Record<string, unknown> | null {
  const members: Record<string, unknown> = {};
  for (const [member, how] of Object.entries(shape) as [string, Check | ReadMember<unknown>][]) {
    const value = sent[member];
    if (typeof how === 'function') {
      if (!how(value, by)) return null;
      if (value !== undefined) members[member] = value;
      continue;
    }
    const read = how.read(value, by);
    if (read === undefined) return null;
    members[member] = read;
  }
  return members;
}

const IGNORED: ReadonlySet<string> = new Set(['kind', 'viewer', 'again', 'job', 'later']);

export const isFlag: Check = (value) => typeof value === 'boolean';
export const isId: Check = (value) => isText(value) && memoryIdProblem(value) === null;
export const isIds: Check = (value, by) =>
  Array.isArray(value) && value.length <= ARCHIVE_IDS_MAX && value.every((id) => isId(id, by));
export const isAgent: Check = (value) => isText(value) && agentIdProblem(value) === null;
export const isNamespace: Check = (value) => isText(value) && namespaceProblem(value) === null;
/** The caller, or the agent that the call named for its writes. */
export const isRequester: Check = (value, { requestedBy, writtenAs }) =>
  isText(value) && (value === requestedBy || value === writtenAs);
export const isVersionOrNull: Check = (value) => value === null || isInteger(value);
export const isAbsentOr =
  (check: Check): Check =>
  (value, by) =>
    value === undefined || check(value, by);

/** An object with exactly these members. */
export const exactly =
  (members: Readonly<Record<string, Check>>): Check =>
  (value, by) =>
    isObject(value) &&
    Object.keys(value).every((member) => Object.hasOwn(members, member)) &&
    Object.entries(members).every(([member, check]) => check(value[member], by));

/** The image of a row that peers may send; undefined for another value, and for one with unknown members. */
export function imageOf<I extends { readonly rest: Readonly<Record<string, unknown>> }>(
  kind: Kind<I>,
  value: Readonly<Record<string, unknown>>,
): I | undefined {
  const { rest: _rest, ...known } = value;
  const image = kind.payload.parse(known);
  if (image === null || !kind.payload.admits(image) || Object.keys(image.rest).length > 0) return undefined;
  return image;
}
