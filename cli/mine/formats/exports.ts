import { type Conversation, Draft, instantOf } from '../conversation.js';
import type { SourceFile } from '../source-file.js';
import {
  bytesOf,
  documentOf,
  isObject,
  type Json,
  jsonOf,
  lineValues,
  listValues,
  objectsOf,
  textIn,
  UNREADABLE,
} from '../text-of.js';
import type { FileFormat } from './format.js';

/** Exports of Claude: conversations with `chat_messages`. */
export const claudeExport: FileFormat = {
  name: 'claude',
  isOf: ({ text }) => /"chat_messages"\s*:\s*\[/.test(text),
  read: (file, tell) => conversationsOf(file, tell, claudeConversation),
};

/** Exports of ChatGPT: conversations with a tree of messages. */
export const chatgptExport: FileFormat = {
  name: 'chatgpt',
  isOf: ({ text }) => /"mapping"\s*:\s*\{/.test(text),
  read: (file, tell) => conversationsOf(file, tell, chatgptConversation),
};

type Read = (value: Json, id: string, file: string) => Conversation;

async function* conversationsOf(
  file: SourceFile,
  tell: (problem: string) => void,
  read: Read,
): AsyncGenerator<Conversation> {
  let count = 0;
  for await (const value of valuesOf(file, tell)) {
    count += 1;
    if (value === UNREADABLE) continue;
    if (isObject(value)) yield read(value, `${file.path}#${count}`, file.path);
    else tell(`conversation ${count} is no JSON object: left out`);
  }
}

/** The conversations of a list, of lines, or the only one. */
async function* valuesOf(file: SourceFile, tell: (problem: string) => void): AsyncGenerator<unknown> {
  const start = (await bytesOf(file, 65_536))
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (start.startsWith('[') || /^\{\s*"conversations"\s*:\s*\[/.test(start)) {
    yield* listValues(file, { lists: ['conversations'], what: 'conversation' }, tell);
    return;
  }
  const first = start.split('\n', 1)[0]!;
  // A line that is longer than the beginning is one conversation in it.
  if (isWhole(first) || first.length === start.length) yield* lineValues(file, tell);
  else yield await documentOf(file);
}

function isWhole(line: string): boolean {
  try {
    return isObject(jsonOf(line));
  } catch {
    return false;
  }
}

function claudeConversation(value: Json, id: string, file: string): Conversation {
  const draft = new Draft(textIn(value['uuid']) ?? id, file, textIn(value['name']));
  for (const message of objectsOf(value['chat_messages'])) {
    const role = textIn(message['sender']) ?? textIn(message['role']) ?? 'unknown';
    const { content, text } = message;
    const parts = textIn(content) ?? textsOf(content).join('\n');
    draft.add(role, parts === '' ? (textIn(text) ?? '') : parts, instantOf(message['created_at']));
  }
  return draft.done();
}

/** The texts among parts of a message. */
export const textsOf = (parts: unknown): string[] =>
  objectsOf(parts).flatMap(({ type, text }) =>
    typeof text === 'string' && (type === undefined || /^(input_|output_)?text$/.test(String(type)))
      ? [text]
      : [],
  );

function chatgptConversation(value: Json, id: string, file: string): Conversation {
  const named = textIn(value['conversation_id']) ?? textIn(value['id']);
  const draft = new Draft(named ?? id, file, textIn(value['title']));
  for (const { author, content, create_time, metadata } of branchOf(value)) {
    const role = isObject(author) ? textIn(author['role']) : null;
    const isHidden = isObject(metadata) && metadata['is_visually_hidden_from_conversation'] === true;
    if ((role !== 'user' && role !== 'assistant') || isHidden || !isObject(content)) continue;
    const { content_type: type, parts } = content;
    if (type !== undefined && type !== 'text' && type !== 'multimodal_text') continue;
    const texts = Array.isArray(parts) ? parts.filter((part) => typeof part === 'string') : [];
    draft.add(role, texts.join('\n'), instantOf(create_time));
  }
  return draft.done();
}

/** The messages of the branch that was shown last, in order. */
function branchOf(value: Json): readonly Json[] {
  const mapping = isObject(value['mapping']) ? value['mapping'] : {};
  const nodes = new Map(
    Object.entries(mapping).filter((entry): entry is [string, Json] => isObject(entry[1])),
  );
  const branch: Json[] = [];
  const seen = new Set<string>();
  let at = textIn(value['current_node']);
  while (at !== null && !seen.has(at)) {
    seen.add(at);
    const node: Json | undefined = nodes.get(at);
    if (isObject(node?.['message'])) branch.unshift(node['message']);
    at = textIn(node?.['parent']);
  }
  if (branch.length > 0) return branch;
  const messages = [...nodes.values()].flatMap(({ message }) => (isObject(message) ? [message] : []));
  const timeOf = (message: Json) => Number(message['create_time'] ?? 0);
  return messages.sort((left, right) => timeOf(left) - timeOf(right));
}
