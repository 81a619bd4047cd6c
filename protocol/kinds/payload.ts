import { canonicalJson } from '../base/canonical-json.js';
import { json } from './replicated-value.js';

/** Members of a payload that this release does not know; they are kept and written back unchanged. */
export type Rest = Readonly<Record<string, unknown>>;

export const NO_REST: Rest = Object.freeze({});

/** One member of a payload. */
export interface Member<T = unknown> {
  /** True for a value that a row can hold, so no payload of a peer can break a row. */
  readonly accepts: (value: unknown) => boolean;
  /**
   * True for a value that a peer may send; all that it accepts when absent. Rows of older databases may hold more, so
   * what is in the log is read without it.
   */
  readonly admits?: (value: unknown) => boolean;
  /** The value when the text lacks the member. */
  readonly default: T;
  /**
   * True for a member that came after the first format of its kind. The text omits it while it has its default, so
   * older texts serialise to the same bytes.
   */
  readonly later?: boolean;
}

/** A member for each property of an image except `rest`. */
export type Members<I> = { readonly [K in Exclude<keyof I, 'rest'>]: Member<I[K]> };

/** Converts images of a kind to text, and text to images. */
export interface Payload<I> {
  readonly keys: readonly string[];
  /** The members that always hold a number. */
  readonly numbers: readonly string[];
  /** The members that can be null, or missing in a text. */
  readonly optional: readonly string[];
  /**
   * Canonical JSON: equal images have equal texts. Members that are neither declared nor in `rest` are left out; a
   * member that the image lacks is written with its default.
   */
  text(image: I): string;
  /** Null for a value that no row of this kind can hold. */
  parse(value: unknown): I | null;
  /** True for an image that a peer may send. */
  admits(image: I): boolean;
}

type Values = Readonly<Record<string, unknown>>;

/** The payload of images with these members. An image keeps undeclared members in `rest`. */
export function payloadOf<I extends { readonly rest: Rest }>(members: Members<I>): Payload<I> {
  const byKey = new Map(Object.entries(members as Readonly<Record<string, Member>>));
  const entries = [...byKey];
  const keys = [...byKey.keys()].sort();
  const limited = entries.flatMap(([key, { admits }]) =>
    admits === undefined ? [] : [[key, admits] as const],
  );
  const unknownOf = (value: Values): Rest => {
    const unknown = Object.entries(value).filter(([key]) => !byKey.has(key));
    return unknown.length === 0 ? NO_REST : Object.fromEntries(unknown);
  };
  const written = keys.map((key) => {
    const member = byKey.get(key)!;
    const omitted = member.later === true ? canonicalJson(member.default) : null;
    return { key, prefix: `,${JSON.stringify(key)}:`, omitted, missing: member.default };
  });
  return {
    keys,
    numbers: keys.filter((key) => typeof byKey.get(key)!.default === 'number'),
    optional: keys.filter((key) => byKey.get(key)!.default === null || byKey.get(key)!.later === true),
    text(image) {
      const values = image as unknown as Values;
      // The keys are known and in order, so an image without unknown members needs no sorting.
      if (isEmpty(image.rest)) {
        let texts = '';
        for (const { key, prefix, omitted, missing } of written) {
          const given = values[key];
          const value = given === undefined ? missing : given;
          const text = value === null ? 'null' : canonicalJson(value);
          if (text !== omitted) texts += prefix + text;
        }
        return `{${texts.slice(1)}}`;
      }
      const held = written.map(({ key, omitted, missing }) => {
        const value = values[key] === undefined ? missing : values[key];
        return canonicalJson(value) === omitted ? null : ([key, value] as const);
      });
      const known = held.filter((member) => member !== null);
      const unknown = Object.entries(image.rest).filter(([key]) => !byKey.has(key));
      return canonicalJson(Object.fromEntries([...known, ...unknown]));
    },
    parse(value) {
      // Imports refuse this key, so a row that had it could not come back from an export.
      if (!isObject(value) || Object.hasOwn(value, '__proto__')) return null;
      const image: Record<string, unknown> = {};
      let found = 0;
      for (const [key, { accepts, default: missing }] of entries) {
        const given = value[key];
        if (given !== undefined) found += 1;
        const held = given === undefined ? missing : given;
        if (!accepts(held)) return null;
        image[key] = held;
      }
      image['rest'] = Object.keys(value).length === found ? NO_REST : unknownOf(value);
      return image as unknown as I;
    },
    admits(image) {
      const values = image as unknown as Values;
      return (
        json(image.rest ?? NO_REST) &&
        limited.every(([key, admits]) => values[key] === undefined || admits(values[key]))
      );
    },
  };
}

function isEmpty(rest: Rest): boolean {
  for (const _ in rest) return false;
  return true;
}

/** The value of a JSON object; null for any other text. */
export function parsedObject(text: string): Values | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export const isObject = (value: unknown): value is Values =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
/** Text that a row gives back as it was: half a character beyond U+FFFF does not survive UTF-8. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();
export const isFilled = (value: unknown): boolean => isText(value) && value !== '';
export const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
export const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);
/** Bytes as standard base64 in their one spelling, so that a column of bytes gives the text back. */
export const isBase64OrNull = (value: unknown): boolean =>
  value === null || (isText(value) && Buffer.from(value, 'base64').toString('base64') === value);
export const isInteger = (value: unknown): boolean => Number.isSafeInteger(value);
export const isCount = (value: unknown): boolean => isInteger(value) && (value as number) >= 0;
export const isIntegerOrNull = (value: unknown): boolean => value === null || isInteger(value);
export const isObjectOrNull = (value: unknown): boolean => value === null || isObject(value);
export const oneOf =
  (words: readonly string[]) =>
  (value: unknown): boolean =>
    words.includes(value as string);
