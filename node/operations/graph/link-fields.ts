import { z } from 'zod';
import { RELATIONS } from '../../../protocol/links/link.js';
import * as fields from '../../pipeline/fields.js';

/** The fields that operations on links share. */

export const sourceId = fields.memoryId.describe(
  'Memory that the link leads from; a prefix of its id will do',
);
export const targetId = fields.memoryId.describe('Memory that the link leads to; a prefix of its id will do');
export const relation = z.enum(RELATIONS).describe('What the source is to the target');

/** Other names on HTTP (reference-http §1). */
export const LINK_ALIASES: Readonly<Record<string, string>> = {
  from: 'source_id',
  to: 'target_id',
  rel_type: 'relation',
};
