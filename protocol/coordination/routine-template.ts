import { hasControlCharacter, isBlank } from '../base/ids.js';
import {
  ACTION_JSON_BYTES_MAX,
  ACTION_KIND_LENGTH_MAX,
  ACTION_PRIORITY_MAX,
  METADATA_DEPTH_MAX,
} from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';
import { characters, utf8Bytes } from '../base/utf8.js';
import { isInteger, isObject, isText } from '../kinds/payload.js';
import { EDGE_TYPES, type EdgeType } from './edge-kind.js';
import { NAME_LENGTH_MAX, ROUTINE_ACTIONS_MAX, RUN_BYTES_MAX } from './limits.js';
import { valueOfJson } from './members.js';
import type { PlannedEdge } from './plan-actions.js';
import type { Routine } from './routine-kind.js';

/**
 * Templates of routines (reference-mcp-cli §1.4): `{actions: [{kind, title, payload?, priority?}], edges: [{from, to,
 * type?}]}`, where edges name actions by their places, and `{{name}}` in a text stands for an argument.
 */

/** An action of a template, with its arguments filled in. */
export interface TemplateAction {
  readonly kind: string;
  readonly title: string;
  readonly payload: unknown;
  readonly priority: number;
}

export interface FilledTemplate {
  readonly actions: readonly TemplateAction[];
  readonly edges: readonly PlannedEdge[];
}

type Values = Readonly<Record<string, unknown>>;

const strange = (value: Values, known: readonly string[]) =>
  Object.keys(value).find((key) => !known.includes(key));

/** Says what is wrong with a template, or null. */
export function templateProblem(template: Values): string | null {
  const key = strange(template, ['actions', 'edges']);
  if (key !== undefined) return `has no member "${key}": it has actions and edges`;
  const { actions = [], edges = [] } = template;
  if (!Array.isArray(actions) || !Array.isArray(edges)) return 'actions and edges must be lists';
  if (actions.length > ROUTINE_ACTIONS_MAX) return `has more than ${ROUTINE_ACTIONS_MAX} actions`;
  for (const [at, action] of (actions as unknown[]).entries()) {
    const problem = actionProblem(action);
    if (problem !== null) return `actions.${at} ${problem}`;
  }
  for (const [at, edge] of (edges as unknown[]).entries()) {
    const problem = edgeProblem(edge, actions.length);
    if (problem !== null) return `edges.${at} ${problem}`;
  }
  return null;
}

function actionProblem(action: unknown): string | null {
  if (!isObject(action)) return 'must be an object';
  const key = strange(action, ['kind', 'title', 'payload', 'priority']);
  if (key !== undefined) return `has no member "${key}"`;
  const missing = ['kind', 'title'].find((name) => !isText(action[name]) || action[name] === '');
  if (missing !== undefined) return `needs a text as ${missing}`;
  const { priority = 0 } = action;
  return isInteger(priority) && Math.abs(priority as number) <= ACTION_PRIORITY_MAX
    ? null
    : `needs an integer from -${ACTION_PRIORITY_MAX} to ${ACTION_PRIORITY_MAX} as priority`;
}

function edgeProblem(edge: unknown, actions: number): string | null {
  if (!isObject(edge)) return 'must be an object';
  const key = strange(edge, ['from', 'to', 'type']);
  if (key !== undefined) return `has no member "${key}"`;
  const isPlace = (place: unknown) => isInteger(place) && Number(place) >= 0 && Number(place) < actions;
  if (!isPlace(edge['from']) || !isPlace(edge['to'])) return 'must go from one place in actions to another';
  const { type = 'sibling' } = edge;
  return EDGE_TYPES.includes(type as EdgeType) ? null : `has no type of these: ${EDGE_TYPES.join(', ')}`;
}

/** A template with its arguments; VALIDATION_FAILED says why it makes no actions. */
export function filledTemplate(
  { template, parameters }: Pick<Routine, 'template' | 'parameters'>,
  given: Values,
): Result<FilledTemplate> {
  const problem = templateProblem(template);
  if (problem !== null) return fail('VALIDATION_FAILED', `template ${problem}`);
  const args = withDefaults(parameters, given);
  if (!args.ok) return args;
  const { actions = [], edges = [] } = template as {
    readonly actions?: readonly TemplateAction[];
    readonly edges?: readonly { readonly from: number; readonly to: number; readonly type?: EdgeType }[];
  };
  if (actions.length === 0) return fail('VALIDATION_FAILED', 'the template makes no actions');
  const filler = new Filler(args.value);
  const filled: TemplateAction[] = actions.map(({ kind, title, payload = {}, priority = 0 }) => ({
    kind: filler.text(kind),
    title: filler.text(title),
    payload: filler.value(payload, METADATA_DEPTH_MAX),
    priority,
  }));
  if (filler.isFull)
    return fail('VALIDATION_FAILED', `the filled template has more than ${RUN_BYTES_MAX} bytes`);
  const long = filled.findIndex((action) => isTooLong(action));
  if (long >= 0)
    return fail(
      'VALIDATION_FAILED',
      `actions.${long} has a kind, a title or a payload that is too long, or blank, or has control characters`,
    );
  return ok({
    actions: filled,
    edges: edges.map(({ from, to, type = 'sibling' }) => ({ from, to, type })),
  });
}

function isTooLong({ kind, title, payload }: TemplateAction): boolean {
  const isWord = (text: string, max: number) =>
    !isBlank(text) && !hasControlCharacter(text) && characters(text) <= max;
  return (
    !isWord(kind, ACTION_KIND_LENGTH_MAX) ||
    !isWord(title, NAME_LENGTH_MAX) ||
    utf8Bytes(JSON.stringify(payload)) > ACTION_JSON_BYTES_MAX
  );
}

/** The arguments, with the defaults of parameters that declare one; a parameter that is `required` must be given. */
function withDefaults(parameters: string, given: Values): Result<Values> {
  const declared = valueOfJson(parameters);
  const args: Record<string, unknown> = { ...given };
  for (const parameter of Array.isArray(declared) ? (declared as unknown[]) : []) {
    if (!isObject(parameter) || !isText(parameter['name'])) continue;
    const { name, required, default: usual } = parameter;
    if (Object.hasOwn(given, name)) continue;
    if (usual !== undefined) args[name] = usual;
    else if (required === true) return fail('VALIDATION_FAILED', `the argument "${name}" is required`);
  }
  return ok(args);
}

/** Fills arguments in, as long as the result is not too long. */
class Filler {
  private left = RUN_BYTES_MAX;

  constructor(private readonly args: Values) {}

  get isFull(): boolean {
    return this.left < 0;
  }

  /** A placeholder without an argument stays as it is; an argument that is not a text is inserted as JSON. */
  text(template: string): string {
    const filled = template.replace(/\{\{([^{}]+)\}\}/g, (whole, name: string) => {
      if (this.isFull || !Object.hasOwn(this.args, name)) return whole;
      const value = this.args[name];
      const said = typeof value === 'string' ? value : JSON.stringify(value);
      this.left -= said.length;
      return this.isFull ? whole : said;
    });
    return filled;
  }

  value(template: unknown, depth: number): unknown {
    if (typeof template === 'string') return this.text(template);
    if (depth <= 0 || template === null || typeof template !== 'object') return template;
    if (Array.isArray(template)) return template.map((member) => this.value(member, depth - 1));
    return Object.fromEntries(
      Object.entries(template).map(([key, member]) => [key, this.value(member, depth - 1)]),
    );
  }
}
