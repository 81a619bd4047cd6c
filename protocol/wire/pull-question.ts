import { z } from 'zod';
import { HAVE_ORIGINS_MAX } from '../base/limits.js';
import { failed, ok, type Result } from '../base/result.js';
import { encodeCursor } from '../log/cursor.js';
import type { Have } from '../log/wire-operation.js';
import { readBody } from './message-body.js';
import { have, receiver, text } from './wire-schema.js';

/** What a node asks a peer for: a page of the operations beyond what it has. */
export interface PullQuestion {
  readonly have: Have;
  /** About the most operations of the page. */
  readonly limit: number;
  /** Only these origins; null means all. */
  readonly origins: readonly string[] | null;
  /** `have` says only where to begin, not what the node has. */
  readonly place: boolean;
  /** Also headers without payloads, where no node can send more. */
  readonly stubs: boolean;
}

/** The query of `GET /sync/since` that asks this. */
export function pullQuery(question: PullQuestion, sender: string, to: string, sentAt: string): string {
  const { limit, origins, place, stubs } = question;
  const only = origins === null ? '' : `&origins=${encodeURIComponent(origins.join(','))}`;
  const claim = `${place ? '&place=1' : ''}${stubs ? '&stubs=1' : ''}`;
  const who = `peer=${encodeURIComponent(sender)}&to=${encodeURIComponent(to)}&at=${encodeURIComponent(sentAt)}`;
  return `cursor=${encodeCursor(question.have)}&limit=${limit}&${who}${only}${claim}`;
}

/** The same question as the body of `POST /mesh/pull`, for a cursor that is too long for a query. */
const body = z.object({
  sender_wall_clock: z.string(),
  receiver,
  have,
  limit: z.int().min(1),
  origins: z.array(text).max(HAVE_ORIGINS_MAX).nullable(),
  place: z.boolean(),
  stubs: z.boolean(),
});

export interface AskedPull {
  readonly sentAt: string;
  readonly receiver: string | undefined;
  readonly question: PullQuestion;
}

export const pullBody = (question: PullQuestion, to: string, sentAt: string): z.infer<typeof body> => ({
  sender_wall_clock: sentAt,
  receiver: to,
  have: { ...question.have },
  limit: question.limit,
  origins: question.origins === null ? null : [...question.origins],
  place: question.place,
  stubs: question.stubs,
});

/** Reads the body of `POST /mesh/pull`: VALIDATION_FAILED when it has another shape. */
export function parsePull(value: Readonly<Record<string, unknown>>): Result<AskedPull> {
  const read = readBody(body, value);
  if (!read.ok) return failed(read.error);
  const { sender_wall_clock: sentAt, receiver: to, ...question } = read.value;
  return ok({ sentAt, receiver: to ?? undefined, question });
}

/** The shape of the message, for who makes such messages. */
export { body as pullSchema };
