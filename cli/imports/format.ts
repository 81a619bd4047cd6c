import type { SourceFile } from '../mine/source-file.js';
import type { Json } from '../mine/text-of.js';

/** What `import` takes, in the order in which it tries to find one. `mnemesh` is an export of this service. */
export const FORMATS = [
  'mnemesh',
  'mem0',
  'knowledge-graph',
  'letta',
  'basic-memory',
  'markdown',
  'csv',
  'jsonl',
] as const;
export type FormatName = (typeof FORMATS)[number];
export type ForeignName = Exclude<FormatName, 'mnemesh'>;

/** A memory as another program has it. */
export interface SourceRow {
  /** Names it in its source, always in the same way. */
  readonly key: string;
  /** Null for a text without a title. */
  readonly title: string | null;
  readonly content: string;
  readonly tags: readonly string[];
  /** What the source calls its kind. */
  readonly kind: string | null;
  /** The folders in which it lies, or the namespace that the source names. */
  readonly place: readonly string[];
  /** What the source says of it: dates, owners, ids. Nobody trusts it; it is kept as it is. */
  readonly claims: Json;
  /** Where it was found, for people. */
  readonly from: string;
  /** The names under which others of the source know it. */
  readonly names: readonly string[];
  readonly links: readonly SourceLink[];
}

/** A relation to a row of the same source, by one of its names. */
export interface SourceLink {
  readonly to: string;
  readonly relation: string;
}

/** The beginning of a file. */
export interface Head {
  readonly path: string;
  readonly text: string;
  /** Its first lines that are JSON objects. */
  readonly lines: readonly Json[];
  /** The first element of its list, where it is a JSON document with one. */
  readonly first: unknown;
  /** The name of that list; null for an outermost list, or where there is none. */
  readonly list: string | null;
}

/** Hears what was left out of a file, or what is worth to know of a row that was `taken` all the same. */
export type Tell = (problem: string, outcome?: 'taken') => void;

/** How the files of another program are found and read. Reading throws UnreadableError where nothing can be read. */
export interface ForeignFormat {
  readonly name: ForeignName;
  readonly isOf: (head: Head) => boolean;
  readonly read: (file: SourceFile, tell: Tell) => AsyncIterable<SourceRow>;
}

/** What `import` takes, in the words of an error. */
export const TAKEN = [
  'an export of mnemesh',
  'a Markdown file or a folder of them (also of basic-memory)',
  'JSON Lines or a JSON list with "content" or "text" in each row',
  'a CSV file with a header that names such a column',
  'an export of mem0 (what get_all answers)',
  'the memory.json of the knowledge graph memory server',
  'and an agent file of Letta (.af)',
].join(', ');
