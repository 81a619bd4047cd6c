/** A tool as `tools/list` shows it. */
export interface ToolRow {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, PlainSchema>>;
    readonly required?: readonly string[];
  };
}

/**
 * What a tool list says of a value: one type, so that every host takes it. Bounds and patterns are checked at the call, and
 * a null that a field takes stays allowed there.
 */
export interface PlainSchema {
  readonly type: PlainType;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: PlainSchema;
  readonly properties?: Readonly<Record<string, PlainSchema>>;
  readonly required?: readonly string[];
}

export type PlainType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
/** The schema of an answer; hosts take only one whose type is "object". */
export type AnswerSchema = Readonly<Record<string, unknown>> & { readonly type: 'object' };

type ToolTable = Readonly<Record<string, { readonly row: ToolRow; readonly answer: AnswerSchema }>>;

/**
 * What a list says of every tool, by its name. The build fills the table, because schemas tell it slowly and all of them had
 * to be made for it (`cli/dev/generated-tables.mjs`).
 */
export const toolTable = (): ToolTable => ({});
