import { isObject, type Json, listValues, textIn, UNREADABLE } from '../../mine/text-of.js';
import type { ForeignFormat, SourceRow } from '../format.js';
import { listOf } from '../row-text.js';
import { LIST_NAMES } from '../source-head.js';

const isMem0 = (value: unknown): value is Json =>
  isObject(value) &&
  typeof value['memory'] === 'string' &&
  ['hash', 'user_id', 'agent_id', 'run_id', 'categories'].some((name) => name in value);

/** What `get_all` of mem0 answers, written to a file: `{"results": [...]}`, or only the list. */
export const mem0: ForeignFormat = {
  name: 'mem0',
  isOf: ({ first }) => isMem0(first),
  async *read(file, tell) {
    let count = 0;
    for await (const value of listValues(file, { lists: LIST_NAMES, what: 'memory' }, tell)) {
      count += 1;
      if (value === UNREADABLE) continue;
      if (isObject(value) && typeof value['memory'] === 'string') yield rowOf(value, `${file.path}#${count}`);
      else tell(`memory ${count} has no text: left out`);
    }
  },
};

function rowOf(value: Json, from: string): SourceRow {
  const { memory, categories, score: _score, ...claims } = value;
  const id = textIn(value['id']);
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  return {
    ...{ key: id ?? `text/${memory}`, title: null, content: String(memory) },
    tags: [...listOf(categories), ...listOf(metadata['category'])],
    kind: null,
    place: [],
    claims: Object.fromEntries(Object.entries(claims).filter(([, said]) => said !== null)),
    from,
    names: [],
    links: [],
  };
}
