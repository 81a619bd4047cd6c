import * as limits from '../base/limits.js';
import { isBase64OrNull, isText, isTextOrNull } from '../kinds/payload.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';
import { RESOLUTION_BYTES_MAX } from './limits.js';

/** Members that several kinds of coordination have. */

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

export const word = { accepts: isText, admits: WORD, default: '' } as const;
export const wordOrNull = { accepts: isTextOrNull, admits: orNull(WORD), default: null } as const;
export const moment = { accepts: isText, admits: instant, default: '' } as const;
export const momentOrNull = { accepts: isTextOrNull, admits: orNull(instant), default: null } as const;
/** Bytes in base64. */
export const bytesOrNull = { accepts: isBase64OrNull, admits: orNull(WORD), default: null } as const;
export const namespace = {
  accepts: isText,
  admits: textOf(limits.HEADER_TEXT_LENGTH_MAX),
  default: '',
} as const;
/** A title, a subject or a name. */
export const name = {
  accepts: isText,
  admits: textOf(limits.REPLICATED_TITLE_BYTES_MAX),
  default: '',
} as const;
/** A longer text, or none. */
export const text = {
  accepts: isTextOrNull,
  admits: orNull(textOf(2 * RESOLUTION_BYTES_MAX)),
  default: null,
} as const;
/** Any JSON as its canonical text, which a member of a row can hold whatever its shape. */
export const jsonText = (missing: string) => ({
  ...{ accepts: isText, admits: textOf(limits.REPLICATED_JSON_BYTES_MAX), default: missing },
});

/** The expiry of what never expires; later than every other instant. */
export const NEVER = '9999-12-31T23:59:59.999Z';

/** The value of a JSON text; null for a text that is none. */
export function valueOfJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
