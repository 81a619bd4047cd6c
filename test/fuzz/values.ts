import type { Dice } from './dice.js';

/** The parts of a JSON schema that say what a field takes. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly oneOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

const WORDS = ['harbour', 'ferry', 'deploy', 'window', 'naïve', '東京', 'x-ray', 'C++', 'a|b:c', '🦑', 'the'];
const NAMESPACES = ['global', 'team', 'team/alpha', 'team/alpha/deep', 'a/b/c/d/e/f/g/h'];
const AGENTS = ['ai:alice', 'ai:bob', 'ai:root', 'host:x', 'bob@example/1'];
const INSTANTS = [
  '2020-01-01T00:00:00Z',
  '2099-12-31T23:59:59.999999+14:00',
  '2026-02-28T12:00:00-08:00',
  '1970-01-01T00:00:00Z',
];

const ODD_TEXTS = [
  '',
  ' ',
  '\t\n',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udc00y',
  '\ufeff',
  '..',
  '../etc/passwd',
  'a/b',
  'a\\b',
  '/',
  '//',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '%00',
  '%',
  '*',
  '"',
  '"unbalanced',
  'NEAR(a b',
  'title:x AND (',
  "'; drop table memories; --",
  '{"a":1}',
  '[1,2]',
  '1e999',
  'NaN',
  '9007199254740993',
  '2026-02-30T00:00:00Z',
  '2026-01-01',
  'x'.repeat(129),
  'x'.repeat(513),
  '🦑'.repeat(300),
  'y'.repeat(70_000),
];
const ODD_NUMBERS = [
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e308,
  Number.MIN_VALUE,
  4_294_967_296,
  1e15,
];

/** Values for the fields of operations; ids that the service handed out are used again. */
export class Values {
  /** Ids from earlier answers. */
  readonly ids: string[];
  /** Texts of certain forms; a field with a pattern takes one that matches. */
  readonly samples: string[];
  /** While true every field is drawn right, so that deep places are reached too. */
  careful = false;
  readonly #dice: Dice;

  /** With ids and samples that others collect. */
  constructor(dice: Dice, shared: { readonly ids: string[]; readonly samples: string[] } | null = null) {
    this.#dice = dice;
    this.ids = shared?.ids ?? [];
    this.samples = shared?.samples ?? [];
  }

  /** Mostly what the field takes, sometimes nearly that, sometimes anything. */
  field(name: string, schema: FieldSchema): unknown {
    if (this.careful) return this.valid(name, schema);
    const roll = this.#dice.unit();
    if (roll < 0.82) return this.valid(name, schema);
    return roll < 0.95 ? this.near(schema) : this.anything(0);
  }

  valid(name: string, schema: FieldSchema): unknown {
    const dice = this.#dice;
    if (schema.enum !== undefined) return dice.pick(schema.enum);
    if (schema.const !== undefined) return schema.const;
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return this.valid(name, dice.pick(choices));
    switch (typeOf(schema, dice)) {
      case 'string':
        return this.#patterned(schema) ?? this.#text(name);
      case 'integer':
        return this.#integer(schema);
      case 'number':
        return schema.maximum !== undefined ? dice.unit() * schema.maximum : dice.unit() * 10;
      case 'boolean':
        return dice.chance(0.5);
      case 'array':
        return Array.from({ length: dice.below(4) }, () =>
          this.valid(name, schema.items ?? { type: 'string' }),
        );
      case 'object':
        return this.#object(schema);
      case 'null':
        return null;
      default:
        return this.#text(name);
    }
  }

  /** Of the right type and just beside what is allowed, or of another type. */
  near(schema: FieldSchema): unknown {
    const dice = this.#dice;
    const type = typeOf(schema, dice);
    if (type === 'string' || dice.chance(0.25)) return dice.pick(ODD_TEXTS);
    if (type === 'integer' || type === 'number') {
      const { minimum, maximum } = schema;
      const edges = [minimum, maximum].filter((edge) => edge !== undefined);
      if (edges.length > 0 && dice.chance(0.6)) return dice.pick(edges) + dice.pick([-1, 0, 1, 0.5]);
      return dice.pick(ODD_NUMBERS);
    }
    if (type === 'array') {
      return Array.from({ length: dice.pick([0, 1, 51, 1001]) }, () => dice.pick(ODD_TEXTS.slice(0, 30)));
    }
    return this.anything(0);
  }

  /** Any JSON value, seldom deep. */
  anything(depth: number): unknown {
    const dice = this.#dice;
    switch (dice.below(depth > 3 ? 5 : 8)) {
      case 0:
        return null;
      case 1:
        return dice.chance(0.5);
      case 2:
        return dice.pick(ODD_NUMBERS);
      case 3:
      case 4:
        return dice.pick(ODD_TEXTS);
      case 5:
        return Array.from({ length: dice.below(5) }, () => this.anything(depth + 1));
      case 6:
        return Object.fromEntries(
          Array.from({ length: dice.below(5) }, () => [
            dice.pick(ODD_TEXTS).slice(0, 40),
            this.anything(depth + 1),
          ]),
        );
      default: {
        let deep: unknown = 1;
        for (let level = 0; level < dice.pick([5, 33, 300]); level += 1) {
          deep = dice.chance(0.5) ? [deep] : { a: deep };
        }
        return deep;
      }
    }
  }

  /** Remembers an id of an answer, a bounded number of them. */
  remember(id: string): void {
    if (this.ids.length < 200) this.ids.push(id);
    else this.ids[this.#dice.below(200)] = id;
  }

  #patterned({ pattern }: FieldSchema): string | null {
    if (pattern === undefined) return null;
    const form = new RegExp(pattern);
    const fitting = this.samples.filter((sample) => form.test(sample));
    return fitting.length === 0 ? null : this.#dice.pick(fitting);
  }

  #text(name: string): string {
    const dice = this.#dice;
    if (/(^|_)ids?$/.test(name) && name !== 'agent_id') {
      if (this.ids.length > 0 && dice.chance(0.85)) {
        const id = dice.pick(this.ids);
        return dice.chance(0.1) ? id.slice(0, 8) : id;
      }
      return 'no-such-id';
    }
    if (/agent(_id)?$/.test(name)) return dice.pick(AGENTS);
    if (/namespace|prefix/.test(name)) return dice.pick(NAMESPACES);
    if (/_at$|^since$|^until$|^valid_/.test(name)) return dice.pick(INSTANTS);
    if (/uri$/.test(name)) return dice.pick(['doc:a', 'uri:urn:x', 'file:///tmp/x']);
    return Array.from({ length: 1 + dice.below(5) }, () => dice.pick(WORDS)).join(' ');
  }

  #integer({ minimum = 0, maximum = 20 }: FieldSchema): number {
    const low = Math.max(minimum, -1000);
    const high = Math.min(maximum, low + 1000);
    return low + this.#dice.below(Math.max(high - low + 1, 1));
  }

  #object({ properties, additionalProperties, propertyNames }: FieldSchema): Record<string, unknown> {
    const dice = this.#dice;
    if (properties === undefined && typeof additionalProperties === 'object') {
      const key = () => String(this.valid('name', propertyNames ?? { type: 'string' }));
      return Object.fromEntries(
        Array.from({ length: dice.below(4) }, () => [key(), this.field('value', additionalProperties)]),
      );
    }
    if (properties === undefined) {
      return dice.pick([{}, { topic: 'x' }, { deep: { list: [1, 'two', null] } }, { scope: 'private' }]);
    }
    const entries = Object.entries(properties).filter(() => dice.chance(0.8));
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.field(name, schema)]));
  }
}

function typeOf(schema: FieldSchema, dice: Dice): string | undefined {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return typeOf(dice.pick(choices), dice);
  if (schema.type === undefined || typeof schema.type === 'string') return schema.type;
  return dice.pick(schema.type);
}
