import { z } from 'zod';
import { FIELD_TABLE, type FieldFacts } from './field-table.js';
import type { Operation } from './operation.js';

type JsonSchema = { type?: string | string[]; anyOf?: JsonSchema[]; items?: JsonSchema };
type Input = Operation['input'];
type Facts = Readonly<Record<string, FieldFacts>>;

const told = new WeakMap<Input, Facts>();

/** The facts of the fields of an operation, in their order. */
export function fieldFacts(operation: Pick<Operation, 'input'> & { readonly name?: string }): Facts {
  const { name } = operation;
  const made = name === undefined ? undefined : FIELD_TABLE[name];
  if (made !== undefined) return made;
  const { input } = operation;
  let facts = told.get(input);
  if (facts === undefined) {
    facts = factsOf(input);
    told.set(input, facts);
  }
  return facts;
}

function factsOf(input: Input): Facts {
  const json = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const schemas = (json.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const entries = Object.entries(input.shape).map(([field, schema]): [string, FieldFacts] => {
    const items = typesOf(itemsOf(schemas[field]));
    const isRequired = !(schema as z.ZodType).safeParse(undefined).success;
    return [
      field,
      {
        types: typesOf(schemas[field]),
        ...(items.length === 0 ? {} : { items }),
        ...(isRequired ? { required: true } : {}),
      },
    ];
  });
  return Object.fromEntries(entries);
}

function typesOf(schema: JsonSchema | undefined): string[] {
  if (schema === undefined) return [];
  const own = schema.type === undefined ? [] : [schema.type].flat();
  return [...own, ...(schema.anyOf ?? []).flatMap(typesOf)];
}

/** The schema of the items of a list, also of one that may be null. */
const itemsOf = (schema: JsonSchema | undefined): JsonSchema | undefined =>
  schema?.items ?? schema?.anyOf?.map(itemsOf).find((items) => items !== undefined);
