import type { Json } from '../http/openapi/schemas.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

/** Prints a JSON Schema as a type of TypeScript. What the type cannot say, such as bounds, the node checks. */
export function typeOf(json: Json, indent = ''): string {
  const schema = json as Schema;
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  const { anyOf, oneOf, allOf } = schema;
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return union(choices.map((each) => typeOf(each as Json, indent)));
  if (allOf !== undefined) return allOf.map((each) => `(${typeOf(each as Json, indent)})`).join(' & ');
  if (schema.type === undefined) return 'unknown';
  return union([schema.type].flat().map((type) => plainType(type, schema, indent)));
}

/** The members of an object, each with its description. */
export function membersOf(json: Json, indent: string): string {
  const { properties = {}, required = [], additionalProperties: others } = json as Schema;
  const lines = Object.entries(properties).map(([name, member]) => {
    const mark = required.includes(name) ? '' : '?';
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    const type = typeOf(member as Json, `${indent}  `);
    const maybe = mark === '' || type === 'unknown' ? type : union([type, 'undefined']);
    return `${comment(member.description, `${indent}  `)}${indent}  ${key}${mark}: ${maybe};\n`;
  });
  // A member that is named must fit what others may hold.
  if (others !== undefined && others !== false) lines.push(`${indent}  [member: string]: unknown;\n`);
  return lines.join('');
}

/** A comment of a declaration; nothing where there is nothing to say. */
export const comment = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n`;

function plainType(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array':
      return arrayType(schema, indent);
    case 'object':
      return objectType(schema, indent);
    default:
      return type;
  }
}

function arrayType({ prefixItems, items = {} }: Schema, indent: string): string {
  if (prefixItems !== undefined)
    return `readonly [${prefixItems.map((item) => typeOf(item as Json, indent)).join(', ')}]`;
  return `readonly ${grouped(typeOf(items as Json, indent))}[]`;
}

function objectType(schema: Schema, indent: string): string {
  const { properties = {}, additionalProperties: others } = schema;
  if (Object.keys(properties).length > 0) return `{\n${membersOf(schema as Json, indent)}${indent}}`;
  if (others === false) return 'Record<string, never>';
  return `{ [member: string]: ${typeof others === 'object' ? typeOf(others as Json, indent) : 'unknown'} }`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');
const grouped = (type: string): string =>
  /^readonly |[|&]/.test(type) && !type.startsWith('{') ? `(${type})` : type;
