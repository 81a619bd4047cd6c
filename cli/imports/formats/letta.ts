import type { SourceFile } from '../../mine/source-file.js';
import {
  documentOf,
  isObject,
  type Json,
  jsonOf,
  listValues,
  objectsOf,
  textIn,
  UNREADABLE,
} from '../../mine/text-of.js';
import type { ForeignFormat, Head, SourceRow, Tell } from '../format.js';
import { listOf } from '../row-text.js';
import { headOf, LIST_NAMES } from '../source-head.js';

/**
 * Letta: an agent file (`.af`), whose blocks of core memory become memories, and passages of archival memory, as
 * `GET /v1/agents/{id}/archival-memory` lists them. An agent file holds no passages.
 */
export const letta: ForeignFormat = {
  name: 'letta',
  isOf: (head) => isPassage(head.first) || isAgentFile(head),
  async *read(file, tell) {
    if (await holdsPassages(file)) yield* passagesOf(file, tell);
    else yield* blocksOf(await agentFileOf(file), file.path, tell);
  },
};

const isPassage = (value: unknown): value is Json =>
  isObject(value) && /^passage-/.test(textIn(value['id']) ?? '') && textIn(value['text']) !== null;

const isAgentFile = ({ path, text }: Head): boolean => {
  if (!/^\s*"?\{/.test(text)) return false;
  // In a file that holds the document as one text, marks stand before the quotes.
  const plain = /^\s*"/.test(text) ? text.replaceAll('\\"', '"') : text;
  return (
    /\.af$/i.test(path) ||
    /"core_memory"\s*:\s*\[/.test(plain) ||
    (/"agent_type"\s*:/.test(plain) && /"(block_ids|blocks)"\s*:/.test(plain))
  );
};

/** The document of an agent file. Some files hold the document as one JSON text. */
async function agentFileOf(file: SourceFile): Promise<unknown> {
  const document = await documentOf(file);
  return typeof document === 'string' ? jsonOf(document) : document;
}

const holdsPassages = async (file: SourceFile): Promise<boolean> => isPassage((await headOf(file)).first);

async function* passagesOf(file: SourceFile, tell: Tell): AsyncGenerator<SourceRow> {
  let count = 0;
  for await (const value of listValues(file, { lists: LIST_NAMES, what: 'passage' }, tell)) {
    count += 1;
    if (value === UNREADABLE) continue;
    if (!isPassage(value)) {
      tell(`passage ${count} has no text: left out`);
      continue;
    }
    if (value['is_deleted'] === true) {
      tell(`passage ${count} is deleted: left out`);
      continue;
    }
    const { text, embedding: _vector, embedding_config: _config, tags, ...claims } = value;
    yield {
      ...{ key: String(value['id']), title: null, content: String(text), tags: listOf(tags), kind: null },
      claims: saying(claims),
      ...{ place: [], from: `${file.path}#${count}`, names: [], links: [] },
    };
  }
}

function* blocksOf(document: unknown, path: string, tell: Tell): Generator<SourceRow> {
  if (!isObject(document)) return;
  const agents = objectsOf(document['agents']);
  // The first form of agent files is the agent itself.
  const old = objectsOf(document['core_memory']);
  const agentOf = (id: unknown): string | null =>
    textIn(agents.find(({ block_ids }) => Array.isArray(block_ids) && block_ids.includes(id))?.['name']);
  const blocks = [
    ...objectsOf(document['blocks']).map((block) => ({ block, agent: agentOf(block['id']) })),
    ...old.map((block) => ({ block, agent: textIn(document['name']) })),
  ];
  const keys = new Set<string>();
  for (const { block, agent } of blocks) {
    const { label: name, value, ...others } = block;
    const label = textIn(name) ?? 'memory';
    const content = textIn(value) ?? '';
    // An agent begins with empty blocks.
    if (content.trim() === '') continue;
    const id = textIn(block['id']) ?? '';
    const plain = `block/${agent ?? ''}/${label}/${agent === null ? id : ''}`;
    // Two agents of a file may have one name.
    const key = keys.has(plain) ? `${plain}${id}` : plain;
    keys.add(key);
    yield {
      ...{ key, title: agent === null ? label : `${agent}: ${label}`, content, tags: [label] },
      ...{ kind: null, place: [], claims: saying({ agent, ...others }), from: `${path} (${label})` },
      ...{ names: [], links: [] },
    };
  }
  if (blocks.length === 0) tell('holds no blocks of core memory');
  const files = objectsOf(document['files']).length;
  if (files > 0) tell(`its files are left out (${files}): only its core memory is taken`, 'taken');
}

/** The members that say something: most of them are unset. */
const saying = (members: Json): Json =>
  Object.fromEntries(
    Object.entries(members).filter(([, said]) => {
      if (said === null || said === undefined || said === false) return false;
      return typeof said !== 'object' || Object.keys(said).length > 0;
    }),
  );
