import { z } from 'zod';

/** A JSON schema of few words: models that follow one are held to it token by token. */
export type AnswerForm = Readonly<Record<string, unknown>>;

/** Words that say a form. Bounds of texts are left out: some services refuse a form whose rules become too long with them. */
const WORDS: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf'],
]);
const BOUNDS: ReadonlySet<string> = new Set(['minItems', 'maxItems']);
const ITEMS_MAX = 100;

/** The form of what a schema reads; null without a schema. */
export function answerForm(schema: z.ZodType | undefined): AnswerForm | null {
  if (schema === undefined) return null;
  return formOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })) as AnswerForm;
}

function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(formOf);
  if (typeof value !== 'object' || value === null) return value;
  const form: Record<string, unknown> = {};
  for (const [word, said] of Object.entries(value)) {
    if (word === 'properties') form[word] = mapped(said as Record<string, unknown>);
    else if (word === 'enum' || word === 'const' || word === 'required') form[word] = said;
    else if (WORDS.has(word)) form[word] = formOf(said);
    else if (BOUNDS.has(word) && Number(said) <= ITEMS_MAX) form[word] = said;
  }
  return form;
}

const mapped = (properties: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, formOf(schema)]));
