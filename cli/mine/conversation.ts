import { CONTENT_BYTES_MAX } from '../../protocol/base/limits.js';
import { utf8Bytes, utf8Prefix } from '../../protocol/base/utf8.js';

/** A conversation as one memory. */
export interface Conversation {
  readonly id: string;
  /** The file in which it was found. */
  readonly file: string;
  readonly title: string;
  /** `[role]: text`, as much as a memory holds. */
  readonly content: string;
  /** True where the content is only its beginning. */
  readonly cut: boolean;
  readonly messages: number;
  readonly startedAt: string | null;
}

export const TITLE_BYTES_MAX = 100;

/** Gathers the messages of a conversation; what no memory holds is only counted. */
export class Draft {
  messages = 0;
  private readonly lines: string[] = [];
  private bytes = 0;
  private cut = false;
  private firstOfUser: string | null = null;
  private startedAt: string | null = null;

  constructor(
    readonly id: string,
    private readonly file: string,
    private title: string | null = null,
  ) {}

  /** Names the conversation, unless it has a name. */
  name(title: string | null): void {
    this.title ??= title === null || title.trim() === '' ? null : title;
  }

  add(role: string, text: string, at: string | null = null): void {
    const said = cleaned(text).trim();
    if (said === '') return;
    this.messages += 1;
    this.startedAt ??= at;
    if (role === 'user' || role === 'human') this.firstOfUser ??= said;
    const room = CONTENT_BYTES_MAX - this.bytes;
    const line = `${this.lines.length === 0 ? '' : '\n'}[${oneLine(role)}]: ${said}`;
    const kept = this.cut ? '' : utf8Prefix(line, room);
    if (kept.length < line.length) this.cut = true;
    if (kept.trim() === '') return;
    this.lines.push(kept);
    this.bytes += utf8Bytes(kept);
  }

  done(): Conversation {
    const { id, file, messages, cut, startedAt } = this;
    const named = [this.title, this.firstOfUser]
      .map((text) => oneLine(text ?? ''))
      .find((text) => text !== '');
    const title = utf8Prefix(named ?? `conversation ${oneLine(id)}`, TITLE_BYTES_MAX).trim();
    return { id, file, title, content: this.lines.join(''), cut, messages, startedAt };
  }
}

/** The text without characters that no memory holds. */
export const cleaned = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/** The text on one line. */
export const oneLine = (text: string): string => cleaned(text).replace(/\s+/g, ' ').trim();

/** An instant of a source, in seconds or milliseconds since 1970 or as text; null for anything else. */
export function instantOf(value: unknown): string | null {
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  const ms =
    typeof number === 'number' ? (number > 1e11 ? number : number * 1000) : Date.parse(String(value));
  return Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : null;
}
