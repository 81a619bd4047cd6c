import type { Conversation } from '../conversation.js';
import type { SourceFile } from '../source-file.js';
import type { Json } from '../text-of.js';

export const FORMATS = [
  'claude',
  'chatgpt',
  'slack',
  'claude-code',
  'codex',
  'gemini-cli',
  'opencode',
] as const;
export type FormatName = (typeof FORMATS)[number];

/** The beginning of a file. */
export interface Head {
  readonly path: string;
  readonly text: string;
  /** Its first lines that are JSON objects. */
  readonly lines: readonly Json[];
}

/** Reads the conversations of a file; what cannot be read is told. Throws UnreadableError where nothing can be. */
export type Reader = (file: SourceFile, tell: (problem: string) => void) => AsyncIterable<Conversation>;

/** A format whose files are conversations, or lists of them. */
export interface FileFormat {
  readonly name: FormatName;
  readonly isOf: (head: Head) => boolean;
  readonly read: Reader;
}

/** What belongs together: files of one format, or of a group of it. */
export interface Source {
  readonly format: FormatName;
  /** Bytes of its files. */
  readonly size: number;
  readonly path: string;
  readonly read: (tell: (path: string, problem: string) => void) => AsyncIterable<Conversation>;
}

/** What is looked for, in the words of an error. */
export const LOOKED_FOR = [
  'an export of Claude (conversations.json, or a line for each conversation)',
  'of ChatGPT (conversations.json)',
  'or of Slack (a folder for each channel), as a folder, a file or a zip archive;',
  'sessions of Claude Code (~/.claude/projects/**/*.jsonl),',
  'Codex (~/.codex/sessions/**/rollout-*.jsonl),',
  'Gemini CLI (~/.gemini/tmp/**/chats/session-*.json)',
  'and OpenCode (~/.local/share/opencode/storage, or "opencode export")',
].join(' ');
