import { z } from 'zod';
import { hasControlCharacter, isBlank } from '../../../protocol/base/ids.js';
import { HOST_SESSION_LENGTH_MAX, TEXT_BYTES_MAX } from '../../../protocol/transcripts/limits.js';

/** Text as it came: a host signs it, and an offloaded content is found by its digest. */
const raw = z.string().refine((value) => value.isWellFormed(), 'must be valid Unicode text');

export const longText = raw
  .refine((value) => value !== '', 'must not be empty')
  .refine(
    (value) => Buffer.byteLength(value, 'utf8') <= TEXT_BYTES_MAX,
    `must be at most ${TEXT_BYTES_MAX} bytes`,
  );

export const sessionName = raw
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => value.length <= HOST_SESSION_LENGTH_MAX,
    `must be at most ${HOST_SESSION_LENGTH_MAX} characters`,
  )
  .refine((value) => !hasControlCharacter(value), 'must not hold control characters');
