import type { SourceFile } from '../../mine/source-file.js';
import {
  documentOf,
  isObject,
  type Json,
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
 * `GET /v1/agents/{id}/archival-memory` lists them.
 */
export const letta: ForeignFormat = {
  name: 'letta',
  isOf: (head) => isPassage(head.first) || isAgentFile(head),
  async *read(file, tell) {
    if (await holdsPassages(file)) yield* passagesOf(file, tell);
    else yield* blocksOf(await documentOf(file), file.path, tell);
  },
};

const isPassage = (value: unknown): value is Json =>
  isObject(value) && /^passage-/.test(textIn(value['id']) ?? '') && textIn(value['text']) !== null;

const isAgentFile = ({ path, text }: Head): boolean =>
  /^\s*\{/.test(text) &&
  (/\.af$/i.test(path) ||
    /"core_memory"\s*:\s*\[/.test(text) ||
    (/"agent_type"\s*:/.test(text) && /"(block_ids|blocks)"\s*:/.test(text)));

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
    const { text, embedding: _vector, embedding_config: _config, tags, ...claims } = value;
    yield {
      ...{ key: String(value['id']), title: null, content: String(text), tags: listOf(tags), kind: null },
      claims: Object.fromEntries(Object.entries(claims).filter(([, said]) => said !== null)),
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
  for (const { block, agent } of blocks) {
    const label = textIn(block['label']) ?? 'memory';
    const value = textIn(block['value']) ?? '';
    // An agent begins with empty blocks.
    if (value.trim() === '') continue;
    yield {
      key: `block/${agent ?? ''}/${label}/${agent === null ? (textIn(block['id']) ?? '') : ''}`,
      title: agent === null ? label : `${agent}: ${label}`,
      ...{ content: value, tags: [label], kind: null, place: [], claims: claimsOf(block, agent) },
      ...{ from: `${path} (${label})`, names: [], links: [] },
    };
  }
  if (blocks.length === 0) tell('holds no blocks of core memory');
}

const claimsOf = ({ id, description, limit, read_only }: Json, agent: string | null): Json =>
  Object.fromEntries(
    Object.entries({ agent, id, description, limit, read_only }).filter(
      ([, said]) => said !== null && said !== undefined && said !== false,
    ),
  );
