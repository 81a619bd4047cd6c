import type { Json } from './schemas.js';
import { resolved } from './schemas.js';

const MEMORY_ID = '8f14e45f-ceea-467f-a2b1-5d3c1e0f9a77';
const OTHER_ID = '1c383cd3-0b7c-498a-bba2-9b5f3f0d8e21';
const INSTANT = '2026-03-02T09:30:00.000Z';
const LATER = '2026-09-02T09:30:00.000Z';
const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

/** What the examples of the document say of each field, by its name; other fields get the plainest value that fits. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  id: [MEMORY_ID],
  ids: [[MEMORY_ID, OTHER_ID]],
  memory_id: [MEMORY_ID],
  memory_ids: [[MEMORY_ID, OTHER_ID]],
  pending_id: [MEMORY_ID],
  reflection_id: [MEMORY_ID],
  skill_id: [MEMORY_ID],
  source_id: [MEMORY_ID],
  source_ids: [[MEMORY_ID, OTHER_ID]],
  source_memory_id: [MEMORY_ID],
  subscription_id: [MEMORY_ID],
  target_id: [OTHER_ID],
  from_id: [MEMORY_ID],
  to_id: [OTHER_ID],
  title: ['Deploy window'],
  content: ['Deploys run on Sundays from 02:00 to 04:00 UTC.'],
  summary: ['Deploys run on Sundays, at night.'],
  namespace: ['team/alpha'],
  tags: [['deploy']],
  context: ['when do we deploy?'],
  query: ['when do we deploy?'],
  priority: [5],
  confidence: [1],
  source: ['api'],
  kind: ['observation', 'task'],
  memory_kind: ['observation'],
  version: [1],
  agent_id: ['ai:assistant'],
  target_agent_id: ['ai:reviewer'],
  claimed_by: ['ai:assistant'],
  agent_type: ['ai:assistant'],
  alias: ['Countess Lovelace'],
  aliases: [['Countess Lovelace']],
  canonical_name: ['Ada Lovelace'],
  relation: ['related_to'],
  subject: ['Please look at the deploy window'],
  payload: ['The window moved to Saturdays.', { summary: 'Move the deploy window' }],
  answer: ['Saturdays are better.'],
  intent: ['link two memories'],
  family: ['graph'],
  state: ['pending'],
  to: ['claimed'],
  since: [INSTANT],
  created_at: [INSTANT, 1_772_443_800],
  updated_at: [INSTANT, 1_772_443_800],
  expires_at: [LATER],
  valid_from: [INSTANT],
  day_started_at: ['2026-03-02T00:00:00.000Z'],
  url: ['https://hooks.example/mnemesh'],
  pubkey_b64: ['8l0uRPHFuFGOMRBMLSTC3QLSPZE2pBxXRzB5ExzTE6k='],
  host_session_id: ['session-7'],
  host_turn_index: [0],
  role: ['user'],
  text: ['When do we deploy?'],
  target_folder: ['skills/deploy'],
  folder_path: ['skills/deploy'],
  resource_path: ['notes/deploy.md'],
  sha256: [DIGEST],
  digest: [DIGEST],
  tier: ['mid'],
  count: [1],
  acks: [1],
  needed: [2],
};

/** Optional fields that an example shows too. */
const SHOWN = new Set(['namespace', 'tags', 'tier', 'limit', 'context']);

const DEPTH_MAX = 6;

/** Makes examples of schemas; `components` are those that references name. */
export class Examples {
  readonly #components: Readonly<Record<string, Json>>;

  constructor(components: Readonly<Record<string, Json>>) {
    this.#components = components;
  }

  /** A value that the schema allows, as a caller would send or get it. */
  of(schema: Json, field: string | null = null, depth = 0): unknown {
    const shape = resolved(schema, this.#components);
    if (shape['const'] !== undefined) return shape['const'];
    const { enum: words } = shape as { enum?: readonly unknown[] };
    const said = (field === null ? [] : (VALUES[field] ?? [])).find(
      (value) => fits(value, shape) && (words === undefined || words.includes(value)),
    );
    if (said !== undefined) return said;
    if (words !== undefined) return words[0];
    const { anyOf, oneOf, allOf } = shape as Record<'anyOf' | 'oneOf' | 'allOf', Json[] | undefined>;
    const choices = anyOf ?? oneOf;
    if (choices !== undefined) {
      const choice =
        choices.find((one) => one['type'] !== 'null' && !Array.isArray(one['enum'])) ?? choices[0]!;
      return this.of(choice, field, depth);
    }
    if (allOf !== undefined) return Object.assign({}, ...allOf.map((part) => this.of(part, field, depth)));
    return this.#plain(shape, field, depth);
  }

  #plain(shape: Json, field: string | null, depth: number): unknown {
    const fallback = shape['default'];
    if (fallback !== undefined && fallback !== null) return fallback;
    switch (typesOf(shape)[0]) {
      case 'object':
        return this.#object(shape, depth);
      case 'array': {
        const {
          items,
          minItems = 0,
          prefixItems,
        } = shape as {
          items?: Json;
          minItems?: number;
          prefixItems?: readonly Json[];
        };
        if (prefixItems !== undefined) return prefixItems.map((each) => this.of(each, null, depth + 1));
        if (items === undefined || (depth >= DEPTH_MAX && minItems === 0)) return [];
        return [this.of(items, singular(field), depth + 1)];
      }
      case 'integer':
      case 'number': {
        const { minimum = 1, maximum = minimum } = shape as { minimum?: number; maximum?: number };
        return Math.min(Math.max(minimum, 1), Math.max(maximum, minimum));
      }
      case 'boolean':
        return true;
      case 'null':
        return null;
      case 'string':
        return 'text';
      default:
        return {};
    }
  }

  #object(shape: Json, depth: number): Json {
    const { properties = {}, required = [] } = shape as {
      properties?: Record<string, Json>;
      required?: readonly string[];
    };
    const shown = Object.entries(properties).filter(
      ([name]) => required.includes(name) || (depth === 0 && SHOWN.has(name)),
    );
    return Object.fromEntries(shown.map(([name, schema]) => [name, this.of(schema, name, depth + 1)]));
  }
}

function typesOf({ type }: Json): readonly string[] {
  return type === undefined
    ? []
    : ([type].flat() as string[]).filter((one, _index, all) => one !== 'null' || all.length === 1);
}

const TYPE_OF: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** True where a value has the type of the schema, or of one of its choices. */
function fits(value: unknown, shape: Json): boolean {
  const { anyOf, oneOf } = shape as Record<'anyOf' | 'oneOf', Json[] | undefined>;
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return choices.some((choice) => fits(value, choice));
  return typesOf(shape).some((type) => TYPE_OF[type]?.(value) === true);
}

/** The name of one item of a list. */
function singular(field: string | null): string | null {
  if (field === null) return null;
  return field.endsWith('s') ? field.slice(0, -1) : field;
}
