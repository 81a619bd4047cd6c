import type { SourceFile } from '../../mine/source-file.js';
import { documentOf, isObject, type Json, lineValues, objectsOf, textIn } from '../../mine/text-of.js';
import type { ForeignFormat, Head, SourceLink, SourceRow, Tell } from '../format.js';
import { headOf } from '../source-head.js';

const isEntity = (value: unknown): value is Json =>
  isObject(value) && textIn(value['name']) !== null && Array.isArray(value['observations']);

const isRelation = (value: unknown): value is Json =>
  isObject(value) && ['from', 'to', 'relationType'].every((name) => textIn(value[name]) !== null);

/**
 * The file of the knowledge graph memory server (`memory.json`), one entity or relation in each line, and what its tool
 * `read_graph` answers. An entity becomes a memory with its observations and relations as its text.
 */
export const knowledgeGraph: ForeignFormat = {
  name: 'knowledge-graph',
  isOf: (head) => isDocument(head) || head.lines.some((line) => isLine(line)),
  read: entitiesOf,
};

const isLine = (line: Json): boolean =>
  (line['type'] === 'entity' && isEntity(line)) || (line['type'] === 'relation' && isRelation(line));

const isDocument = ({ first, list }: Head): boolean => list === 'entities' && isEntity(first);

async function* entitiesOf(file: SourceFile, tell: Tell): AsyncGenerator<SourceRow> {
  const entities: { readonly entity: Json; readonly from: string }[] = [];
  const relations: Json[] = [];
  let count = 0;
  for await (const value of valuesOf(file, tell)) {
    count += 1;
    if (isRelation(value)) relations.push(value);
    else if (isEntity(value)) entities.push({ entity: value, from: `${file.path}#${count}` });
    else tell(`line ${count} is neither an entity nor a relation: left out`);
  }
  const linksOf = new Map<string, SourceLink[]>();
  for (const relation of relations) {
    const from = String(relation['from']);
    const link = { to: String(relation['to']), relation: String(relation['relationType']) };
    linksOf.set(from, [...(linksOf.get(from) ?? []), link]);
  }
  const known = new Set(entities.map(({ entity }) => String(entity['name'])));
  for (const name of linksOf.keys())
    if (!known.has(name)) tell(`relations of "${name}", which is no entity of the file: left out`);
  for (const { entity, from } of entities) yield rowOf(entity, from, linksOf);
}

async function* valuesOf(file: SourceFile, tell: Tell): AsyncGenerator<unknown> {
  if (!isDocument(await headOf(file))) {
    yield* lineValues(file, tell);
    return;
  }
  const graph = await documentOf(file);
  if (!isObject(graph)) return;
  yield* objectsOf(graph['entities']);
  yield* objectsOf(graph['relations']);
}

function rowOf(entity: Json, from: string, linksOf: ReadonlyMap<string, readonly SourceLink[]>): SourceRow {
  const name = String(entity['name']);
  const type = textIn(entity['entityType']);
  const links = linksOf.get(name) ?? [];
  const observations = (entity['observations'] as readonly unknown[]).filter(
    (text): text is string => typeof text === 'string',
  );
  const lines = [
    ...(type === null ? [name] : [`${name} (${type})`]),
    ...observations.map((text) => `- ${text}`),
    ...links.map(({ to, relation }) => `- ${relation} ${to}`),
  ];
  return {
    ...{ key: `entity/${name}`, title: name, content: lines.join('\n') },
    tags: type === null ? [] : [type],
    ...{ kind: 'entity', place: [], claims: {}, from, names: [name], links },
  };
}
