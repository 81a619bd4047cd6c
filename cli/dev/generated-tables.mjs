import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The modules that the build makes from the operations, by their paths: the text that stands in their places. */
export async function generatedTables(dist) {
  const load = (path) => import(pathToFileURL(join(dist, path)).href);
  const { OPERATIONS } = await load('node/operations/registry.js');
  const { ROUTES } = await load('node/client/route-table.js');
  const { fieldFacts } = await load('node/pipeline/field-facts.js');
  const { toolRow } = await load('node/bindings/tool-list.js');
  const { answerSchema } = await load('node/bindings/tool-features.js');
  const places = await placesOf(dist, load);
  const byName = (operations, tell) => Object.fromEntries(operations.map((each) => [each.name, tell(each)]));
  const tools = byName(
    OPERATIONS.filter(({ mcp }) => mcp !== undefined),
    (operation) => ({ row: toolRow(operation), answer: answerSchema(operation) }),
  );
  const tables = {
    'cli/operation-table.js': commandTable(OPERATIONS, places),
    'node/bindings/tool-table.js': `let table;\nexport const toolTable = () => (table ??= ${parsed(tools)});\n`,
    'node/client/route-table.js': `export const ROUTES = ${JSON.stringify(ROUTES)};\n`,
    'node/operations/registry.js': registry(OPERATIONS, places),
    'node/pipeline/field-table.js': `export const FIELD_TABLE = ${parsed(byName(OPERATIONS, fieldFacts))};\n`,
  };
  return new Map(Object.entries(tables).map(([path, text]) => [join(dist, path), text]));
}

/** A value as an expression; a large one is read faster as a text in JSON. */
const parsed = (value) => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`;

/** Which file exports each operation, and under which name. */
async function placesOf(dist, load) {
  const folder = 'node/operations';
  const places = new Map();
  for (const name of readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const file = name.split(sep).join('/');
    for (const [exported, value] of Object.entries(await load(`${folder}/${file}`)))
      if (!places.has(value)) places.set(value, { file, exported });
  }
  return places;
}

/** A module like `cli/operation-table.ts` that imports an operation when its command is asked for. */
function commandTable(operations, places) {
  const rows = operations
    .filter(({ cli }) => cli !== undefined)
    .map((operation) => {
      const { file, exported } = places.get(operation);
      const { cli, family, summary } = operation;
      const facts = JSON.stringify({ command: cli.command, family, summary });
      const path = JSON.stringify(`../node/operations/${file}`);
      return `  { ...${facts}, load: async () => (await import(${path})).${exported} },`;
    });
  return `const TABLE = [\n${rows.join('\n')}\n];\nexport const operationTable = async () => TABLE;\n`;
}

/**
 * A module like `node/operations/registry.ts` whose operations load when a member is asked for that is no plain data: their
 * schemas are most of what a node or an MCP server loads, and it runs few of them.
 */
function registry(operations, places) {
  const rows = operations.map((operation) => {
    const { file, exported } = places.get(operation);
    const load = `() => require(${JSON.stringify(`./${file}`)}).${exported}`;
    return `  made(${load}, (late) => ${dataOf(operation, 'loaded')}),`;
  });
  return [
    'const made = (load, data) => {',
    '  let operation;',
    '  const late = (facts, others) => {',
    '    for (const [name, of] of Object.entries(others))',
    '      Object.defineProperty(facts, name, { enumerable: true, get: () => of((operation ??= load())) });',
    '    return Object.freeze(facts);',
    '  };',
    '  return data(late);',
    '};',
    `export const OPERATIONS = [\n${rows.join('\n')}\n];`,
    '',
  ].join('\n');
}

const isObject = (value) =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** True for what JSON can say. */
function isPlain(value) {
  if (Array.isArray(value)) return value.every(isPlain);
  if (isObject(value)) return Object.values(value).every(isPlain);
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** An expression for a part of an operation: its plain data at once, and all else when it is asked for. */
function dataOf(value, path) {
  if (isPlain(value)) return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((each, index) => (isObject(each) ? dataOf(each, `${path}[${index}]`) : refuse(path))).join(', ')}]`;
  const entries = Object.entries(value);
  const isKnown = ([, member]) => isPlain(member) || isObject(member) || Array.isArray(member);
  const place = (name) => `${path}[${JSON.stringify(name)}]`;
  const facts = entries
    .filter(isKnown)
    .map(([name, member]) => `${JSON.stringify(name)}: ${dataOf(member, place(name))}`);
  const others = entries
    .filter((entry) => !isKnown(entry))
    .map(([name]) => `${JSON.stringify(name)}: (loaded) => ${place(name)}`);
  return `late({ ${facts.join(', ')} }, { ${others.join(', ')} })`;
}

function refuse(path) {
  throw new Error(`${path}: a list of an operation holds what is neither data nor an object`);
}
