import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { foldedAlias } from '../../../protocol/memory/entity.js';
import * as fields from '../../pipeline/fields.js';

/** True for a name that is not too long in the form in which names are compared. */
const isComparable = (name: string): boolean => foldedAlias(name).length <= limits.ALIAS_FOLDED_LENGTH_MAX;
const TOO_LONG = 'is too long in the form in which names are compared';

/** The name of an entity: a title, since it is the title of the entity's memory. */
export const canonicalName = fields.title.refine(isComparable, TOO_LONG);

/** An alias: what a title may be. */
export const alias = fields.title.refine(isComparable, TOO_LONG);

/** An entity in an answer (interface §2.3). */
export const entityOutput = z.object({
  entity_id: z.string(),
  canonical_name: z.string(),
  namespace: z.string(),
  aliases: z.array(z.string()),
});
