import type { Failure } from '../../protocol/base/result.js';
import type { Answer } from '../pipeline/answer.js';
import { failureBody, INVALID_PARAMS, RpcError, rpcErrorOf } from './rpc-error.js';

type Fields = Record<string, unknown>;

/** Runs an operation that reads, as the caller of the session. */
export type Reader = (operation: string, input: Fields) => Promise<Answer>;

/** A code of the protocol, for a resource that does not exist or that the caller may not see. */
const NOT_FOUND = -32002;
/** A failure that the protocol has no code for; the data has the body that HTTP answers. */
const FAILED = -32000;

/** Memories in a page of the list, and in a namespace that is read. */
const PAGE_ROWS = 50;
const NAMESPACES_MAX = 100;
const VALUES_MAX = 100;
/** Rows among which ids are looked for. */
const ID_ROWS = 200;

const MARKDOWN = 'text/markdown';
const JSON_TEXT = 'application/json';

/** The kinds of resources, by the form of their addresses. */
export const TEMPLATES: readonly Fields[] = [
  {
    ...{ uriTemplate: 'memory://{id}', name: 'memory', title: 'A memory', mimeType: MARKDOWN },
    description: 'One memory, by its id.',
  },
  {
    ...{ uriTemplate: 'memory://namespace/{+namespace}', name: 'namespace', title: 'A namespace' },
    ...{
      mimeType: JSON_TEXT,
      description: `Its memories, at most ${PAGE_ROWS}; those of higher priority first.`,
    },
  },
  {
    ...{
      uriTemplate: 'memory://standard/{+namespace}',
      name: 'standard',
      title: 'The standards of a namespace',
    },
    ...{ mimeType: JSON_TEXT, description: 'What is pinned for the namespace and those above it.' },
  },
];

/** A page of the resources that the caller sees: the namespaces, then the memories. */
export async function listResources(read: Reader, cursor: unknown): Promise<Fields> {
  const isFirst = cursor === undefined || cursor === null;
  if (!isFirst && typeof cursor !== 'string') throw new RpcError(INVALID_PARAMS, 'cursor: must be a text');
  const asked = { limit: PAGE_ROWS, format: 'json', ...(isFirst ? {} : { cursor }) };
  const page = valueIn(await read('memory_list', asked));
  const memories = page['memories'] as readonly Fields[];
  const next = page['next_cursor'];
  const places = isFirst ? (await namespacesOf(read)).slice(0, NAMESPACES_MAX) : [];
  return {
    resources: [...places.flatMap(placeResources), ...memories.map(memoryResource)],
    ...(next === undefined ? {} : { nextCursor: next }),
  };
}

const placeResources = (namespace: string): readonly Fields[] => [
  {
    ...{ uri: `memory://namespace/${encoded(namespace)}`, name: namespace, title: namespace },
    ...{ description: 'The memories of this namespace', mimeType: JSON_TEXT },
  },
];

function memoryResource({ id, title, namespace, priority, updated_at: lastModified }: Fields): Fields {
  return {
    ...{ uri: `memory://${String(id)}`, name: title, title, description: `In ${String(namespace)}` },
    mimeType: MARKDOWN,
    annotations: { priority: Number(priority) / 10, lastModified },
  };
}

/** What stands at the address of a resource. */
export async function readResource(read: Reader, uri: unknown): Promise<Fields> {
  const address = typeof uri === 'string' ? uri : '';
  const [, kind, name] = /^memory:\/\/(?:(namespace|standard)\/)?(.+)$/s.exec(address) ?? [];
  const named = name === undefined ? null : decoded(name);
  if (named === null || (kind === undefined && named.includes('/'))) throw notFound(address);
  const shown = await answerAt(read, kind, named);
  if (!shown.ok && shown.error.code === 'NOT_FOUND') throw notFound(address);
  const value = valueIn(shown);
  if (kind !== undefined) return contents(address, JSON_TEXT, JSON.stringify(value));
  const { title, content } = value['memory'] as Fields;
  return contents(address, MARKDOWN, `# ${String(title)}\n\n${String(content)}\n`);
}

function answerAt(read: Reader, kind: string | undefined, name: string): Promise<Answer> {
  switch (kind) {
    case 'namespace':
      return read('memory_list', { namespace: name, limit: PAGE_ROWS, format: 'json' });
    case 'standard':
      return read('memory_namespace_get_standard', { namespace: name, inherit: true });
    default:
      return read('memory_get', { id: name });
  }
}

const contents = (uri: string, mimeType: string, text: string): Fields => ({
  contents: [{ uri, mimeType, text }],
});

/** Values of an argument of a prompt or a template that begin with what the user has typed. */
export async function completeArgument(read: Reader, ref: Fields, argument: Fields): Promise<Fields> {
  const { name, value } = argument;
  const typed = typeof value === 'string' ? value : '';
  const known = await valuesOf(read, ref, name);
  const fitting = known.filter((each) => each.startsWith(typed));
  const hasMore = fitting.length > VALUES_MAX;
  return { completion: { values: fitting.slice(0, VALUES_MAX), total: fitting.length, hasMore } };
}

async function valuesOf(read: Reader, ref: Fields, name: unknown): Promise<readonly string[]> {
  const { type, name: prompt, uri } = ref;
  if (type === 'ref/prompt' && prompt === 'recall-first' && name === 'namespace') return namespacesOf(read);
  const template =
    type === 'ref/resource' ? TEMPLATES.find(({ uriTemplate }) => uriTemplate === uri) : undefined;
  if (template !== undefined && name === 'namespace' && template['name'] !== 'memory')
    return namespacesOf(read);
  if (template !== undefined && name === 'id' && template['name'] === 'memory') return idsOf(read);
  throw new RpcError(
    INVALID_PARAMS,
    'there is no such argument: name one of prompts/list or resources/templates/list',
  );
}

async function idsOf(read: Reader): Promise<readonly string[]> {
  const page = valueIn(await read('memory_list', { limit: ID_ROWS, format: 'json' }));
  return (page['memories'] as readonly Fields[]).map(({ id }) => String(id));
}

/** The namespaces that the caller may list; over HTTP only admins list them all, others those of the newest rows. */
async function namespacesOf(read: Reader): Promise<readonly string[]> {
  const listed = await read('memory_get_taxonomy', {});
  if (listed.ok) return flattened(listed.value['tree'] as readonly Fields[]);
  const page = valueIn(await read('memory_list', { limit: ID_ROWS, format: 'json' }));
  return [
    ...new Set((page['memories'] as readonly Fields[]).map(({ namespace }) => String(namespace))),
  ].sort();
}

/** Namespaces with memories of their own. */
const flattened = (tree: readonly Fields[]): readonly string[] =>
  tree.flatMap(({ namespace, count, children }) => [
    ...(Number(count) > 0 ? [String(namespace)] : []),
    ...flattened(children as readonly Fields[]),
  ]);

const encoded = (namespace: string): string => namespace.split('/').map(encodeURIComponent).join('/');

function decoded(name: string): string | null {
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}

const notFound = (uri: string) => {
  const shown = uri.slice(0, 256);
  return new RpcError(NOT_FOUND, `resource not found: ${shown}`, { uri: shown });
};

function valueIn(answer: Answer): Fields {
  if (answer.ok) return answer.value;
  throw rpcErrorOf(answer.error) ?? failedWith(answer.error);
}

const failedWith = (failure: Failure) => new RpcError(FAILED, failure.message, failureBody(failure));
