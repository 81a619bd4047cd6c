import { basename } from 'node:path';
import { type Conversation, Draft, instantOf } from '../conversation.js';
import type { SourceFile } from '../source-file.js';
import { bytesOf, documentOf, isObject, type Json, lineValues, objectsOf, textIn } from '../text-of.js';
import { textsOf } from './exports.js';
import type { FileFormat } from './format.js';

const stemOf = (path: string): string => basename(path).replace(/\.jsonl?$/i, '');

/** Lines that Claude Code writes about a session; one file is one session, and those of its helpers are left out. */
export const claudeCodeSession: FileFormat = {
  name: 'claude-code',
  isOf: ({ text, lines }) =>
    lines.some(
      (line) => textIn(line['sessionId']) !== null && (isObject(line['message']) || 'uuid' in line),
    ) ||
    (text.startsWith('{') && /"sessionId"\s*:/.test(text) && /"(parentUuid|isSidechain)"\s*:/.test(text)),
  async *read(file, tell) {
    const draft = new Draft(stemOf(file.path), file.path);
    for await (const line of lineValues(file, tell)) if (isObject(line)) addClaudeCode(draft, line);
    yield draft.done();
  },
};

function addClaudeCode(draft: Draft, line: Json): void {
  if (line['type'] === 'summary') draft.name(textIn(line['summary']));
  const turn = claudeCodeTurn(line);
  if (turn !== null) draft.add(turn.role, turn.text, instantOf(line['timestamp']));
}

/** What a line of Claude Code says; null for tools, notes of the program, and helpers. */
export function claudeCodeTurn(line: Json): { readonly role: string; readonly text: string } | null {
  const { message } = line;
  if (!isObject(message) || line['isSidechain'] === true || line['isMeta'] === true) return null;
  const role = textIn(message['role']) ?? textIn(line['type']);
  if (role !== 'user' && role !== 'assistant') return null;
  const { content } = message;
  const text = textIn(content) ?? textsOf(content).join('\n');
  return /^<(command-|local-command|system-reminder)/.test(text) ? null : { role, text };
}

/** Texts that Codex puts before those of its user. */
const CODEX_CONTEXT =
  /^\s*(<(environment_context|user_instructions|permissions|INSTRUCTIONS|turn_aborted|skill)|# AGENTS\.md instructions)/i;

/** Lines that Codex writes about a session, in the present and in the first form. */
export const codexSession: FileFormat = {
  name: 'codex',
  isOf: ({ lines }) =>
    lines.some(({ type }) => type === 'session_meta' || type === 'response_item') ||
    (isObject(lines[0]) && textIn(lines[0]['id']) !== null && 'instructions' in lines[0]),
  async *read(file, tell) {
    let draft: Draft | null = null;
    for await (const line of lineValues(file, tell)) {
      if (!isObject(line)) continue;
      const payload: Json = isObject(line['payload']) ? line['payload'] : line;
      const named =
        line['type'] === 'session_meta' || line['type'] === undefined ? textIn(payload['id']) : null;
      draft ??= new Draft(named ?? stemOf(file.path), file.path);
      if (payload['type'] !== 'message') continue;
      const role = textIn(payload['role']);
      const text = textsOf(payload['content']).join('\n');
      if ((role !== 'user' && role !== 'assistant') || CODEX_CONTEXT.test(text)) continue;
      draft.add(role, text, instantOf(line['timestamp']));
    }
    if (draft !== null) yield draft.done();
  },
};

/** Sessions of Gemini CLI: one document, or since 2026 a line for each record. */
export const geminiSession: FileFormat = {
  name: 'gemini-cli',
  isOf: ({ text }) => /"projectHash"\s*:/.test(text) && /"sessionId"\s*:/.test(text),
  async *read(file, tell) {
    const { head, messages } = await geminiRecords(file, tell);
    const draft = new Draft(
      textIn(head['sessionId']) ?? stemOf(file.path),
      file.path,
      textIn(head['summary']),
    );
    for (const message of messages) {
      const role = message['type'] === 'gemini' ? 'assistant' : textIn(message['type']);
      if (role !== 'user' && role !== 'assistant') continue;
      const { content } = message;
      const text = textIn(content) ?? textsOf(Array.isArray(content) ? content : [content]).join('\n');
      draft.add(role, text, instantOf(message['timestamp']));
    }
    yield draft.done();
  },
};

async function geminiRecords(file: SourceFile, tell: (problem: string) => void) {
  if (!/\.jsonl$/i.test(file.path)) {
    const document = await documentOf(file);
    const head = isObject(document) ? document : {};
    return { head, messages: objectsOf(head['messages']) };
  }
  let head: Json = {};
  // A record with the id of an earlier one replaces it.
  const messages = new Map<string, Json>();
  for await (const record of lineValues(file, tell)) {
    if (!isObject(record)) continue;
    const id = textIn(record['id']);
    if (textIn(record['sessionId']) !== null) head = { ...head, ...record };
    else if (isObject(record['$set'])) head = { ...head, ...record['$set'] };
    else if (typeof record['$rewindTo'] === 'string') rewind(messages, record['$rewindTo']);
    else if (id !== null) messages.set(id, record);
  }
  return { head, messages: [...messages.values()] };
}

function rewind(messages: Map<string, Json>, to: string): void {
  let isLater = !messages.has(to);
  for (const id of [...messages.keys()]) {
    if (id === to) isLater = true;
    if (isLater) messages.delete(id);
  }
}

/** A session that `opencode export` wrote. */
export const opencodeExport: FileFormat = {
  name: 'opencode',
  isOf: ({ text }) => /^\s*\{\s*"info"\s*:\s*\{/.test(text) && /"(projectID|directory)"\s*:/.test(text),
  async *read(file) {
    const document = await documentOf(file);
    if (isObject(document))
      yield opencodeConversation(document['info'], objectsOf(document['messages']), file.path);
  },
};

/** A session of OpenCode from what it knows of it, and its messages with their parts, in order. */
export function opencodeConversation(info: unknown, messages: readonly Json[], file: string): Conversation {
  const session = isObject(info) ? info : {};
  const draft = new Draft(textIn(session['id']) ?? stemOf(file), file, textIn(session['title']));
  for (const { info: about, parts } of messages) {
    const { role, time } = isObject(about) ? about : ({} as Json);
    if (role !== 'user' && role !== 'assistant') continue;
    const shown = objectsOf(parts).filter((part) => part['synthetic'] !== true && part['ignored'] !== true);
    draft.add(role, textsOf(shown).join('\n'), instantOf(isObject(time) ? time['created'] : null));
  }
  return draft.done();
}

/** The beginning of a database of OpenCode, which this program does not read. */
export const isSqlite = async (file: SourceFile): Promise<boolean> =>
  (await bytesOf(file, 16)).toString('latin1') === 'SQLite format 3\0';
