import { ERRORS } from '../../protocol/base/errors.js';
import { ComponentSchemas, type Json } from '../http/openapi/schemas.js';
import { OPERATIONS } from '../operations/registry.js';
import { isRequired } from '../pipeline/coerce.js';
import type { HttpBinding, Operation } from '../pipeline/operation.js';
import { methodOf } from './method-names.js';
import { type ClientRoute, clientBinding, clientRoute } from './routes.js';
import { comment, membersOf, typeOf } from './schema-type.js';

/** The fields that choose another format than JSON, for which there is `text`. */
const FORMAT_FIELDS: readonly string[] = ['format', 'output_format'];

/** What \`index.ts\` exports at run time. */
const VALUES = `/** Makes a client of a node; it opens no connection before its first call. Throws MnemeshError for wrong options. */
export declare function createClient(options?: ClientOptions): Client;

/** A signer with the private key of an agent. Throws MnemeshError for what is no key. */
export declare function createSigner(options: SignerOptions): Signer;

/** The memory with its signature, for \`memoryStore\` and for POST /memories. */
export declare function signMemory<M extends SignableMemory>(signer: Signer, memory: M): Promise<M & Signed>;

/** The class of failures. */
export declare const MnemeshError: {
  readonly prototype: MnemeshError;
  new (parts: { readonly code: string; readonly message: string }): MnemeshError;
};
`;

interface Described {
  readonly route: ClientRoute;
  readonly summary: string;
  readonly inputName: string;
  readonly input: string;
  /** True where a call needs no input. */
  readonly isOptional: boolean;
  /** The members that choose a format; null where there is only JSON. */
  readonly format: string | null;
  readonly answer: string;
}

/**
 * The type declaration of the client, complete in itself. `own` is the text of `public.ts`, which is copied.
 */
export function clientDeclaration(own: string): string {
  const schemas = new ComponentSchemas();
  const described = OPERATIONS.map((operation) => describe(operation, schemas)).filter(
    (each) => each !== null,
  );
  const named = Object.entries(schemas.all()).map(([name, schema]) => declare(name, schema));
  const inputs = described.map(({ inputName, input }) => `export interface ${inputName} {\n${input}}\n`);
  const rows = described.map(({ route: { name, effect }, ...each }) => {
    const answer = effect === 'write' ? `${each.answer} & Replication & Screened` : each.answer;
    return `  ${name}: { input: ${each.inputName}; answer: ${answer} };\n`;
  });
  const texts = described.filter(({ format }) => format !== null);
  const formats = texts.map(({ route: { name }, format }) => `  ${name}: {\n${format}  };\n`);
  const methods = described.map(
    ({ route: { name }, summary, isOptional, inputName }) =>
      `${comment(summary, '  ')}  ${methodOf(name)}(input${isOptional ? '?' : ''}: ${inputName}, options?: CallOptions): Promise<Operations['${name}']['answer']>;\n`,
  );
  return [
    '// Made by the build from the declarations of the operations.\n',
    `/** The stable codes of errors. */\nexport type ErrorCode =\n${Object.keys(ERRORS)
      .map((code) => `  | '${code}'`)
      .join('\n')};\n`,
    withoutImports(own),
    ...named,
    ...inputs,
    `/** What each operation takes and answers, by its name. */\nexport interface Operations {\n${rows.join('')}}\n`,
    `/** How the operations that have other formats than JSON choose one. */\nexport interface Formats {\n${formats.join('')}}\n`,
    `/** A client with a method for each operation. */\nexport interface Client extends GeneralClient {\n${methods.join('')}}\n`,
    VALUES,
  ].join('\n');
}

const withoutImports = (text: string): string => text.replaceAll(/^import [^;]+;\n/gm, '').trimStart();

function declare(name: string, schema: Json): string {
  const isObject = schema['type'] === 'object' && schema['properties'] !== undefined;
  const said = comment(schema['description'] as string | undefined, '');
  return isObject
    ? `${said}export interface ${name} {\n${membersOf(schema, '')}}\n`
    : `${said}export type ${name} = ${typeOf(schema)};\n`;
}

/** `memory_store` is `MemoryStore` in the names of types. */
function typeName(operation: string): string {
  const method = methodOf(operation);
  return `${method.charAt(0).toUpperCase()}${method.slice(1)}`;
}

function describe(operation: Operation, schemas: ComponentSchemas): Described | null {
  const route = clientRoute(operation);
  const binding = clientBinding(operation);
  if (route === null || binding === undefined) return null;
  const fields = schemas.fieldsOf(operation.input, 'input');
  const isFormat = (name: string) => route.formats === true && FORMAT_FIELDS.includes(name);
  const taken = fieldsOf(operation, binding, route);
  const membersFor = (names: readonly string[], indent: string) => {
    const properties = Object.fromEntries(names.map((name) => [name, fields[name] ?? {}]));
    const required = names.filter(
      (name) => isRequired(operation, name) && binding.defaults?.[name] === undefined,
    );
    return { text: membersOf({ properties, required }, indent), isOptional: required.length === 0 };
  };
  const { text, isOptional } = membersFor(
    taken.filter((name) => !isFormat(name)),
    '',
  );
  const formats = taken.filter(isFormat);
  const name = typeName(operation.name);
  const answer = schemas.of(binding.output ?? operation.output, 'output');
  const reference = answer['$ref'] === undefined ? schemas.add(`${name}Answer`, answer) : answer;
  return {
    ...{ route, isOptional, inputName: `${name}Input` },
    summary: operation.summary,
    // Its rows are inputs of a store, which its schema leaves to each row.
    input:
      route.signs === 'memories' ? text.replace('readonly unknown[]', 'readonly MemoryStoreInput[]') : text,
    format: formats.length === 0 ? null : membersFor(formats, '  ').text,
    answer: typeOf(reference),
  };
}

/** The fields that the client sends: those of the binding, and those that travel in headers. */
function fieldsOf({ input }: Operation, { omit = [] }: HttpBinding, { headers = {} }: ClientRoute): string[] {
  return Object.keys(input.shape).filter((name) => !omit.includes(name) || Object.hasOwn(headers, name));
}
