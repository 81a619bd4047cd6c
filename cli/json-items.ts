import { fail, ok, type Result } from '../protocol/base/result.js';

/** One element of a list of the document, as its JSON text. */
export interface JsonItem {
  readonly list: string;
  readonly text: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const KEY = /^\s*("(?:[^"\\]|\\.)*")\s*:\s*$/;

/**
 * Splits a JSON document while it arrives: into the elements of the arrays with the given names in the outermost
 * object, or of an outermost array. Everything else is checked to be JSON and skipped. Only one element or member is
 * held at a time, of at most `charactersMax`.
 */
export class JsonItems {
  private place: 'start' | 'members' | 'items' | 'end' = 'start';
  /** The list whose items are being read; null for an outermost array, whose items belong to the first list. */
  private list: string | null = null;
  private depth = 0;
  private inText = false;
  private escaped = false;
  /** The received part of the incomplete element or member. */
  private pending = '';
  /** True when the last token was a comma. */
  private separated = false;
  /** True when the last value was a list. */
  private listEnded = false;
  /** True when one of the lists was found. */
  private listSeen = false;

  constructor(
    private readonly lists: readonly string[],
    private readonly charactersMax: number,
  ) {}

  /** The items that this chunk completes. MALFORMED_BODY and PAYLOAD_TOO_LARGE end the document. */
  take(piece: string): Result<JsonItem[]> {
    const items: JsonItem[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.inText) {
        if (this.escaped) this.escaped = false;
        else if (code === BACKSLASH) this.escaped = true;
        else if (code === QUOTE) this.inText = false;
        continue;
      }
      if (code === QUOTE) this.inText = true;
      const opens = code === OPEN_OBJECT || code === OPEN_ARRAY;
      const closes = code === CLOSE_OBJECT || code === CLOSE_ARRAY;
      const outer = this.depth === 0 && (this.place === 'items' || this.place === 'members');
      if (outer && (code === COMMA || closes)) {
        const ended = this.endOne(this.pending + piece.slice(from, at), code, items);
        if (!ended) return malformed();
        this.pending = '';
        from = at + 1;
      } else if (this.place === 'start' && opens) {
        if ((this.pending + piece.slice(from, at)).trim() !== '') return malformed();
        this.place = code === OPEN_OBJECT ? 'members' : 'items';
        this.pending = '';
        from = at + 1;
      } else if (
        outer &&
        this.place === 'members' &&
        code === OPEN_ARRAY &&
        this.opensList(piece.slice(from, at))
      ) {
        this.pending = '';
        from = at + 1;
      } else if (opens) this.depth += 1;
      else if (closes) this.depth -= 1;
      if (this.depth < 0) return malformed();
    }
    this.pending += piece.slice(from);
    if (this.pending.length > this.charactersMax) {
      return fail('PAYLOAD_TOO_LARGE', `one memory is larger than ${this.charactersMax} characters`);
    }
    return ok(items);
  }

  /** MALFORMED_BODY when the document is not complete, or has no list of the given names. */
  end(): Result<null> {
    if (this.place !== 'end' || this.pending.trim() !== '') return malformed();
    if (this.listSeen) return ok(null);
    return fail(
      'MALFORMED_BODY',
      `the input holds no list ${this.lists.map((name) => `"${name}"`).join(' or ')}`,
    );
  }

  private opensList(rest: string): boolean {
    const key = KEY.exec(this.pending + rest)?.[1];
    const name = key === undefined ? undefined : (parsed(key) as string | undefined);
    if (name === undefined || !this.lists.includes(name)) return false;
    this.place = 'items';
    this.list = name;
    this.separated = false;
    return true;
  }

  /** Completes an element or member, and at a bracket its container; false when it is not valid there. */
  private endOne(text: string, code: number, items: JsonItem[]): boolean {
    const empty = text.trim() === '';
    const afterList = this.listEnded;
    this.listEnded = false;
    // The text between two brackets may be empty, but not next to a comma.
    if (empty && !afterList && (code === COMMA || this.separated)) return false;
    this.separated = code === COMMA;
    if (this.place === 'items') {
      if (code === CLOSE_OBJECT) return false;
      if (!empty) items.push({ list: this.list ?? this.lists[0]!, text });
      if (code === CLOSE_ARRAY) this.leaveList();
      return true;
    }
    if (code === CLOSE_ARRAY) return false;
    if (code === CLOSE_OBJECT) this.place = 'end';
    // A list that was split leaves no text of its member.
    if (afterList || empty) return empty;
    return parsed(`{${text}}`) !== undefined;
  }

  private leaveList(): void {
    this.listSeen = true;
    this.place = this.list === null ? 'end' : 'members';
    this.listEnded = this.list !== null;
    this.list = null;
    this.separated = false;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const malformed = () => fail('MALFORMED_BODY', 'the input is not one JSON document');
