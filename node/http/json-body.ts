import { isUtf8 } from 'node:buffer';
import { BODY_DEPTH_MAX } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';

type Json = Record<string, unknown>;

/** Says whether a Content-Type names JSON in UTF-8. */
export function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = contentType.toLowerCase().split(';');
  const media = type!.trim();
  if (media !== 'application/json' && !(media.startsWith('application/') && media.endsWith('+json'))) {
    return false;
  }
  return parameters.every((parameter) => {
    const [name, value] = parameter.split('=');
    return name!.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value ?? '');
  });
}

/**
 * Reads a JSON object from a body; if `arrayField` is given, an array becomes the member of that name in an
 * object. MALFORMED_BODY when it is not UTF-8, not JSON or another kind of value; VALIDATION_FAILED when it nests too
 * deeply, which is checked before JSON.parse, because that needs many times longer for such text; and when JSON.parse
 * would change its meaning: numbers that a double cannot hold, and the key `__proto__`, which libraries do not treat as
 * a key.
 */
export function parseJsonBody(bytes: Buffer, arrayField?: string): Result<Json> {
  if (!isUtf8(bytes)) return fail('MALFORMED_BODY', 'the body is not valid UTF-8');
  if (isDeeperThan(bytes, BODY_DEPTH_MAX)) {
    return fail('VALIDATION_FAILED', `the body nests deeper than ${BODY_DEPTH_MAX} levels: flatten it`);
  }
  const parsed = parseJsonText(bytes.toString('utf8'));
  if (!parsed.ok) return failed(parsed.error);
  let { value } = parsed;
  if (Array.isArray(value) && arrayField !== undefined) value = { [arrayField]: value };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const forms = arrayField === undefined ? 'a JSON object' : 'a JSON array or object';
    return fail('MALFORMED_BODY', `the body must be ${forms}`);
  }
  return ok(value as Json);
}

/**
 * Reads any JSON value from text: MALFORMED_BODY when it is not JSON, VALIDATION_FAILED when it cannot be kept exactly.
 */
export function parseJsonText(text: string): Result<unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fail('MALFORMED_BODY', 'malformed JSON body');
  }
  const holdsMembers = typeof value === 'object' && value !== null;
  if (holdsMembers && SUSPECT_KEY.test(text) && hasPrototypeKey(value as object)) {
    return fail('VALIDATION_FAILED', '"__proto__" cannot be a key');
  }
  const number = SUSPECT_NUMBER.test(text) ? inexactNumber(text) : null;
  if (number !== null) {
    return fail('VALIDATION_FAILED', `a number cannot be kept exactly: ${number.slice(0, 32)}`);
  }
  return ok(value);
}

/** Matches text that may hold that key, also in escaped form, or such a number; only this text is searched. */
const SUSPECT_KEY = /__proto__|\\u005[fF]|\\u00[67]/;
const SUSPECT_NUMBER = /\d{16}|[eE]\+?\d{3}/;

function hasPrototypeKey(root: object): boolean {
  // A list instead of recursion, because the sender controls the depth.
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return true;
    for (const member of Object.values(value)) open.push(member);
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const MINUS = 0x2d;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** True when more objects and arrays are open at once in JSON text; brackets in strings do not count. */
export function isDeeperThan(bytes: Buffer, depthMax: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (inString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) {
      inString = true;
    } else if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth -= 1;
    }
  }
  return false;
}

/** The first number of valid JSON text that a double turns into infinity or into a different integer. */
function inexactNumber(text: string): string | null {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      for (at += 1; text.charCodeAt(at) !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
    } else if (code === MINUS || isDigit(code)) {
      NUMBER.lastIndex = at;
      const number = NUMBER.exec(text)![0];
      const value = Number(number);
      if (!Number.isFinite(value)) return number;
      if (!Number.isSafeInteger(value) && INTEGER.test(number) && BigInt(number) !== BigInt(value))
        return number;
      at += number.length - 1;
    }
  }
  return null;
}

const NUMBER = /[-+.\deE]+/y;
const INTEGER = /^-?\d+$/;
