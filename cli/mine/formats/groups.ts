import { basename, dirname } from 'node:path/posix';
import { type Conversation, Draft, instantOf } from '../conversation.js';
import type { SourceFile } from '../source-file.js';
import { documentOf, isObject, type Json, objectsOf, textIn, UnreadableError } from '../text-of.js';
import type { Source } from './format.js';
import { opencodeConversation } from './sessions.js';

type Tell = (path: string, problem: string) => void;

const sizeOf = (files: readonly SourceFile[]) => files.reduce((sum, { size }) => sum + size, 0);

/** The files of each folder. */
function byFolder(files: readonly SourceFile[]): ReadonlyMap<string, readonly SourceFile[]> {
  const folders = new Map<string, SourceFile[]>();
  for (const file of files) {
    const known = folders.get(dirname(file.path));
    if (known === undefined) folders.set(dirname(file.path), [file]);
    else known.push(file);
  }
  return folders;
}

/** A document; null, and told, where it cannot be read. */
async function readable(file: SourceFile, tell: Tell): Promise<unknown> {
  try {
    return await documentOf(file);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    tell(file.path, error.message);
    return null;
  }
}

const DAY = /(?:^|\/)[^/]+\/\d{4}-\d\d-\d\d\.json$/;

/** The channels of a Slack export: folders with a file for each day. */
export function slackSources(files: readonly SourceFile[]): Source[] {
  const channels = byFolder(files.filter(({ path }) => DAY.test(path)));
  return [...channels].map(([folder, days]) => ({
    format: 'slack' as const,
    path: folder,
    size: sizeOf(days),
    async *read(tell) {
      const users = files.find(({ path }) => path === withName(dirname(folder), 'users.json'));
      const names = users === undefined ? new Map<string, string>() : await namesIn(users, tell);
      yield channelOf(folder, days, names, tell);
    },
  }));
}

const withName = (folder: string, name: string) => (folder === '.' ? name : `${folder}/${name}`);

async function namesIn(users: SourceFile, tell: Tell): Promise<ReadonlyMap<string, string>> {
  const rows = objectsOf(await readable(users, tell));
  return new Map(rows.map((user) => [String(user['id']), nameOf(user)]));
}

function nameOf(user: Json): string {
  const profile = isObject(user['profile']) ? user['profile'] : user;
  const names = [profile['display_name'], profile['real_name'], user['real_name'], user['name'], user['id']];
  return String(names.find((name) => typeof name === 'string' && name !== '') ?? 'unknown');
}

/** Messages that people wrote; the others tell who came and went. */
const WRITTEN = new Set([undefined, 'thread_broadcast', 'bot_message', 'me_message', 'file_share']);

async function channelOf(
  folder: string,
  days: readonly SourceFile[],
  names: ReadonlyMap<string, string>,
  tell: Tell,
): Promise<Conversation> {
  const draft = new Draft(basename(folder), folder, `#${basename(folder)}`);
  for (const day of [...days].sort((left, right) => (left.path < right.path ? -1 : 1))) {
    const messages = objectsOf(await readable(day, tell)).filter(
      ({ type, subtype }) => type === 'message' && WRITTEN.has(subtype as string | undefined),
    );
    messages.sort((left, right) => Number(left['ts']) - Number(right['ts']));
    for (const message of messages) {
      const { user, user_profile: profile, username } = message;
      const known = names.get(String(user)) ?? (isObject(profile) ? nameOf(profile) : textIn(username));
      draft.add(
        known ?? String(user ?? 'unknown'),
        plain(textIn(message['text']) ?? '', names),
        instantOf(message['ts']),
      );
    }
  }
  return draft.done();
}

/** The text without the marks of Slack for users, channels, addresses and characters. */
const plain = (text: string, names: ReadonlyMap<string, string>): string =>
  text
    .replace(
      /<@([A-Z0-9]+)(?:\|([^>]*))?>/g,
      (_, id: string, name?: string) => `@${names.get(id) ?? name ?? id}`,
    )
    .replace(/<#[A-Z0-9]+\|([^>]*)>/g, '#$1')
    .replace(/<((?:https?|mailto):[^|>]+)(?:\|([^>]*))?>/g, (_, url: string, label?: string) =>
      label === undefined || label === url ? url : `${label} (${url})`,
    )
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

const SESSION = /(?:^|\/)session\/(?:[^/]+\/)?[^/]+\.json$/;

/** The sessions in the storage of OpenCode: folders of sessions, of their messages, and of the parts of these. */
export function opencodeSources(files: readonly SourceFile[]): Source[] {
  const sessions = files.filter(({ path }) => SESSION.test(path));
  const of = (kind: string) =>
    byFolder(files.filter(({ path }) => basename(dirname(dirname(path))) === kind));
  const [messages, parts] = [of('message'), of('part')];
  if (messages.size === 0) return [];
  return sessions.map((file) => {
    const storage = file.path.slice(0, file.path.search(/(?:^|(?<=\/))session\//));
    const own = messages.get(`${storage}message/${basename(file.path, '.json')}`) ?? [];
    const partsOf = (id: string) => parts.get(`${storage}part/${id}`) ?? [];
    return {
      format: 'opencode' as const,
      path: file.path,
      size: sizeOf([file, ...own]),
      async *read(tell) {
        const info = await readable(file, tell);
        const read = await Promise.all(own.map(async (message) => messageOf(message, partsOf, tell)));
        const timeOf = ({ info: about }: Json) =>
          isObject(about) && isObject(about['time']) ? Number(about['time']['created']) : 0;
        read.sort((left, right) => timeOf(left) - timeOf(right));
        yield opencodeConversation(info, read, file.path);
      },
    };
  });
}

async function messageOf(
  file: SourceFile,
  partsOf: (id: string) => readonly SourceFile[],
  tell: Tell,
): Promise<Json> {
  const parts: unknown[] = [];
  // Ids of parts ascend with their time.
  for (const part of partsOf(basename(file.path, '.json'))) parts.push(await readable(part, tell));
  return { info: await readable(file, tell), parts };
}
