import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { CONTENT_BYTES_MAX } from '../../protocol/base/limits.js';
import { UsageError } from './options.js';

/** What a task stores and asks in one namespace. */
export interface Collection {
  readonly namespace: string;
  /** In the order of storing. Titles are unique; several may stand for one key. */
  readonly memories: readonly {
    readonly key: string;
    readonly title: string;
    readonly content: string;
    readonly conversation: string;
    readonly turn: number;
  }[];
  readonly questions: readonly { readonly text: string; readonly evidence: readonly string[] }[];
}

/** `session`: one memory for each session; `turn`: one for each turn. */
export type Task = 'session' | 'turn';

const turnSchema = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().optional(),
});
const locomoSchema = z.array(
  z.object({
    conversation: z.record(z.string(), z.unknown()),
    qa: z.array(z.object({ question: z.string(), evidence: z.array(z.string()).default([]) })),
  }),
);
const longMemEvalSchema = z.array(
  z.object({
    question_id: z.string(),
    question: z.string(),
    haystack_session_ids: z.array(z.string()),
    haystack_dates: z.array(z.string()).optional(),
    haystack_sessions: z.array(
      z.array(z.object({ role: z.string(), content: z.string(), has_answer: z.boolean().optional() })),
    ),
    answer_session_ids: z.array(z.string()),
  }),
);

/** A conversation in either format, before a task shapes it. */
interface Session {
  readonly key: string;
  readonly number: number;
  readonly date: string;
  readonly turns: readonly { readonly key: string; readonly speaker: string; readonly text: string }[];
}

interface Conversation {
  readonly sessions: readonly Session[];
  readonly questions: readonly {
    readonly text: string;
    readonly evidence: Readonly<Record<Task, readonly string[]>>;
  }[];
}

/** Reads a file in LoCoMo's or LongMemEval's format. */
export function readConversations(path: string): Conversation[] {
  const data: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const locomo = locomoSchema.safeParse(data);
  if (locomo.success) return locomo.data.map(fromLocomo);
  const longMemEval = longMemEvalSchema.safeParse(data);
  if (longMemEval.success) {
    // Questions that no session answers have nothing to be found.
    return longMemEval.data.filter((entry) => !entry.question_id.endsWith('_abs')).map(fromLongMemEval);
  }
  throw new UsageError(`${path} is in neither LoCoMo's nor LongMemEval's format`);
}

function fromLocomo({ conversation, qa }: z.output<typeof locomoSchema>[number]): Conversation {
  const sessions = Object.keys(conversation)
    .flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? [])
    .map(Number)
    .sort((left, right) => left - right)
    .map((number): Session => {
      const date = conversation[`session_${number}_date_time`];
      const turns = z.array(turnSchema).parse(conversation[`session_${number}`]);
      return {
        key: `D${number}`,
        number,
        date: typeof date === 'string' ? date : '',
        turns: turns.map((turn) => ({
          key: turn.dia_id,
          speaker: turn.speaker,
          text: turn.blip_caption === undefined ? turn.text : `${turn.text} [${turn.blip_caption}]`,
        })),
      };
    })
    .filter((session) => session.turns.length > 0);
  const known = new Set(sessions.flatMap((session) => session.turns.map((turn) => turn.key)));
  const questions = qa.map(({ question, evidence }) => {
    const turns = [...new Set(evidence.flatMap(turnKeys))].filter((key) => known.has(key));
    return {
      text: question,
      evidence: { turn: turns, session: [...new Set(turns.map((key) => key.split(':')[0]!))] },
    };
  });
  return { sessions, questions };
}

/** The evidence is written by hand: several turns in one text, leading zeros, a colon too many. */
function turnKeys(text: string): string[] {
  return [...text.matchAll(/D:?0*(\d+):0*(\d+)/g)].map((match) => `D${match[1]}:${match[2]}`);
}

function fromLongMemEval(entry: z.output<typeof longMemEvalSchema>[number]): Conversation {
  const sessions = entry.haystack_sessions.map((turns, at): Session => {
    const key = entry.haystack_session_ids[at] ?? `session-${at + 1}`;
    return {
      key,
      number: at + 1,
      date: entry.haystack_dates?.[at] ?? '',
      turns: turns.map((turn, index) => ({ key: `${key}#${index}`, speaker: turn.role, text: turn.content })),
    };
  });
  const turn = entry.haystack_sessions.flatMap((turns, at) =>
    turns.flatMap((said, index) => (said.has_answer === true ? [`${sessions[at]!.key}#${index}`] : [])),
  );
  return {
    sessions,
    questions: [{ text: entry.question, evidence: { session: entry.answer_session_ids, turn } }],
  };
}

/**
 * Shapes a conversation for a task: each turn as a captured one is stored, each session as a mined one, which is a conversation
 * by itself.
 */
export function collectionFor(conversation: Conversation, number: number, task: Task): Collection {
  const memories = conversation.sessions.flatMap((session) =>
    task === 'session' ? sessionMemories(session) : turnMemories(session),
  );
  return {
    namespace: `conversation-${number}-${task}`,
    memories,
    questions: conversation.questions
      .map(({ text, evidence }) => ({ text, evidence: evidence[task] }))
      .filter(({ evidence }) => evidence.length > 0),
  };
}

function sessionMemories({ key, number, date, turns }: Session) {
  const lines = turns.map(({ speaker, text }) => `${speaker}: ${text}`);
  const parts = partsOf(lines.join('\n'));
  const dated = date === '' ? `Session ${number}` : `Session ${number} (${date})`;
  return parts.map((content, at) => ({
    ...{ key, title: at === 0 ? dated : `${dated} part ${at + 1}`, content },
    ...{ conversation: key, turn: at },
  }));
}

function turnMemories({ key: conversation, number, date, turns }: Session) {
  // `8:18 pm on 6 July, 2023`: the day is what people name.
  const day = date.replace(/^.* on /, '').replace(',', '');
  return turns.flatMap(({ key, speaker, text }, at) =>
    partsOf(text).map((content, part) => ({
      key,
      title: `Session ${number} turn ${at + 1}${day === '' ? '' : ` (${day})`} ${speaker}${part === 0 ? '' : ` part ${part + 1}`}`,
      content,
      conversation,
      turn: at,
    })),
  );
}

/** A text in pieces that can be stored, cut at line ends where there are any; none for a blank text. */
export function partsOf(text: string, bytesMax = CONTENT_BYTES_MAX): string[] {
  const parts: string[] = [];
  let rest = clean(text);
  while (Buffer.byteLength(rest) > bytesMax) {
    const most = new TextDecoder().decode(Buffer.from(rest).subarray(0, bytesMax)).replace(/\uFFFD+$/, '');
    const lineEnd = most.lastIndexOf('\n');
    const part = lineEnd > 0 ? most.slice(0, lineEnd) : most;
    parts.push(part);
    rest = rest.slice(part.length);
  }
  parts.push(rest);
  return parts.filter((part) => part.trim() !== '');
}

/** Without control characters, which no memory may hold. */
const clean = (text: string) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, ' ');
