import type { Instant, Origin } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';
import type { Subject } from '../kinds/kind.js';
import type { Version } from '../kinds/version.js';
import type { Mutation } from './mutations.js';
import type { Row } from './rows.js';

/** A request for the answer to a read; its other members are what is asked. */
export interface ReadRequest {
  readonly read: string;
}

/** A generator that reads rows and continues with the answers. */
export type Reading<T> = Generator<ReadRequest, T, never>;

/** A read that decisions may ask for. Its feature declares it, and every engine answers it. */
export interface Read<Input, Answer> {
  (input: Input): Reading<Answer>;
  readonly read: string;
}

/** What a read asks. */
export type Asked<R> = R extends Read<infer Input, unknown> ? Input : never;

/** What a read answers. */
export type AnswerTo<R> = R extends Read<never, infer Answer> ? Answer : never;

/** Declares a read. Only this function trusts the engine to give the answer that is declared. */
export function defineRead<Input, Answer>(name: string): Read<Input, Answer> {
  function* asked(input: Input): Reading<Answer> {
    return (yield { read: name, ...input } as ReadRequest) as Answer;
  }
  return Object.assign(asked, { read: name });
}

export const isRead = (value: unknown): value is Read<never, unknown> =>
  typeof value === 'function' && 'read' in value;

/** True for a request of a read. */
export const asks = <Input, Answer>(
  request: ReadRequest,
  { read }: Read<Input, Answer>,
): request is ReadRequest & Input => request.read === read;

/** The version vector of a removed subject, and the time, the word and the namespace of its removal. */
export interface Buried {
  readonly seen: VersionVector;
  readonly deleted_at: Instant;
  readonly word: string;
  readonly namespace: string;
}

/** The row of a subject; null when it has no row. */
export const subjectRow = defineRead<Subject, Row | null>('subject-row');
/** What is left of a removed subject; null when it was never removed. */
export const tombstoneOf = defineRead<Subject, Buried | null>('tombstone');
/** The maximal versions of a subject; empty for a subject that was never written. */
export const versionsOf = defineRead<Subject, readonly Version[]>('subject-versions');
/** Records of a kind whose member has a value, by id. */
export const recordsWith = defineRead<
  { readonly kind: string; readonly member: string; readonly value: string; readonly limit: number },
  readonly Row[]
>('records-with');
/** The SHA-256 of a text, hex: rules have no cryptography of their own. */
export const digestOfText = defineRead<{ readonly text: string }, string>('text-digest');
/** The origin that this database writes under, and its last sequence. */
export const ownOrigin = defineRead<void, { readonly origin: Origin; readonly seq: number }>('log-origin');
/** Applies the mutations decided so far, so that later reads see them. */
export const afterThese = defineRead<{ readonly mutations: readonly Mutation[] }, void>('after');

/** Applies mutations now; later reads see them. */
export const after = (mutations: readonly Mutation[]): Reading<void> => afterThese({ mutations });
