import { z } from 'zod';
import type { Operation } from '../pipeline/operation.js';
import { pendingAnswer } from '../pipeline/pending-answer.js';
import { type AnswerSchema, toolTable } from './tool-table.js';

/** Hints for a host that decides whether to ask its user (MCP 2025-03-26). */
export interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

type JsonSchema = Record<string, unknown>;

/** What people see in the place of the name: the summary up to its first pause. */
export const titleOf = ({ summary }: Operation): string => /^[^.,;:(]*/.exec(summary)![0].trim();

export function annotationsOf(operation: Operation): ToolAnnotations {
  const { effect, overwrites, idempotent, openWorld } = operation;
  return {
    title: titleOf(operation),
    readOnlyHint: effect === 'read',
    destructiveHint: overwrites === true,
    // What is removed or set to a value stays so at the second call.
    idempotentHint: effect === 'read' || overwrites === true || idempotent === true,
    openWorldHint: openWorld === true,
  };
}

const schemas = new WeakMap<Operation, AnswerSchema>();

/** The schema of what a tool answers as JSON. Members that it does not name are permitted. */
export function answerSchema(operation: Operation): AnswerSchema {
  let known = toolTable()[operation.name]?.answer ?? schemas.get(operation);
  if (known === undefined) {
    known = schemaOf(operation);
    schemas.set(operation, known);
  }
  return known;
}

function schemaOf({ mcp, output, effect }: Operation): AnswerSchema {
  const answered = shownSchema(mcp?.output ?? output);
  if (effect === 'read' && answered['type'] === 'object') return { ...answered, type: 'object' };
  const choices = effect === 'read' ? [answered] : [answered, shownSchema(pendingAnswer)];
  return { type: 'object', anyOf: choices };
}

/** The schema of a value before defaults and transformations, as `run` answers it. */
const shownSchema = (schema: z.ZodType): JsonSchema =>
  trimmed(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })) as JsonSchema;

/** Without what says nothing: the dialect, the type of names, and the bounds of every whole number. */
function trimmed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trimmed);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, part]) => !SILENT.has(key) && !isSafeBound(key, part));
  return Object.fromEntries(kept.map(([key, part]) => [key, trimmed(part)]));
}

const SILENT: ReadonlySet<string> = new Set(['$schema', 'propertyNames']);

const isSafeBound = (key: string, value: unknown): boolean =>
  (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
  (key === 'maximum' && value === Number.MAX_SAFE_INTEGER);
