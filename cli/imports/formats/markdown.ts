import { readFrontMatter } from '../../../node/operations/skills/front-matter.js';
import { KINDS } from '../../../protocol/memory/memory.js';
import type { SourceFile } from '../../mine/source-file.js';
import { bytesOf, type Json, textIn, textOf } from '../../mine/text-of.js';
import type { ForeignFormat, SourceLink, SourceRow, Tell } from '../format.js';
import { listOf } from '../row-text.js';

export const MARKDOWN = /\.(md|markdown)$/i;

/** Notes in Markdown, each one memory. */
export const markdown: ForeignFormat = {
  name: 'markdown',
  isOf: ({ path }) => MARKDOWN.test(path),
  async *read(file, tell) {
    const note = await noteOf(file, tell);
    yield rowOf(file, note, file.path);
  },
};

/** Notes of basic-memory: their permalink names them wherever they lie. */
export const basicMemory: ForeignFormat = {
  name: 'basic-memory',
  isOf: ({ path, text }) => MARKDOWN.test(path) && /^---\r?\n(?:(?!---)[^\n]*\n)*?permalink:\s*\S/.test(text),
  async *read(file, tell) {
    const note = await noteOf(file, tell);
    const permalink = textIn(note.members['permalink']);
    const row = rowOf(file, note, permalink ?? file.path);
    yield permalink === null ? row : { ...row, names: [...row.names, permalink] };
  },
};

interface Note {
  readonly members: Json;
  readonly body: string;
}

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

async function noteOf(file: SourceFile, tell: Tell): Promise<Note> {
  const text = textOf(await bytesOf(file)).replace(/^\uFEFF/, '');
  const found = FRONT_MATTER.exec(text);
  if (found === null) return { members: {}, body: text };
  const read = await readFrontMatter(found[1]!);
  // A note is worth keeping without its members; its whole text then says what they were.
  if (!read.ok) tell(`its front matter is taken as text: ${read.problem}`, 'taken');
  return read.ok ? { members: read.members, body: text.slice(found[0].length) } : { members: {}, body: text };
}

function rowOf(file: SourceFile, { members, body }: Note, key: string): SourceRow {
  const folders = file.path.split('/');
  const name = folders.pop()!.replace(MARKDOWN, '');
  const heading = /^#[ \t]+(.+?)[ \t#]*$/m.exec(body)?.[1] ?? null;
  const title = textIn(members['title']) ?? heading ?? name;
  const kind = textIn(members['kind']);
  const isKind = kind !== null && (KINDS as readonly string[]).includes(kind);
  const { title: _title, tags, kind: _kind, ...others } = members;
  return {
    ...{ key, title, content: body, tags: listOf(tags), kind: isKind ? kind : null, place: folders },
    claims: isKind || kind === null ? others : { ...others, kind },
    from: file.path,
    names: [...new Set([title, name, file.path.replace(MARKDOWN, ''), ...listOf(members['aliases'])])],
    links: linksIn(body),
  };
}

const LISTED = /^\s*[-*]\s+([^[\]\n]{1,100}?)\s+\[\[([^[\]|#\n]{1,500})/;
const WIKI_LINK = /\[\[([^[\]|#\n]{1,500})(?:[|#][^[\]\n]*)?\]\]/g;

/** The notes that a note names: `[[name]]`, and `- relation [[name]]` as basic-memory writes it. */
function linksIn(body: string): SourceLink[] {
  return body.split('\n').flatMap((line) => {
    const relation = LISTED.exec(line)?.[1] ?? 'links to';
    return [...line.matchAll(WIKI_LINK)].map(([, to]) => ({ to: to!.trim(), relation }));
  });
}
