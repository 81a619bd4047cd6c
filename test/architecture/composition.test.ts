import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SourceFile, sourceFiles } from './source-files.js';

/**
 * Where a node is composed, each part is made from parts that exist. The compiler refuses every use of a constant or field
 * before its value except in a closure, so an earlier mention of its name is a closure over a part that comes later.
 */

const COMPOSITION = /^node\/(runtime\/|mesh\/(mesh-(node|host|peers)|members-on-disk)\.ts$)/;

/** A function or a method, as its formatted lines. */
interface Body {
  readonly name: string;
  readonly text: string;
}

/** The functions of a file's top level and the methods of its classes; the formatter puts their ends where they begin. */
function bodiesOf(code: string): Body[] {
  const starts =
    /^( {2})?(?!\s|import|interface|type|\}|\*)(?:export |async |private |static )*(?:function )?([#\w]+)[(<].*\{$|^()(?:export )?const (\w+) = .*=> \{$/gm;
  return [...code.matchAll(starts)].map((match) => {
    const indent = match[1] ?? '';
    const end = code.indexOf(`\n${indent}}`, match.index);
    return { name: match[2] ?? match[4]!, text: code.slice(match.index, end) };
  });
}

const mentions = (name: string, text: string): boolean =>
  new RegExp(`(?<![.#\\w'])${name}\\b(?!\\s*[:'])`).test(text);

/** Constants and variables that a closure before their declaration names, and variables that are set after it. */
function laterConstants({ name, text }: Body): string[] {
  const declared = /^(\s+)(?:const|let) (?:\{([^}=]*)\}|\[([^\]=]*)\]|(\w+))(?:: [^=;]+)?( =|;)/gm;
  return [...text.matchAll(declared)].flatMap((match) => {
    const names = (match[2] ?? match[3] ?? match[4]!)
      .split(',')
      .map((each) => each.split(':').at(-1)!.trim());
    const before = text.slice(0, match.index);
    // A block that has ended has constants of its own.
    const open = before.split('\n').filter((line) => !isInEndedBlock(line, match[1]!.length));
    return names
      .filter((each) => each !== '' && mentions(each, open.join('\n')))
      .map((each) => `${name}: ${each}`);
  });
}

/** True for a line that is deeper than the declaration and declares something itself. */
const isInEndedBlock = (line: string, depth: number): boolean =>
  /^\s*(const|let) /.test(line) && line.search(/\S/) > depth;

/** Fields that a closure of the constructor names before they have their value. */
function laterFields(code: string): string[] {
  const empty = [
    ...code.matchAll(/^ {2}(?:private |readonly )*(#?\w+)(?:!: .*;|: .*\| null = null;)$/gm),
  ].map((match) => match[1]!);
  return bodiesOf(code)
    .filter(({ name }) => name === 'constructor')
    .flatMap(({ text }) => {
      const named = [...text.matchAll(/\bthis\.(#?\w+)\b(?! = )/g)];
      return named
        .filter(({ 1: field, index }) => {
          const set = text.search(new RegExp(`this\\.${field!}\\b = `));
          return set > index || (set < 0 && empty.includes(field!));
        })
        .map(({ 1: field }) => `constructor: this.${field!}`);
    });
}

function laterParts(code: string): string[] {
  const plain = code.replaceAll(/'[^'\n]*'/g, "''");
  return [...bodiesOf(plain).flatMap(laterConstants), ...laterFields(plain)];
}

const files: readonly SourceFile[] = sourceFiles('node').filter(({ path }) => COMPOSITION.test(path));

describe('the composition of a node', () => {
  it('has no closure over a part that is made later', () => {
    assert.ok(files.length > 25);
    const found = files.flatMap(({ path, code }) => laterParts(code).map((each) => `${path} ${each}`));
    assert.deepEqual(found, []);
  });

  it('is checked by a search that finds such closures', () => {
    const planted = `
export function openParts(settings: Settings): Parts {
  const storage = new Storage({ suspected: () => mesh.suspected(), mesh: null });
  const mesh = new Mesh(storage);
  let late: Late | null = null;
  return { storage, mesh, late };
}

class Host {
  readonly #parts: Parts;
  readonly routes: Routes;
  #mesh: Mesh | null = null;
  readonly #listener: Listener;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.routes = routesOf({
      listening: () => this.#listener.listening,
      status: () => this.#mesh?.status() ?? this.#parts.status,
    });
    this.#listener = new Listener(this.routes);
  }
}
`;
    assert.deepEqual(laterParts(planted), [
      'openParts: mesh',
      'constructor: this.#listener',
      'constructor: this.#mesh',
    ]);
  });
});
