import { z } from 'zod';
import { NAMED_SCHEMAS } from './named-schemas.js';

export type Json = Record<string, unknown>;

/** The schema of what a client sends, or of what it gets. */
type Direction = 'input' | 'output';

const REFERENCE = '#/components/schemas/';

/** Says nothing to a reader: every JSON number without a fraction is in this range. */
const INTEGERS: Readonly<Record<string, number>> = {
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};

/**
 * The component schemas of a document. A part that several operations share has one name and is described once; the
 * names of parts are in `NAMED_SCHEMAS`, and those of whole inputs and answers follow from their operations.
 */
export class ComponentSchemas {
  readonly #components = new Map<string, Json>();
  /** The shape of a named part to its name. */
  readonly #names: Readonly<Record<Direction, ReadonlyMap<string, string>>> = {
    input: namesOf('input'),
    output: namesOf('output'),
  };

  /** All of them by name, in the order of the names. */
  all(): Record<string, Json> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds a component and refers to it. Two of one name must be equal. */
  add(name: string, schema: Json): Json {
    const known = this.#components.get(name);
    if (known === undefined) this.#components.set(name, schema);
    else if (JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`two schemas named ${name}`);
    return { $ref: `${REFERENCE}${name}` };
  }

  has(name: string, schema: Json): boolean {
    const known = this.#components.get(name);
    return known === undefined || JSON.stringify(known) === JSON.stringify(schema);
  }

  /** The schema of a declaration, with references to the named parts. */
  of(schema: z.ZodType, direction: Direction): Json {
    return this.#named(jsonOf(schema, direction), direction) as Json;
  }

  /** The schemas of the fields of an object, with references to the named parts. */
  fieldsOf(schema: z.ZodObject, direction: Direction): Record<string, Json> {
    const { properties = {} } = jsonOf(schema, direction) as { properties?: Record<string, Json> };
    return this.#named(properties, direction) as Record<string, Json>;
  }

  #named(value: unknown, direction: Direction): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#named(item, direction));
    if (typeof value !== 'object' || value === null) return value;
    const name = this.#names[direction].get(shapeOf(value as Json));
    if (name === undefined) return this.#membersNamed(value as Json, direction);
    const { description, default: fallback, ...shape } = value as Json;
    const reference = this.add(name, this.#membersNamed(shape, direction));
    return {
      ...reference,
      ...(description === undefined ? {} : { description }),
      ...(fallback === undefined ? {} : { default: fallback }),
    };
  }

  #membersNamed(value: Json, direction: Direction): Json {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, this.#named(member, direction)]),
    );
  }
}

/** The component that a reference names; other schemas as they are. */
export function resolved(schema: Json, components: Readonly<Record<string, Json>>): Json {
  const { $ref: reference } = schema as { $ref?: string };
  return reference === undefined ? schema : components[reference.slice(REFERENCE.length)]!;
}

function namesOf(direction: Direction): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [shapeOf(jsonOf(schema, direction)), name]),
  );
}

/** What two uses of a part have in common: all but what is said of it there. */
function shapeOf({ description: _said, default: _fallback, ...shape }: Json): string {
  return JSON.stringify(shape);
}

function jsonOf(schema: z.ZodType, direction: Direction): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const json = jsonSchema as Json;
      for (const [bound, value] of Object.entries(INTEGERS)) {
        if (json[bound] === value) delete json[bound];
      }
      // Later releases add members to answers.
      if (direction === 'output' && json['additionalProperties'] === false) {
        delete json['additionalProperties'];
      }
    },
  }) as Json;
  return json;
}
