import { basename } from 'node:path';
import { TAG_BYTES_MAX } from '../../protocol/base/limits.js';
import { utf8Prefix } from '../../protocol/base/utf8.js';
import { TEXT_BYTES_MAX, TOOL_BRIEF_LENGTH_MAX, TOOL_CALLS_MAX } from '../../protocol/transcripts/limits.js';
import type { ToolCall, TurnRole } from '../../protocol/transcripts/transcript-kind.js';
import { instantOf, oneLine } from '../mine/conversation.js';
import { textsOf } from '../mine/formats/exports.js';
import type { SourceFile } from '../mine/source-file.js';
import { documentOf, isObject, type Json, lineValues, objectsOf, textIn } from '../mine/text-of.js';

/** What a line of a session says. */
export interface HostTurn {
  readonly session: string;
  /** The number of the line in its file, from 0. */
  readonly index: number;
  readonly role: TurnRole;
  readonly text: string;
  readonly tools: readonly ToolCall[];
  readonly at: string | null;
}

/** The turns of a file: a line for each, or a document with `messages`. `tell` hears of lines that cannot be read. */
export async function* turnsOf(
  file: SourceFile,
  tell: (problem: string) => void,
): AsyncGenerator<HostTurn | null> {
  let session = basename(file.path).replace(/\.jsonl?$/i, '');
  let index = -1;
  for await (const line of recordsOf(file, tell)) {
    index += 1;
    if (!isObject(line)) {
      yield null;
      continue;
    }
    session = sessionOf(line) ?? session;
    const turn = turnOf(line);
    yield turn === null ? null : { session, index, ...turn };
  }
}

async function* recordsOf(file: SourceFile, tell: (problem: string) => void): AsyncGenerator<unknown> {
  if (/\.jsonl$/i.test(file.path)) {
    yield* lineValues(file, tell);
    return;
  }
  const document = await documentOf(file);
  if (!isObject(document)) return;
  const { messages, ...head } = document;
  for (const message of objectsOf(messages)) yield { sessionId: head['sessionId'], ...message };
}

function sessionOf(line: Json): string | null {
  const payload = isObject(line['payload']) ? line['payload'] : {};
  const named = line['type'] === 'session_meta' ? payload['id'] : line['sessionId'];
  const session = textIn(named);
  return session === '' ? null : session;
}

type Said = Pick<HostTurn, 'role' | 'text' | 'tools' | 'at'>;

/** A line of Claude Code and its like, of Codex, or of Gemini CLI; null for one that says nothing. */
function turnOf(line: Json): Said | null {
  const at = instantOf(line['timestamp']);
  if (line['isSidechain'] === true || line['isMeta'] === true) return null;
  const { message, payload } = line;
  if (isObject(message)) {
    const role = textIn(message['role']) ?? textIn(line['type']);
    return said(role, message['content'], toolsIn(message['content'], 'tool_use', 'input'), at);
  }
  if (isObject(payload)) {
    const { type, role, content, name } = payload;
    if (type === 'message') return said(textIn(role), content, [], at);
    const isCall = type === 'function_call' || type === 'custom_tool_call';
    const asked = payload['arguments'] ?? payload['input'];
    return isCall ? said('assistant', '', [callOf(name, asked)], at) : null;
  }
  if (line['type'] !== 'user' && line['type'] !== 'gemini') return null;
  const calls = objectsOf(line['toolCalls']).map(({ name, args }) => callOf(name, args));
  return said(line['type'] === 'gemini' ? 'assistant' : 'user', line['content'], calls, at);
}

const ROLES: Readonly<Record<string, TurnRole>> = {
  ...{ user: 'user', assistant: 'assistant', system: 'system', developer: 'system' },
};

function said(
  role: string | null,
  content: unknown,
  tools: readonly ToolCall[],
  at: string | null,
): Said | null {
  const parts = textIn(content) ?? textsOf(Array.isArray(content) ? content : [content]).join('\n');
  const text = utf8Prefix(parts.toWellFormed().trim(), TEXT_BYTES_MAX);
  const kept = tools.slice(0, TOOL_CALLS_MAX);
  if (text === '' && kept.length === 0) return null;
  const calls = kept.map(({ tool, brief }) => `${tool}: ${brief}`).join('; ');
  return {
    role: ROLES[role ?? ''] ?? 'other',
    text: text === '' ? `[tool calls] ${calls}` : text,
    tools: kept,
    at,
  };
}

const toolsIn = (content: unknown, type: string, input: string): ToolCall[] =>
  objectsOf(content).flatMap((part) => (part['type'] === type ? [callOf(part['name'], part[input])] : []));

/** A call of a tool, and the beginning of what it was given. */
function callOf(name: unknown, input: unknown): ToolCall {
  const given = typeof input === 'string' ? input : (JSON.stringify(input) ?? '');
  const brief = given.slice(0, TOOL_BRIEF_LENGTH_MAX).toWellFormed();
  const tool = utf8Prefix(oneLine(textIn(name) ?? ''), TAG_BYTES_MAX).trim();
  return { tool: tool === '' ? 'unknown' : tool, brief };
}

/** What a line is known by, whatever else stands in it (reference-gaps §4). */
export const normalisedTurn = ({ session, at, role, text, tools }: HostTurn): string =>
  [
    session,
    at ?? '',
    role,
    text,
    tools.map(({ tool, brief }) => `${tool}\u001f${brief}\u001e`).join(''),
  ].join('\0');
