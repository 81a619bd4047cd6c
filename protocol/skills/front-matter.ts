import { FRONT_MATTER_DEPTH_MAX } from './limits.js';

/** The members of a front matter, or what is wrong with it. */
export type FrontMatter =
  | { readonly ok: true; readonly members: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads a front matter: the part of YAML 1.2 that describes data. Anchors, tags, directives and quoted texts over several lines
 * are refused, because a reader that guesses gives a skill another meaning.
 */
export function readFrontMatter(text: string): FrontMatter {
  const reader = new Reader(text);
  try {
    return { ok: true, members: reader.document() };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, problem: error.message };
    throw error;
  }
}

class Unreadable extends Error {}

type Values = Record<string, unknown>;

const KEY =
  /^(?<name>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[A-Za-z0-9_$.](?:[^:#"'{}[\],]|:(?=\S)|(?<=\S)#)*?):(?:[ \t]+(?<rest>.*))?$/u;
const ITEM = /^-(?:(?<gap>[ \t]+)(?<rest>.*))?$/u;
const BLOCK = /^(?<style>[|>])(?<chomp>[+-]?)[ \t]*(?:#.*)?$/u;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...([
    ['', null],
    ['~', null],
    ['null', null],
    ['Null', null],
    ['NULL', null],
  ] as const),
  ...([
    ['true', true],
    ['True', true],
    ['TRUE', true],
  ] as const),
  ...([
    ['false', false],
    ['False', false],
    ['FALSE', false],
  ] as const),
]);

/** Lines of one value in brackets or braces. */
const FLOW_LINES_MAX = 500;

/** Where a value stands: the indent and depth of its key or dash. */
interface Place {
  readonly indent: number;
  readonly depth: number;
  readonly isItem: boolean;
}

class Reader {
  private readonly lines: string[];
  private at = 0;

  constructor(text: string) {
    this.lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  }

  document(): Values {
    const indent = this.nextIndent();
    if (indent === null) return {};
    const value = this.block(indent, 0);
    if (this.nextIndent() !== null) throw this.wrong('is indented less than the first line');
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new Unreadable('must be a list of "key: value" lines');
    return value as Values;
  }

  private wrong(problem: string): Unreadable {
    // The first line of the file is the line of three dashes.
    return new Unreadable(`line ${Math.min(this.at, this.lines.length - 1) + 2} ${problem}`);
  }

  /** Skips blank lines and comments; the indent of the next line, null at the end. */
  private nextIndent(): number | null {
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at]!;
      if (/^\s*(?:#|$)/.test(line)) continue;
      const indent = indentOf(line);
      if (line[indent] === '\t') throw this.wrong('is indented with a tab; use spaces');
      return indent;
    }
    return null;
  }

  private block(indent: number, depth: number): unknown {
    if (depth > FRONT_MATTER_DEPTH_MAX) throw this.wrong(`lies deeper than ${FRONT_MATTER_DEPTH_MAX} levels`);
    const text = this.lines[this.at]!.slice(indent);
    if (ITEM.test(text)) return this.sequence(indent, depth);
    return this.mapping(indent, depth);
  }

  private mapping(indent: number, depth: number): Values {
    const members: Values = {};
    for (let next = this.nextIndent(); next !== null && next >= indent; next = this.nextIndent()) {
      if (next > indent) throw this.wrong('is indented more than the lines around it');
      const text = this.lines[this.at]!.slice(indent);
      if (ITEM.test(text)) throw this.wrong('begins a list among "key: value" lines');
      const found = KEY.exec(text)?.groups;
      if (found === undefined) throw this.wrong('is no "key: value"');
      const key = this.keyOf(found['name']!);
      if (Object.hasOwn(members, key)) throw this.wrong(`says "${key}" again`);
      members[key] = this.value(found['rest'] ?? '', { indent, depth, isItem: false });
    }
    return members;
  }

  private keyOf(name: string): string {
    const key = /^["']/.test(name) ? (new Flow(name, 0).scalar() as string) : name.trim();
    if (key === '__proto__' || key === '<<') throw this.wrong(`has the key "${key}", which is not taken`);
    return key;
  }

  private sequence(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (let next = this.nextIndent(); next !== null && next >= indent; next = this.nextIndent()) {
      if (next > indent) throw this.wrong('is indented more than the lines around it');
      const found = ITEM.exec(this.lines[this.at]!.slice(indent));
      if (found === null) break;
      const { gap = '', rest = '' } = found.groups!;
      if (ITEM.test(rest) || KEY.test(rest)) {
        // An item that is itself a list or a mapping begins on this line.
        const inner = indent + 1 + gap.length;
        this.lines[this.at] = ' '.repeat(inner) + rest;
        items.push(this.block(inner, depth + 1));
      } else {
        items.push(this.value(rest, { indent, depth, isItem: true }));
      }
    }
    return items;
  }

  /** The value that begins with `rest`, after the key or the dash of the current line. */
  private value(rest: string, place: Place): unknown {
    const text = rest.trim();
    if (text === '' || text.startsWith('#')) return this.nested(place);
    const block = BLOCK.exec(text)?.groups;
    if (block !== undefined) return this.blockText(block['style']!, block['chomp']!, place.indent);
    if (/^["'[{]/.test(text)) return this.flow(rest, place.depth);
    if (/^(?:[&*!|>%@`,\]}]|\?(?:\s|$)|- )/.test(text))
      throw this.wrong(`has a value that begins with "${text[0]}": put it into quotes`);
    return this.plain(text, place.indent);
  }

  /** The lines below a key or a dash without a value; the items of a key's list may stand under the key itself. */
  private nested({ indent, depth, isItem }: Place): unknown {
    this.at += 1;
    const next = this.nextIndent();
    if (next === null || next < indent) return null;
    const isList = next === indent && !isItem && ITEM.test(this.lines[this.at]!.slice(indent));
    return next > indent || isList ? this.block(next, depth + 1) : null;
  }

  private plain(first: string, indent: number): unknown {
    const parts = [withoutComment(first)];
    this.at += 1;
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at]!;
      if (/^\s*(?:#|$)/.test(line) || indentOf(line) <= indent) break;
      parts.push(withoutComment(line.trim()));
    }
    const text = parts.join(' ');
    if (/:(?:\s|$)/.test(text)) {
      this.at -= 1;
      throw this.wrong('has a value with a colon and a space: put it into quotes');
    }
    return parts.length === 1 ? resolved(text) : text;
  }

  /** The lines below that are indented more, kept (`|`) or folded (`>`). */
  private blockText(style: string, chomp: string, parent: number): string {
    this.at += 1;
    const lines: string[] = [];
    let indent: number | null = null;
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at]!;
      if (line.trim() === '') {
        lines.push(indent === null ? '' : line.slice(indent));
        continue;
      }
      const own = indentOf(line);
      if (own <= parent) break;
      indent ??= own;
      if (own < indent) throw this.wrong('is indented less than the text that it belongs to');
      lines.push(line.slice(indent));
    }
    const end = lines.findLastIndex((line) => line.trim() !== '') + 1;
    const trailing = lines.length - end;
    const kept = lines.slice(0, end);
    const text = style === '|' ? kept.join('\n') : folded(kept);
    if (chomp === '-' || text === '') return text;
    return text + '\n'.repeat(chomp === '+' ? 1 + trailing : 1);
  }

  /** A quoted text, a list in brackets or a mapping in braces, which may go on over lines. */
  private flow(rest: string, depth: number): unknown {
    const line = this.lines[this.at]!;
    const begin = line.length - rest.length + (rest.length - rest.trimStart().length);
    const text = this.lines.slice(this.at, this.at + FLOW_LINES_MAX).join('\n');
    const flow = new Flow(text, begin);
    let value: unknown;
    try {
      value = flow.value(depth);
    } catch (error) {
      if (error instanceof Unreadable) throw this.wrong(error.message);
      throw error;
    }
    const ended = text.slice(0, flow.at).split('\n').length - 1;
    this.at += ended;
    const [after] = text.slice(flow.at).split('\n', 1);
    if (!/^[ \t]*(?:[ \t]#.*)?$/.test(after!)) throw this.wrong('has more text after its value');
    this.at += 1;
    return value;
  }
}

/** Values in the notation of JSON, in which texts need no quotes. */
class Flow {
  constructor(
    private readonly text: string,
    public at: number,
  ) {}

  value(depth: number): unknown {
    if (depth > FRONT_MATTER_DEPTH_MAX)
      throw new Unreadable(`lies deeper than ${FRONT_MATTER_DEPTH_MAX} levels`);
    this.space();
    const first = this.text[this.at];
    if (first === '[') return this.list(depth);
    return first === '{' ? this.mapping(depth) : this.scalar();
  }

  private space(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at += 1;
  }

  private ends(close: string): boolean {
    this.space();
    if (this.at >= this.text.length) throw new Unreadable(`begins a value that has no "${close}"`);
    if (this.text[this.at] !== close) return false;
    this.at += 1;
    return true;
  }

  private list(depth: number): unknown[] {
    this.at += 1;
    const items: unknown[] = [];
    while (!this.ends(']')) {
      if (items.length > 0) this.comma();
      if (this.ends(']')) break;
      items.push(this.value(depth + 1));
    }
    return items;
  }

  private mapping(depth: number): Values {
    this.at += 1;
    const members: Values = {};
    while (!this.ends('}')) {
      if (Object.keys(members).length > 0) this.comma();
      if (this.ends('}')) break;
      const key = String(this.scalar());
      if (key === '__proto__' || Object.hasOwn(members, key))
        throw new Unreadable(`says "${key}" again, or it is not taken`);
      this.space();
      if (this.text[this.at] !== ':') throw new Unreadable(`has no colon after "${key}"`);
      this.at += 1;
      members[key] = this.value(depth + 1);
    }
    return members;
  }

  private comma(): void {
    if (this.text[this.at] !== ',') throw new Unreadable('has no comma between two values');
    this.at += 1;
  }

  scalar(): unknown {
    this.space();
    const quote = this.text[this.at];
    if (quote === '"') return this.double();
    if (quote === "'") return this.single();
    const found = /^(?:[^,[\]{}:\n#"'&*!|>%@`]|:(?=[^\s,[\]{}])|(?<=\S)#)+/u.exec(
      this.text.slice(this.at, this.at + 4096),
    );
    if (found === null) throw new Unreadable('has a value that must be in quotes');
    this.at += found[0].length;
    return resolved(found[0].trim());
  }

  private single(): string {
    const found = /^'((?:[^'\n]|'')*)'/u.exec(this.text.slice(this.at));
    if (found === null) throw new Unreadable('has a text in quotes that does not end on its line');
    this.at += found[0].length;
    return found[1]!.replaceAll("''", "'");
  }

  private double(): string {
    let end = this.at + 1;
    while (end < this.text.length && this.text[end] !== '"' && this.text[end] !== '\n')
      end += this.text[end] === '\\' ? 2 : 1;
    if (this.text[end] !== '"') throw new Unreadable('has a text in quotes that does not end on its line');
    const quoted = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    // A tab is the one control character that YAML takes and JSON does not.
    const json = quoted.replaceAll('\t', '\\t').replace(/\\x([0-9a-fA-F]{2})/g, '\\u00$1');
    try {
      return JSON.parse(json) as string;
    } catch {
      throw new Unreadable('has a text in quotes with an escape that is not taken');
    }
  }
}

const indentOf = (line: string): number => line.length - line.replace(/^ +/, '').length;

const withoutComment = (text: string): string => text.replace(/(?:^|[ \t])#.*$/u, '').trim();

function resolved(text: string): unknown {
  if (WORDS.has(text)) return WORDS.get(text);
  if (!NUMBER.test(text)) return text;
  const number = Number(text);
  // A number that would lose digits stays a text.
  const isExact = INTEGER.test(text) ? String(number) === text || number === 0 : Number.isFinite(number);
  return isExact ? number + 0 : text;
}

/** Lines as one text: a line break is a space, and blank lines are line breaks. */
function folded(lines: readonly string[]): string {
  let text = '';
  for (const [index, line] of lines.entries()) {
    const before = lines[index - 1];
    if (index === 0) text = line;
    else if (line === '') text += '\n';
    else if (before === '') text += line;
    else if (/^\s/.test(line) || /^\s/.test(before!)) text += `\n${line}`;
    else text += ` ${line}`;
  }
  return text;
}
